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

/** A name in a message is cut to this many characters. */
const shownCharactersMax = 120;

/** Returns the error 400 `skill_invalid_archive` with the reason, and the entry that it is about. */
export function invalidArchive(reason: string, name?: string): ApiError {
  const entry = name === undefined ? "" : `the entry ${JSON.stringify(name.slice(0, shownCharactersMax))}: `;
  return new ApiError("skill_invalid_archive", { message: `The archive is not valid: ${entry}${reason}.` });
}
