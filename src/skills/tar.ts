import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import { extract, type Header } from "tar-stream";
import { ApiError } from "../kernel/errors.ts";
import { type ArchiveEntry, invalidArchive } from "./entry.ts";

/** The size limit of an unpacked tar: a skill's files and the headers of every entry it may have. */
const tarBytesMax = 16 * 1024 * 1024;

/** Headers that say something of the next entry (pax, long names) may have this many bytes together; tar-stream reads each in one go. */
const longHeaderBytesMax = 512 * 1024;
const blockBytes = 512;
/** Where a header has its size, its kind and the mark of the format, and the kinds that are long headers. */
const sizeAt = 124;
const kindAt = 156;
const magicAt = 257;
const magic = "ustar";
const longKinds = new Set([..."xgLK"].map((kind) => kind.charCodeAt(0)));

const inflate = promisify(gunzip);

/** Yields the entries of a tar, gzipped or not. Each must be read before the next one comes. */
export async function* tarEntries(archive: Uint8Array, gzipped: boolean): AsyncIterable<ArchiveEntry> {
  const tar = gzipped ? await unzipped(archive) : archive;
  if (longHeaderBytes(tar) > longHeaderBytesMax) throw invalidArchive("its headers are too large");
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

/**
 * Returns the size of all long headers. Every block that may be one counts, wherever it
 * stands: where entries begin is known only to who has read the headers before them.
 */
function longHeaderBytes(tar: Uint8Array): number {
  let bytes = 0;
  for (let at = 0; at + blockBytes <= tar.byteLength; at += blockBytes) {
    if (!longKinds.has(tar[at + kindAt] as number)) continue;
    const block = Buffer.from(tar.buffer, tar.byteOffset + at, blockBytes);
    if (block.toString("latin1", magicAt, magicAt + magic.length) !== magic) continue;
    const size = block.toString("latin1", sizeAt, sizeAt + 12);
    // With the highest bit set it is in binary, for what octal digits cannot hold: 8 GiB and more.
    if (size.charCodeAt(0) >= 0x80) return Number.POSITIVE_INFINITY;
    bytes += blockBytes + (Number.parseInt(size.replace(/^[ \0]+/, ""), 8) || 0);
  }
  return bytes;
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
