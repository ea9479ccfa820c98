import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { inRepository, repository } from "./repository.ts";

/** One file of the repository: its path from the root, and its text. */
export interface Source {
  readonly path: string;
  readonly text: string;
}

/** Folders that git ignores, wherever they are. */
const ignoredFolders = new Set(["node_modules", ".git", ".parley", "dist", "results"]);

/** All files of the repository, as git would take them. */
export function allSources(): Source[] {
  return filesBelow(repository);
}

/** The TypeScript files below the named folders. */
export function sourcesIn(...folders: string[]): Source[] {
  return folders.flatMap((folder) => filesBelow(inRepository(folder))).filter(({ path }) => isCode(path));
}

/** Whether a file is TypeScript. */
export function isCode(path: string): boolean {
  return /\.tsx?$/.test(path);
}

/** The files of ours that a file imports, as paths from the root; with `import type` left out where `types` is false. */
export function importsOf({ path, text }: Source, types = true): string[] {
  const pattern = /^(?:import|export)\s+(type\s+)?[^;]*?from\s+"([^"]+)"|^import\s+"([^"]+)"|import\("([^"]+)"\)/gm;
  return [...text.matchAll(pattern)]
    .filter((match) => types || match[1] === undefined)
    .map((match) => match[2] ?? match[3] ?? match[4] ?? "")
    .filter((target) => target.startsWith("."))
    .map((target) => join(path, "..", target));
}

function filesBelow(folder: string): Source[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return ignoredFolders.has(entry.name) ? [] : filesBelow(path);
    return entry.isFile() ? [{ path: relative(repository, path), text: readFileSync(path, "utf8") }] : [];
  });
}
