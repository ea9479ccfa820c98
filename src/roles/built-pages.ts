import { existsSync } from "node:fs";
import { join } from "node:path";
import { buildConsole } from "../console-server/build.ts";
import { hasPages, pageFolders } from "../console-server/folders.ts";
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
  build(folder: string): Promise<unknown>;
}

/** The pages that a process of this configuration serves. */
export function servedPages(config: Pick<Config, "console" | "home">): BuiltPages[] {
  const docs: BuiltPages = {
    what: "the documentation",
    command: "npm run build:docs",
    folders: docsFolders(config),
    isIn: (folder) => existsSync(join(folder, searchFile)),
    build: buildDocs,
  };
  const console: BuiltPages = {
    what: "the console",
    command: "npm run build:console",
    folders: pageFolders(config),
    isIn: hasPages,
    build: buildConsole,
  };
  return config.console ? [docs, console] : [docs];
}

/** Makes pages where the installation came without them. Missing ones are no reason not to start. */
export async function ensurePages(log: Logger, { what, command, folders, isIn, build }: BuiltPages): Promise<void> {
  if (folders.some(isIn)) return;
  let reason: unknown;
  for (const folder of folders) {
    try {
      return void (await build(folder));
    } catch (error) {
      reason = error;
    }
  }
  log.warn({ reason: reasonOf(reason) }, `${what} has no pages: run \`${command}\``);
}
