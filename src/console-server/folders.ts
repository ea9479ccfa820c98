import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Config } from "../kernel/config.ts";

/** The one page, which every build writes. */
export const pageOfConsole = "index.html";

/** Where `npm install` and `npm run build:console` put the pages. */
const builtFolder = fileURLToPath(new URL("../../dist/console", import.meta.url).href);

/** Returns where the pages may be, the likeliest first: beside the program, or in the home where that is not writable. */
export function pageFolders({ home }: Pick<Config, "home">): readonly string[] {
  return [builtFolder, join(home, "console")];
}

/** Returns whether a folder holds the pages. */
export function hasPages(folder: string): boolean {
  return existsSync(join(folder, pageOfConsole));
}

/** Returns the folders with the newest pages first: where those beside the program are old and cannot be replaced, the home has the right ones. */
export function newestFirst(folders: readonly string[]): readonly string[] {
  const builtAt = (folder: string) => statSync(join(folder, pageOfConsole), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  return folders.toSorted((one, other) => builtAt(other) - builtAt(one));
}
