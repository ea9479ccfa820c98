import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import { extract, type Header } from "tar-stream";
import { ApiError } from "../kernel/errors.ts";
import type { ArchiveEntry } from "./entry.ts";

/** The size limit of an unpacked tar: a skill's files and the headers of every entry it may have. */
const tarBytesMax = 16 * 1024 * 1024;

const inflate = promisify(gunzip);

/** Yields the entries of a tar, gzipped or not. Each must be read before the next one comes. */
export async function* tarEntries(archive: Uint8Array, gzipped: boolean): AsyncIterable<ArchiveEntry> {
  const tar = gzipped ? await unzipped(archive) : archive;
  const entries = extract();
  entries.end(Buffer.from(tar.buffer, tar.byteOffset, tar.byteLength));
  for await (const entry of entries) {
    const { header } = entry;
    yield {
      name: header.name,
      kind: kindOf(header),
      sizeBytes: header.size ?? 0,
      content: async () => entry as AsyncIterable<Uint8Array>,
    };
    entry.resume();
  }
}

async function unzipped(archive: Uint8Array): Promise<Uint8Array> {
  try {
    return await inflate(archive, { maxOutputLength: tarBytesMax });
  } catch (error) {
    if ((error as { code?: string }).code === "ERR_BUFFER_TOO_LARGE")
      throw new ApiError("skill_uncompressed_too_large");
    throw error;
  }
}

function kindOf(header: Header): ArchiveEntry["kind"] {
  // A sparse file's content is a map of it and not the file.
  const isSparse = Object.keys(header.pax ?? {}).some((key) => key.startsWith("GNU.sparse."));
  if (header.type === "directory") return "folder";
  return (header.type === "file" || header.type === "contiguous-file") && !isSparse ? "file" : "other";
}
