import { Buffer } from "node:buffer";
import { inSlices, type SliceClock, type SlicedWork } from "./async/slices.ts";
import { jsonValuesMax } from "./limits.ts";
import { noteDoing } from "./telemetry/work.ts";

/** JSON of another server nests at most this deep: what walks over it calls itself, and a stack has an end. */
export const foreignJsonDepthMax = 256;
/** Texts of this many bytes are counted at once, in a fifth of a millisecond; longer ones in slices. */
const atOnceBytes = 64 * 1024;
/** This many bytes are read between two looks at the clock. */
const lookBytes = 16 * 1024;
/** A count may take so long; 64 MiB take 0.3 s. */
const countMsMax = 10_000;

const quote = 0x22;
const backslash = 0x5c;

/** What a byte outside of texts is: nothing, the begin or end of an object or array, a number or a word such as `true`, or a text. */
const nothing = 0;
const opens = 1;
const closes = 2;
const scalar = 3;
const text = 4;
const kinds = new Uint8Array(256);
kinds[quote] = text;
for (const character of "{[") kinds[character.charCodeAt(0)] = opens;
for (const character of "}]") kinds[character.charCodeAt(0)] = closes;
for (const character of "-+.0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
  kinds[character.charCodeAt(0)] = scalar;

/** JSON as it comes: a text, its bytes, or its bytes in pieces. */
export type JsonSource = string | Uint8Array | readonly Uint8Array[];

/** What of a JSON text is beyond a bound; null when nothing is. */
export type JsonExcess = "too_many_values" | "too_deep" | null;

interface Bounds {
  readonly valuesMax: number;
  readonly depthMax: number;
}

/** Counts the values of a JSON text in slices, before anything parses it: each text, key, number, word, object and array is one. */
class ValueCount {
  excess: JsonExcess = null;
  values = 0;
  readonly #bounds: Bounds;
  #depth = 0;
  #before = nothing;
  #inText = false;

  constructor(bounds: Bounds) {
    this.#bounds = bounds;
  }

  /** Reads on from `at` to `end`. Returns where it stopped, which may be one byte further; it stops at once at an excess. */
  read(bytes: Uint8Array, at: number, end: number): number {
    let position = at;
    while (position < end && this.excess === null) {
      const byte = bytes[position] as number;
      position += 1;
      if (this.#inText) {
        // What follows a backslash ends no text.
        if (byte === backslash) position += 1;
        else if (byte === quote) this.#inText = false;
        continue;
      }
      const kind = kinds[byte] as number;
      if (kind !== nothing) this.#count(kind);
      this.#before = kind;
    }
    return position;
  }

  #count(kind: number): void {
    this.#inText = kind === text;
    if (kind === closes) {
      this.#depth -= 1;
      return;
    }
    if (kind === opens) {
      this.#depth += 1;
      if (this.#depth > this.#bounds.depthMax) this.excess = "too_deep";
    } else if (kind === scalar && this.#before === scalar) return;
    this.values += 1;
    if (this.values > this.#bounds.valuesMax) this.excess = "too_many_values";
  }
}

/**
 * Returns whether a JSON text, which may be malformed, is beyond a bound: `jsonValuesMax` values
 * and any depth where nothing else is said. It is counted before anything parses it and gives way to other
 * work: parsing and checking millions of values stops a process for seconds, in any number of bytes.
 */
export async function jsonExcess(source: JsonSource, bounds: Partial<Bounds> = {}): Promise<JsonExcess> {
  const { valuesMax = jsonValuesMax, depthMax = Number.POSITIVE_INFINITY } = bounds;
  const pieces = piecesOf(source);
  // Each value has one byte at least, and so has each level.
  if (bytesOf(pieces) <= Math.min(valuesMax, depthMax)) return null;
  return (await counted(pieces, { valuesMax, depthMax })).excess;
}

/** Returns the same, and how many values were counted. */
export function jsonCount(source: JsonSource, bounds: Bounds): Promise<Pick<ValueCount, "excess" | "values">> {
  return counted(piecesOf(source), bounds);
}

/** Returns how many values something parsed has, counted to `max`; what is not there has none. */
export function valuesOf(value: unknown, max: number): number {
  if (value === undefined) return 0;
  let values = 0;
  const left: unknown[] = [value];
  while (left.length > 0 && values < max) {
    const next = left.pop();
    values += 1;
    if (typeof next !== "object" || next === null) continue;
    const isList = Array.isArray(next);
    const inner: readonly unknown[] = isList ? next : Object.values(next);
    if (!isList) values += inner.length;
    if (values + inner.length > max) return max;
    for (const each of inner) left.push(each);
  }
  return Math.min(values, max);
}

/** Returns how many values JSON texts have together, counted to `jsonValuesMax` and one more. */
export async function jsonValuesOf(sources: readonly JsonSource[]): Promise<number> {
  let values = 0;
  for (const source of sources) {
    const bounds = { valuesMax: jsonValuesMax - values, depthMax: Number.POSITIVE_INFINITY };
    values += (await counted(piecesOf(source), bounds)).values;
    if (values > jsonValuesMax) break;
  }
  return values;
}

async function counted(pieces: readonly Uint8Array[], bounds: Bounds): Promise<ValueCount> {
  const count = new ValueCount(bounds);
  if (bytesOf(pieces) > atOnceBytes)
    return inSlices({ msMax: countMsMax }, (clock) => countInSlices(count, pieces, clock));
  let position = 0;
  for (const piece of pieces) position = count.read(piece, position, piece.byteLength) - piece.byteLength;
  return count;
}

function* countInSlices(count: ValueCount, pieces: readonly Uint8Array[], clock: SliceClock): SlicedWork<ValueCount> {
  // The piece before may end with a backslash, which takes the first byte of the next.
  let position = 0;
  for (const piece of pieces) {
    while (position < piece.byteLength && count.excess === null) {
      const end = Math.min(position + lookBytes, piece.byteLength);
      position = count.read(piece, position, end);
      if (clock.isOver(lookBytes)) yield;
    }
    position -= piece.byteLength;
  }
  return count;
}

function bytesOf(pieces: readonly Uint8Array[]): number {
  return pieces.reduce((sum, { byteLength }) => sum + byteLength, 0);
}

function piecesOf(source: JsonSource): readonly Uint8Array[] {
  if (typeof source === "string") return [Buffer.from(source)];
  return source instanceof Uint8Array ? [source] : source;
}

/** What another server's JSON holds, or why it is not read. */
export type ForeignJson =
  | { readonly outcome: "read"; readonly value: unknown }
  | { readonly outcome: "too_many_values" | "too_deep" | "malformed" };

/**
 * Reads JSON that another server sent, bounded in time: what has more than `jsonValuesMax` values,
 * or nests deeper than `foreignJsonDepthMax`, is not parsed. How many bytes come is bounded by who reads them.
 * Bytes that are not UTF-8 are malformed.
 */
export async function readForeignJson(source: JsonSource, bounds: Partial<Bounds> = {}): Promise<ForeignJson> {
  const excess = await jsonExcess(source, { depthMax: foreignJsonDepthMax, ...bounds });
  if (excess !== null) return { outcome: excess };
  noteDoing("JSON of a server");
  try {
    return { outcome: "read", value: JSON.parse(typeof source === "string" ? source : utf8Text(source)) };
  } catch {
    return { outcome: "malformed" };
  }
}

function utf8Text(source: Exclude<JsonSource, string>): string {
  const bytes = source instanceof Uint8Array ? source : Buffer.concat(source);
  // With `fatal`, so that malformed bytes are not replaced in silence; a byte order mark is left out.
  return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
}
