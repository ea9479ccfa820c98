import { ApiError } from "../kernel/errors.ts";

/** An archive may name this many files and folders; folders are not kept, but each costs work. */
export const entriesPerArchiveMax = 1_000;

/** One entry, as every kind of archive has it. Contents are read one after the other. */
export interface ArchiveEntry {
  readonly name: string;
  /** `other`: a link, a device, or what else is no file. */
  readonly kind: "file" | "folder" | "other";
  /** What the archive says that the content weighs. */
  readonly sizeBytes: number;
  content(): Promise<AsyncIterable<Uint8Array>>;
}

/** 400 `skill_invalid_archive` with the reason. */
export function invalidArchive(reason: string): ApiError {
  return new ApiError("skill_invalid_archive", { message: `The archive is not valid: ${reason}.` });
}
