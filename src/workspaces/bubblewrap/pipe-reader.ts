/** Reads a stream piece by piece, as the other side says it. */
export class PipeReader {
  readonly #pieces: AsyncIterator<Uint8Array>;
  #held: Buffer = Buffer.alloc(0);

  constructor(stream: AsyncIterable<Uint8Array>) {
    this.#pieces = stream[Symbol.asyncIterator]();
  }

  /** Returns what comes before a mark, and takes the mark. Throws when the stream ends first, or beyond `bytesMax`. */
  async until(mark: Uint8Array, bytesMax: number): Promise<Buffer> {
    let searched = 0;
    for (;;) {
      const at = this.#held.indexOf(mark, searched);
      if (at >= 0) {
        const found = this.#held.subarray(0, at);
        this.#held = this.#held.subarray(at + mark.byteLength);
        return found;
      }
      if (this.#held.byteLength > bytesMax) throw new PipeError("too much");
      searched = Math.max(0, this.#held.byteLength - mark.byteLength);
      await this.#more();
    }
  }

  /** Returns the next line, without its end. Throws as `until`. */
  async line(): Promise<string> {
    return (await this.until(Buffer.from("\n"), lineBytesMax)).toString();
  }

  /** Yields the rest of the stream. */
  async *rest(): AsyncGenerator<Uint8Array> {
    if (this.#held.byteLength > 0) yield this.#held;
    this.#held = Buffer.alloc(0);
    for (;;) {
      const piece = await this.#pieces.next();
      if (piece.done === true) return;
      yield piece.value;
    }
  }

  async #more(): Promise<void> {
    const piece = await this.#pieces.next();
    if (piece.done === true) throw new PipeError("ended");
    // Doubling would save copies, but lists have at most some megabytes in pieces of 64 KiB.
    this.#held = Buffer.concat([this.#held, piece.value]);
  }
}

const lineBytesMax = 1_000;

/** The other side of a pipe has ended, or says what it should not. */
export class PipeError extends Error {
  override readonly name = "PipeError";
}
