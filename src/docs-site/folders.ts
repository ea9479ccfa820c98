import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Config } from "../kernel/config.ts";

/** Where `npm install` and `npm run build:docs` put the pages. */
export const builtDocsFolder = fileURLToPath(new URL("../../dist/docs", import.meta.url).href);

/** What is searched, which every build writes. */
export const searchFile = "search.json";

/** Returns where the pages may be, the likeliest first: beside the program, or in the home where that is not writable. */
export function docsFolders({ home }: Pick<Config, "home">): readonly string[] {
  return [builtDocsFolder, join(home, "docs")];
}
