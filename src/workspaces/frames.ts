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
  return Buffer.concat(frameParts(message));
}

/** Returns the parts of a frame, so that the bytes in it are not copied. */
export function frameParts(message: unknown): Uint8Array[] {
  const blobs: Uint8Array[] = [];
  const text = JSON.stringify(message, function (this: Record<string, unknown>, key, value) {
    // `value` is no longer the Buffer here (its toJSON was called); its holder still has it.
    const held = this[key];
    return held instanceof Uint8Array ? { $blob: blobs.push(held) - 1 } : value;
  });
  const head = Buffer.from(
    `0000{"message":${text},"blobs":${JSON.stringify(blobs.map(({ byteLength }) => byteLength))}}`,
  );
  head.writeUInt32BE(head.byteLength - lengthBytes);
  return [head, ...blobs];
}

/**
 * Returns bytes as what `encodeFrame` sends soonest: of a Buffer, JSON would first be made as a list of its numbers, which takes
 * seconds for a workspace.
 */
export function plainBytes(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Bytes that are on their way, and how many have come. */
interface Filling {
  readonly bytes: Uint8Array;
  filled: number;
}

/** Assembles frames from the pieces in which they arrive. Throws when one would have more than `bytesMax`. */
export class FrameReader {
  readonly #bytesMax: number;
  #message: unknown;
  /** What is filled next: the length of a head, the head, the bytes that it refers to. Each byte is copied once. */
  #state: "length" | "head" | "blobs" = "length";
  #filling: Filling[] = [emptyOf(lengthBytes)];
  #at = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Takes a piece; returns the messages that are complete now. */
  push(piece: Uint8Array): unknown[] {
    const messages: unknown[] = [];
    let rest = piece;
    for (;;) {
      rest = this.#fill(rest);
      if (this.#at < this.#filling.length) return messages;
      if (this.#state === "length") this.#expectHead();
      else if (this.#state === "head") this.#expectBlobs();
      else messages.push(this.#whole());
    }
  }

  /** Takes what is missing from a piece, and returns what is left of it. */
  #fill(piece: Uint8Array): Uint8Array {
    let rest = piece;
    for (; this.#at < this.#filling.length; this.#at += 1) {
      const filling = this.#filling[this.#at] as Filling;
      const taken = rest.subarray(0, filling.bytes.byteLength - filling.filled);
      filling.bytes.set(taken, filling.filled);
      filling.filled += taken.byteLength;
      rest = rest.subarray(taken.byteLength);
      if (filling.filled < filling.bytes.byteLength) break;
    }
    return rest;
  }

  #expect(state: "length" | "head" | "blobs", lengths: readonly number[]): void {
    const bytes = lengths.reduce((sum, length) => sum + length, 0);
    if (!lengths.every((length) => Number.isSafeInteger(length) && length >= 0) || bytes > this.#bytesMax)
      throw new Error("The frame is too large.");
    this.#state = state;
    this.#filling = lengths.map(emptyOf);
    this.#at = 0;
  }

  #expectHead(): void {
    this.#expect("head", [Buffer.from(this.#first()).readUInt32BE()]);
  }

  #expectBlobs(): void {
    const { message, blobs } = JSON.parse(Buffer.from(this.#first()).toString()) as Head;
    this.#message = message;
    this.#expect("blobs", blobs);
  }

  #whole(): unknown {
    const blobs = this.#filling.map(({ bytes }) => bytes);
    const message = withBlobs(this.#message, blobs);
    this.#message = undefined;
    this.#expect("length", [lengthBytes]);
    return message;
  }

  #first(): Uint8Array {
    return (this.#filling[0] as Filling).bytes;
  }
}

function emptyOf(length: number): Filling {
  // Separate memory that is not set to zero first, since it is filled before anybody reads it.
  return { bytes: plainBytes(Buffer.allocUnsafeSlow(length)), filled: 0 };
}

function withBlobs(value: unknown, blobs: readonly Uint8Array[]): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => withBlobs(item, blobs));
  if ("$blob" in value) return blobs[value.$blob as number];
  return Object.fromEntries(Object.entries(value).map(([key, field]) => [key, withBlobs(field, blobs)]));
}
