import { setImmediate } from "node:timers/promises";
import { ApiError } from "../errors.ts";
import { jsonValuesMax } from "../limits.ts";

/** Bytes that are read between two breaks in which other requests go on: about a millisecond. */
const sliceBytes = 256 * 1024;

const quote = 0x22;
const backslash = 0x5c;

/** What a byte outside of texts begins: nothing, an object or an array, a number or a word such as `true`, or a text. */
const nothing = 0;
const bracket = 1;
const scalar = 2;
const text = 3;
const kinds = new Uint8Array(256);
kinds[quote] = text;
for (const character of "{[") kinds[character.charCodeAt(0)] = bracket;
for (const character of "-+.0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
  kinds[character.charCodeAt(0)] = scalar;

/** Counts the values of a JSON text in slices, before anything parses it: each text, key, number, word, object and array is one. */
class ValueCount {
  #values = 0;
  #before = nothing;
  #inText = false;

  /** Reads on from `at` to `end`. Returns where it stopped, which may be one byte further. Throws 413. */
  read(bytes: Uint8Array, at: number, end: number): number {
    let position = at;
    while (position < end) {
      const byte = bytes[position] as number;
      position += 1;
      if (this.#inText) {
        // What follows a backslash ends no text.
        if (byte === backslash) position += 1;
        else if (byte === quote) this.#inText = false;
        continue;
      }
      const kind = kinds[byte] as number;
      if (kind === text || kind === bracket || (kind === scalar && this.#before !== scalar)) this.#values += 1;
      this.#inText = kind === text;
      this.#before = kind;
      if (this.#values > jsonValuesMax) throw tooMany();
    }
    return position;
  }
}

function tooMany(): ApiError {
  return new ApiError("payload_too_large", { message: `The JSON has more than ${jsonValuesMax} values.` });
}

/**
 * Counts the values of a JSON text, which may be malformed and come in pieces. Throws 413
 * `payload_too_large` for more than `jsonValuesMax`: parsing and checking so many would
 * hold up all requests of the process.
 */
export async function limitValues(pieces: readonly Uint8Array[]): Promise<void> {
  // Each value has one byte at least.
  if (pieces.reduce((sum, { byteLength }) => sum + byteLength, 0) <= jsonValuesMax) return;
  const count = new ValueCount();
  let left = sliceBytes;
  // The piece before may end with a backslash, which takes the first byte of the next.
  let position = 0;
  for (const piece of pieces) {
    while (position < piece.byteLength) {
      if (left <= 0) {
        await setImmediate();
        left = sliceBytes;
      }
      const end = Math.min(position + left, piece.byteLength);
      left -= end - position;
      position = count.read(piece, position, end);
    }
    position -= piece.byteLength;
  }
}
