import { existsSync } from "node:fs";
import { join } from "node:path";
import { buildConsole } from "../console-server/build.ts";
import { hasPages, pageFolders } from "../console-server/folders.ts";
import { digestSources, isBuiltFrom } from "../console-server/sources.ts";
import { buildDocs } from "../docs-site/build.ts";
import { docsFolders, searchFile } from "../docs-site/folders.ts";
import type { Config } from "../kernel/config.ts";
import type { Logger } from "../kernel/telemetry/log.ts";
import { reasonOf } from "./operator-error.ts";

/** Pages that are files, made by a build. */
export interface BuiltPages {
  /** What the log calls them. */
  readonly what: string;
  readonly command: string;
  /** Where they may be, the likeliest first. */
  readonly folders: readonly string[];
  isIn(folder: string): boolean;
  /** Returns those of the folders whose pages belong to the sources that are here. */
  current(folders: readonly string[]): Promise<readonly string[]>;
  build(folder: string): Promise<unknown>;
}

/** The pages that a process of this configuration serves. */
export function servedPages(config: Pick<Config, "console" | "home">): BuiltPages[] {
  const hasDocs = (folder: string) => existsSync(join(folder, searchFile));
  const docs: BuiltPages = {
    what: "the documentation",
    command: "npm run build:docs",
    folders: docsFolders(config),
    isIn: hasDocs,
    current: async (folders) => folders.filter(hasDocs),
    build: buildDocs,
  };
  const console: BuiltPages = {
    what: "the console",
    command: "npm run build:console",
    folders: pageFolders(config),
    isIn: hasPages,
    current: currentPages,
    build: buildConsole,
  };
  return config.console ? [docs, console] : [docs];
}

/** Makes pages where the installation came without them, or has those of other sources. Missing ones are no reason not to start. */
export async function ensurePages(log: Logger, pages: BuiltPages): Promise<void> {
  const { folders, build } = pages;
  if ((await pages.current(folders)).length > 0) return;
  let reason: unknown;
  for (const folder of folders) {
    try {
      return void (await build(folder));
    } catch (error) {
      reason = error;
    }
  }
  log.warn({ reason: reasonOf(reason) }, whatIsWrong(pages));
}

/** Says where pages are those of other sources, for a process that builds nothing. */
export async function warnOfOldPages(log: Logger, pages: BuiltPages): Promise<void> {
  if (pages.folders.some(pages.isIn) && (await pages.current(pages.folders)).length === 0) log.warn(whatIsWrong(pages));
}

function whatIsWrong({ what, command, folders, isIn }: BuiltPages): string {
  const fault = folders.some(isIn) ? "was built from other sources than these" : "has no pages";
  return `${what} ${fault}: run \`${command}\``;
}

async function currentPages(folders: readonly string[]): Promise<readonly string[]> {
  const digest = await digestSources();
  const isCurrent = await Promise.all(folders.map((folder) => isBuiltFrom(folder, digest)));
  return folders.filter((_, at) => isCurrent[at]);
}
