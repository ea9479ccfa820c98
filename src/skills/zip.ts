import { crc32 } from "node:zlib";
import { type Reader, unzipRaw, type ZipEntry } from "unzipit";
import { GiveWay } from "../kernel/async/give-way.ts";
import { ApiError } from "../kernel/errors.ts";
import { type ArchiveEntry, entriesPerArchiveMax, invalidArchive } from "./entry.ts";
import { zipEntryName } from "./zip-name.ts";

/**
 * Compressed bytes that are inflated at a time. They inflate to at most a thousand times
 * as many before they are counted, which stays below the size limit of a skill.
 */
const pieceBytes = 8 * 1024;
/** The record at a zip's end, and the longest comment that may follow it. */
const endRecordBytes = 22;
const commentBytesMax = 65_535;
const endRecordSignature = 0x06054b50;
/** The size limit of the directory: 1,000 entries with long names. The library makes an object of each four bytes of an entry's extras. */
const directoryBytesMax = 512 * 1024;

/** Makers of entries whose attributes hold Unix file modes: Unix and macOS. */
const unixMakers = [3, 19];
const fileTypeMask = 0o170000;
const regularFile = 0o100000;
const folder = 0o040000;

/**
 * Yields the entries of a zip as its central directory lists them. Throws 400
 * `skill_too_many_files`, `skill_invalid_archive`.
 */
export async function* zipEntries(archive: Uint8Array): AsyncIterable<ArchiveEntry> {
  // Checked before the library makes an object of each.
  const { entries: announced, directoryBytes } = endRecord(archive);
  if (announced > entriesPerArchiveMax) throw new ApiError("skill_too_many_files");
  if (directoryBytes > directoryBytesMax) throw invalidArchive("its directory is too large");
  const { entries } = await unzipRaw(readerOf(archive));
  // Entries may share their data, and a packed file of 10 MiB may unpack to nothing: each byte is unpacked once.
  let packedLeft = archive.byteLength;
  for (const entry of entries) {
    const name = zipEntryName(entry);
    if (entry.encrypted) throw invalidArchive("it is encrypted", name);
    packedLeft -= entry.compressedSize;
    if (packedLeft < 0) throw invalidArchive("it shares its data with others, or is cut off", name);
    yield { name, kind: kindOf(entry), sizeBytes: entry.size, content: () => verified(entry, name) };
  }
}

/** Returns what the record at the end announces; the library reads the same record. */
function endRecord(archive: Uint8Array): { readonly entries: number; readonly directoryBytes: number } {
  const view = new DataView(archive.buffer, archive.byteOffset, archive.byteLength);
  const last = archive.byteLength - endRecordBytes;
  for (let at = last; at >= 0 && at >= last - commentBytesMax; at--)
    if (view.getUint32(at, true) === endRecordSignature)
      return { entries: view.getUint16(at + 10, true), directoryBytes: view.getUint32(at + 12, true) };
  return { entries: 0, directoryBytes: 0 };
}

function readerOf(archive: Uint8Array): Reader {
  return {
    getLength: async () => archive.byteLength,
    read: async (offset, length) => {
      if (offset < 0 || offset + length > archive.byteLength) throw new RangeError("The zip points outside itself.");
      return archive.slice(offset, offset + length) as Uint8Array<ArrayBuffer>;
    },
    readStream: async (offset, length) => pieces(archive.subarray(offset, offset + length)),
  } as Reader;
}

function pieces(bytes: Uint8Array): ReadableStream<Uint8Array> {
  let at = 0;
  // A packed file of 10 MiB may unpack to nothing, so what comes out is no measure of the work.
  const way = new GiveWay();
  return new ReadableStream(
    {
      async pull(controller) {
        await way.next();
        if (at >= bytes.byteLength) return controller.close();
        controller.enqueue(bytes.slice(at, at + pieceBytes));
        at += pieceBytes;
      },
    },
    { highWaterMark: 0 },
  );
}

function kindOf(entry: ZipEntry): ArchiveEntry["kind"] {
  const type = unixMakers.includes(entry.versionMadeBy >>> 8)
    ? (entry.externalFileAttributes >>> 16) & fileTypeMask
    : 0;
  // Some tools leave the type out of the mode.
  if (type !== 0 && type !== regularFile && type !== folder) return "other";
  return type === folder ? "folder" : "file";
}

/** Returns an entry's content; reading fails at its end when it does not match the entry's checksum. */
async function verified(entry: ZipEntry, name: string): Promise<AsyncIterable<Uint8Array>> {
  const stream = (await entry.stream()) as unknown as AsyncIterable<Uint8Array>;
  // The library reads the checksum but neither compares nor shows it.
  const expected = (entry as unknown as { _rawEntry: { crc32: number } })._rawEntry.crc32;
  return (async function* () {
    let sum = 0;
    for await (const part of stream) {
      sum = crc32(part, sum);
      yield part;
    }
    if (sum !== expected) throw invalidArchive("its checksum does not match", name);
  })();
}
