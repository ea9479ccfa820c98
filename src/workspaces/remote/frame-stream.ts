import { FrameReader } from "../frames.ts";
import { remoteFrameBytesMax } from "./protocol.ts";

/** Reads the frames of a body as they come. */
export class FrameStream {
  readonly #pieces: AsyncIterator<Uint8Array>;
  readonly #reader = new FrameReader(remoteFrameBytesMax);
  readonly #messages: unknown[] = [];

  constructor(body: AsyncIterable<Uint8Array>) {
    this.#pieces = body[Symbol.asyncIterator]();
  }

  /** Returns the next message; null at the end of the body. Throws for a broken frame, and as the body does. */
  async next(): Promise<unknown> {
    while (this.#messages.length === 0) {
      const piece = await this.#pieces.next();
      if (piece.done === true) return null;
      this.#messages.push(...this.#reader.push(piece.value));
    }
    return this.#messages.shift();
  }
}
