import { basename } from "node:path";
import { GiveWay } from "../kernel/async/give-way.ts";
import { ApiError } from "../kernel/errors.ts";
import { type ArchiveEntry, entriesPerArchiveMax, invalidArchive } from "./entry.ts";
import { entryPath, isSystemPath } from "./paths.ts";
import { type ArchiveType, filesPerSkillMax, manifestPath, type SkillFolder, skillBytesMax } from "./schema.ts";
import { tarEntries } from "./tar.ts";
import { zipEntries } from "./zip.ts";

/**
 * Returns the files of an archive, read as if an attacker had made it. Its headers are
 * not trusted: contents are counted as they come out, so that no archive costs more
 * memory than the size limit of a skill. What operating systems add is left out, and
 * one folder around everything too. Throws 400 `skill_invalid_archive`,
 * `skill_too_many_files`, 413 `skill_uncompressed_too_large`.
 */
export async function unpack(type: ArchiveType, archive: Uint8Array): Promise<SkillFolder> {
  try {
    const folder = unwrapped(
      await collect(type === "zip" ? zipEntries(archive) : tarEntries(archive, type === "tar.gz")),
    );
    if (!folder.has(manifestPath)) throw invalidArchive(noManifest(folder));
    return folder;
  } catch (error) {
    if (error instanceof ApiError) throw error;
    throw invalidArchive(`it cannot be read as ${type}`);
  }
}

async function collect(entries: AsyncIterable<ArchiveEntry>): Promise<SkillFolder> {
  const folder = new Map<string, Uint8Array>();
  const folders = new Set<string>();
  let count = 0;
  let bytesLeft = skillBytesMax;
  const way = new GiveWay();
  for await (const entry of entries) {
    await way.next();
    count += 1;
    if (count > entriesPerArchiveMax) throw new ApiError("skill_too_many_files");
    if (entry.kind === "other") throw invalidArchive("it is a link or a special file", entry.name);
    const path = entryPath(entry.name);
    if (path !== null && isSystemPath(path)) continue;
    if (entry.kind === "folder" || entry.name.endsWith("/")) {
      if (entry.sizeBytes > 0) throw invalidArchive("it is a folder that has content", entry.name);
      if (path !== null) folders.add(path);
      continue;
    }
    if (path === null) throw invalidArchive("it is a file without a name", entry.name);
    if (folder.has(path)) throw invalidArchive("it stands there twice", entry.name);
    if (folder.size === filesPerSkillMax) throw new ApiError("skill_too_many_files");
    if (entry.sizeBytes > bytesLeft) throw new ApiError("skill_uncompressed_too_large");
    const content = await readContent(entry, bytesLeft);
    bytesLeft -= content.byteLength;
    folder.set(path, content);
  }
  refuseFilesAsFolders([...folder.keys()], [...folders]);
  return folder;
}

/** Refuses a file `a` beside `a/b`: no file system can hold both. */
function refuseFilesAsFolders(files: readonly string[], folders: readonly string[]): void {
  const others = [...files, ...folders.map((path) => `${path}/`)];
  const both = files.find((file) => others.some((other) => other.startsWith(`${file}/`)));
  if (both !== undefined) throw invalidArchive("it is a file and a folder, too", both);
}

/** Returns the files without the one folder that all of them are in, which archives of a folder have. */
function unwrapped(folder: SkillFolder): SkillFolder {
  const [first = ""] = folder.keys();
  const top = first.slice(0, first.indexOf("/") + 1);
  if (top === "" || !folder.has(top + manifestPath)) return folder;
  if (![...folder.keys()].every((path) => path.startsWith(top))) return folder;
  return new Map([...folder].map(([path, content]) => [path.slice(top.length), content]));
}

function noManifest(folder: SkillFolder): string {
  const [near] = [...folder.keys()].filter((path) => basename(path).toLowerCase() === manifestPath.toLowerCase());
  const hint = near === undefined ? "" : `; it has ${JSON.stringify(near)}`;
  return `it has no ${manifestPath} at its root or in one folder around everything${hint}`;
}

async function readContent(entry: ArchiveEntry, bytesMax: number): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  try {
    for await (const part of await entry.content()) {
      bytes += part.byteLength;
      if (bytes > bytesMax) throw new ApiError("skill_uncompressed_too_large");
      parts.push(part);
    }
  } catch (error) {
    if (error instanceof ApiError) throw error;
    throw invalidArchive("its content cannot be read", entry.name);
  }
  return Buffer.concat(parts);
}
