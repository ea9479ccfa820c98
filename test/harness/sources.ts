import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";

/** One file of ours: its path from the repository's root, and its text. */
export interface Source {
  readonly path: string;
  readonly text: string;
}

const repository = new URL("../..", import.meta.url).pathname;

/** The TypeScript files below the named folders. */
export function sourcesIn(...folders: string[]): Source[] {
  return folders.flatMap((folder) =>
    (readdirSync(join(repository, folder), { recursive: true }) as string[])
      .filter((name) => name.endsWith(".ts"))
      .map((name) => join(folder, name))
      .map((path) => ({ path, text: readFileSync(join(repository, path), "utf8") })),
  );
}

/** What stands at the repository's root. */
export function topLevel(): string[] {
  return readdirSync(repository);
}

/** The files of ours that a file imports, as paths from the root; with `import type` left out where `types` is false. */
export function importsOf({ path, text }: Source, types = true): string[] {
  const pattern = /^(?:import|export)\s+(type\s+)?[^;]*?from\s+"([^"]+)"|^import\s+"([^"]+)"|import\("([^"]+)"\)/gm;
  return [...text.matchAll(pattern)]
    .filter((match) => types || match[1] === undefined)
    .map((match) => match[2] ?? match[3] ?? match[4] ?? "")
    .filter((target) => target.startsWith("."))
    .map((target) => relative(repository, join(repository, dirname(path), target)));
}
