import { Readable } from "node:stream";
import { extract, pack } from "tar-stream";
import { PipeError } from "./pipe-reader.ts";

/** A file of an archive that goes into a sandbox. */
export interface ArchivedFile {
  readonly path: string;
  readonly content: Uint8Array;
  readonly executable: boolean;
  readonly mtimeMs: number;
}

/** Returns an archive (tar) of files and empty folders, in pieces: the contents are not copied. */
export async function archiveOf(files: readonly ArchivedFile[], folders: readonly string[]): Promise<Buffer[]> {
  const archive = pack();
  for (const name of folders) archive.entry({ name, type: "directory", mode: 0o755 });
  for (const { path, content, executable, mtimeMs } of files) {
    const mode = executable ? 0o755 : 0o644;
    const size = content.byteLength;
    archive.entry(
      { name: path, mode, mtime: new Date(mtimeMs), size },
      Buffer.from(content.buffer, content.byteOffset, size),
    );
  }
  archive.finalize();
  const pieces: Buffer[] = [];
  for await (const piece of archive) pieces.push(piece as Buffer);
  return pieces;
}

/**
 * Reads the archive of the files that a sandbox was asked for, and returns their contents. `sizes` are the files with the sizes that
 * they were said to have. Throws `PipeError` for a broken archive, and when something else comes, or comes with another size.
 */
export async function readArchive(
  stream: AsyncIterable<Uint8Array>,
  sizes: ReadonlyMap<string, number>,
): Promise<Map<string, Buffer>> {
  const contents = new Map<string, Buffer>();
  const archive = extract();
  const source = Readable.from(stream, { objectMode: false });
  source.on("error", (error) => archive.destroy(error));
  source.pipe(archive as unknown as NodeJS.WritableStream);
  try {
    for await (const entry of archive) {
      const { name, type, size = 0 } = entry.header;
      if (type !== "file" || contents.has(name) || sizes.get(name) !== size)
        throw new PipeError("sent what was not asked for");
      const pieces: Uint8Array[] = [];
      for await (const piece of entry) pieces.push(piece as Uint8Array);
      contents.set(name, Buffer.concat(pieces));
    }
  } catch (error) {
    throw error instanceof PipeError ? error : new PipeError((error as Error).message);
  }
  return contents;
}
