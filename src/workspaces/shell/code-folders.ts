import { realpathSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** Returns the folders whose code a command's process runs: ours, and that of the packages. No data and no configuration are below them. */
export function codeFolders(): string[] {
  const ours = fileURLToPath(new URL("../../", import.meta.url).href);
  const entry = fileURLToPath(import.meta.resolve("just-bash"));
  const folder = "/node_modules/";
  const packages = entry.slice(0, entry.lastIndexOf(folder) + folder.length);
  return [...new Set([ours, packages].flatMap((path) => [path, realpathSync(path)]))];
}
