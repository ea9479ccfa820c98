/**
 * Messages between a worker and the process, or the host, of one command: a length, a JSON
 * text of that length, and the bytes that the text refers to.
 */

interface Head {
  readonly message: unknown;
  /** Lengths of the byte strings that follow, in the order of their numbers. */
  readonly blobs: readonly number[];
}

const lengthBytes = 4;

/** Returns a message as a frame; byte arrays anywhere in it are sent as they are. */
export function encodeFrame(message: unknown): Uint8Array {
  const blobs: Uint8Array[] = [];
  const text = JSON.stringify(message, function (this: Record<string, unknown>, key, value) {
    // `value` is no longer the Buffer here (its toJSON was called); its holder still has it.
    const held = this[key];
    return held instanceof Uint8Array ? { $blob: blobs.push(held) - 1 } : value;
  });
  const head = Buffer.from(`{"message":${text},"blobs":${JSON.stringify(blobs.map(({ byteLength }) => byteLength))}}`);
  const length = Buffer.alloc(lengthBytes);
  length.writeUInt32BE(head.byteLength);
  return Buffer.concat([length, head, ...blobs]);
}

/**
 * Returns bytes as what `encodeFrame` sends soonest: of a Buffer, JSON would first be made as a list of its numbers, which takes
 * seconds for a workspace.
 */
export function plainBytes(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Assembles frames from the pieces in which they arrive. Throws when one would have more than `bytesMax`. */
export class FrameReader {
  readonly #bytesMax: number;
  #pieces: Uint8Array[] = [];
  #bytes = 0;
  /** Bytes that must have arrived before parsing makes sense. */
  #needed = lengthBytes;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Takes a piece; returns the messages that are complete now. */
  push(piece: Uint8Array): unknown[] {
    this.#pieces.push(piece);
    this.#bytes += piece.byteLength;
    if (this.#bytes > this.#bytesMax) throw new Error("The frame is too large.");
    const messages: unknown[] = [];
    while (this.#bytes >= this.#needed) {
      const whole = Buffer.concat(this.#pieces);
      const parsed = this.#parse(whole);
      if (parsed === null) {
        this.#pieces = [whole];
        continue;
      }
      messages.push(parsed.message);
      const rest = whole.subarray(parsed.length);
      this.#pieces = [rest];
      this.#bytes = rest.byteLength;
      this.#needed = lengthBytes;
    }
    return messages;
  }

  /** Parses the first frame; null when it is incomplete, and `needed` then has the bytes it takes. */
  #parse(whole: Buffer): { message: unknown; length: number } | null {
    const headEnd = lengthBytes + whole.readUInt32BE();
    if (whole.byteLength < headEnd) return this.#waitFor(headEnd);
    const head = JSON.parse(whole.toString("utf8", lengthBytes, headEnd)) as Head;
    const length = head.blobs.reduce((sum, bytes) => sum + bytes, headEnd);
    if (whole.byteLength < length) return this.#waitFor(length);
    let offset = headEnd;
    const blobs = head.blobs.map((bytes) => {
      offset += bytes;
      // A copy: the whole is let go. `Uint8Array.from` would walk through its numbers.
      return new Uint8Array(whole.subarray(offset - bytes, offset));
    });
    return { message: withBlobs(head.message, blobs), length };
  }

  #waitFor(bytes: number): null {
    this.#needed = bytes;
    return null;
  }
}

function withBlobs(value: unknown, blobs: readonly Uint8Array[]): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => withBlobs(item, blobs));
  if ("$blob" in value) return blobs[value.$blob as number];
  return Object.fromEntries(Object.entries(value).map(([key, field]) => [key, withBlobs(field, blobs)]));
}
