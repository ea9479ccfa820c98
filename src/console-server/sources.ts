import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { hasPages } from "./folders.ts";

const repository = fileURLToPath(new URL("../..", import.meta.url).href);
/** The pages' own sources; an image has none. */
const pagesFolder = "src/console";
/** What else the bundler reads, and what the pages depend on. */
const otherFolders = ["src/client"];
const otherFiles = ["src/console-server/build.ts", "package-lock.json", "tsconfig.json"];
/** Beside the pages, with the digest of what they were built from. Its name is of those that are never served. */
const digestFile = ".sources";

/** Returns the digest of what the pages are built from: of contents, because a checkout sets times anew. Null where there are no sources. Takes some 40 ms. */
export async function digestSources(root = repository): Promise<string | null> {
  if (!existsSync(join(root, pagesFolder, "index.html"))) return null;
  const inFolders = await Promise.all([pagesFolder, ...otherFolders].map((folder) => filesIn(root, folder)));
  const paths = [...inFolders.flat(), ...otherFiles.filter((path) => existsSync(join(root, path)))].toSorted();
  const contents = await Promise.all(paths.map((path) => readFile(join(root, path))));
  const hash = createHash("sha256");
  for (const [at, content] of contents.entries()) hash.update(`${paths[at]} ${content.byteLength}\n`).update(content);
  return hash.digest("hex");
}

/** Returns whether a folder holds pages that were built from the sources that are here; where there are none, any pages are right. */
export async function isBuiltFrom(folder: string, digest: string | null): Promise<boolean> {
  if (!hasPages(folder)) return false;
  if (digest === null) return true;
  return (await readFile(join(folder, digestFile), "utf8").catch(() => null)) === digest;
}

/** Writes down in a folder what its pages were built from. */
export async function noteSources(folder: string, digest: string | null): Promise<void> {
  if (digest !== null) await writeFile(join(folder, digestFile), digest);
}

async function filesIn(root: string, folder: string): Promise<string[]> {
  const entries = await readdir(join(root, folder), { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => relative(root, join(parentPath, name)).replaceAll(sep, "/"));
}
