import type { Readable } from "node:stream";
import { outputBytesMax } from "./limits.ts";

/** Collects the beginning of what a program writes. */
export class Output {
  readonly #pieces: Buffer[] = [];
  #bytes = 0;

  constructor(stream: Readable) {
    stream.on("data", (piece: Buffer) => {
      const room = outputBytesMax - this.#bytes;
      if (room > 0) this.#pieces.push(piece.subarray(0, room));
      this.#bytes += piece.byteLength;
    });
    stream.on("error", () => {});
  }

  get isCut(): boolean {
    return this.#bytes > outputBytesMax;
  }

  /** Returns it as text; bytes that are none are replaced. */
  text(): string {
    return Buffer.concat(this.#pieces).toString();
  }
}
