import { ApiError } from "../kernel/errors.ts";

/** An archive may name this many files and folders; folders are not kept, but each costs work. */
export const entriesPerArchiveMax = 1_000;

/** One entry, the same for every kind of archive. Contents are read one after the other. */
export interface ArchiveEntry {
  readonly name: string;
  /** `other`: a link, a device, or anything else that is no file. */
  readonly kind: "file" | "folder" | "other";
  /** The content's size according to the archive. */
  readonly sizeBytes: number;
  content(): Promise<AsyncIterable<Uint8Array>>;
}

/** Returns the error 400 `skill_invalid_archive` with the reason. */
export function invalidArchive(reason: string): ApiError {
  return new ApiError("skill_invalid_archive", { message: `The archive is not valid: ${reason}.` });
}
