import { existsSync } from "node:fs";
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
