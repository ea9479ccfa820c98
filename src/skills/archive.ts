import { ApiError } from "../kernel/errors.ts";
import { type ArchiveEntry, entriesPerArchiveMax, invalidArchive } from "./entry.ts";
import { entryPath } from "./paths.ts";
import { type ArchiveType, filesPerSkillMax, manifestPath, type SkillFolder, skillBytesMax } from "./schema.ts";
import { tarEntries } from "./tar.ts";
import { zipEntries } from "./zip.ts";

/**
 * Returns the files of an archive, read as if an attacker had made it. Its headers are
 * not trusted: contents are counted as they come out, so that no archive costs more
 * memory than the size limit of a skill. Throws 400 `skill_invalid_archive`,
 * `skill_too_many_files`, 413 `skill_uncompressed_too_large`.
 */
export async function unpack(type: ArchiveType, archive: Uint8Array): Promise<SkillFolder> {
  try {
    const folder = await collect(type === "zip" ? zipEntries(archive) : tarEntries(archive, type === "tar.gz"));
    if (!folder.has(manifestPath)) throw invalidArchive(`it has no ${manifestPath} at its root`);
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
  for await (const entry of entries) {
    count += 1;
    if (count > entriesPerArchiveMax) throw new ApiError("skill_too_many_files");
    if (entry.kind === "other") throw invalidArchive("it holds a link or a special file");
    const path = entryPath(entry.name);
    if (entry.kind === "folder" || entry.name.endsWith("/")) {
      if (entry.sizeBytes > 0) throw invalidArchive("a folder has content");
      if (path !== null) folders.add(path);
      continue;
    }
    if (path === null) throw invalidArchive("a file has no name");
    if (folder.has(path)) throw invalidArchive("it names a file twice");
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
  if (files.some((file) => others.some((other) => other.startsWith(`${file}/`))))
    throw invalidArchive("a file is a folder, too");
}

async function readContent(entry: ArchiveEntry, bytesMax: number): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of await entry.content()) {
    bytes += part.byteLength;
    if (bytes > bytesMax) throw new ApiError("skill_uncompressed_too_large");
    parts.push(part);
  }
  return Buffer.concat(parts);
}
