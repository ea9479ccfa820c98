import { ToolError } from "../tools/error.ts";
import { turnWrittenBytesMax } from "./limits.ts";

/**
 * What the tools of one turn may still write. Every change of a file writes the whole file
 * anew, so a thousand edits of a large one are gigabytes for the disk.
 */
export class WriteAllowance {
  #left = turnWrittenBytesMax;

  /** Takes bytes that are about to be written. Throws `ToolError` when the turn has used up what it may write. */
  take(bytes: number): void {
    if (bytes > this.#left) {
      const limit = `${turnWrittenBytesMax / 1024 / 1024} MiB`;
      throw new ToolError(`One turn writes at most ${limit}, counting a file anew each time; nothing was changed.`);
    }
    this.#left -= bytes;
  }
}
