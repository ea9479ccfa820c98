/** One chunk of a UI message stream. */
export interface Chunk {
  readonly type: string;
  readonly [field: string]: unknown;
}

/** Reads a turn's stream as it comes. */
export class StreamReader {
  /** The chunks so far. */
  readonly chunks: Chunk[] = [];
  /** The event ids so far. */
  readonly ids: string[] = [];
  /** Whether `[DONE]` has come. */
  finished = false;
  /** Resolves when the response has ended or broken off. */
  readonly closed: Promise<void>;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;

  constructor(response: Response) {
    if (response.body === null) throw new Error("The response has no body.");
    this.#reader = response.body.getReader();
    this.closed = this.#read();
  }

  /** The types of the chunks so far. */
  get types(): string[] {
    return this.chunks.map((chunk) => chunk.type);
  }

  /** Goes away, as a client does that closes its page. */
  async leave(): Promise<void> {
    await this.#reader.cancel();
  }

  async #read(): Promise<void> {
    const decoder = new TextDecoder();
    let rest = "";
    try {
      for (;;) {
        const { done, value } = await this.#reader.read();
        if (done) return;
        const blocks = (rest + decoder.decode(value, { stream: true })).split("\n\n");
        rest = blocks.pop() ?? "";
        for (const block of blocks) this.#take(block);
      }
    } catch {
      // The connection broke; `finished` tells whether that was too early.
    }
  }

  #take(block: string): void {
    const data = /^data: (.*)$/m.exec(block)?.[1];
    if (data === undefined) return;
    if (data === "[DONE]") {
      this.finished = true;
      return;
    }
    this.ids.push(/^id: (.*)$/m.exec(block)?.[1] ?? "");
    this.chunks.push(JSON.parse(data) as Chunk);
  }
}
