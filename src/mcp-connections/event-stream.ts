import { Buffer } from "node:buffer";
import { jsonValuesMax } from "../kernel/limits.ts";
import { responseBytesMax } from "./limits.ts";

/** An event of a stream (`text/event-stream`). */
export interface StreamEvent {
  /** Null: it has none, which leaves the id of the event before in force. */
  readonly id: string | null;
  /** How long to wait before the stream is resumed, in milliseconds; null: it says nothing. */
  readonly retryMs: number | null;
  /** Empty where it has none; null: more than is read. */
  readonly data: Buffer | null;
}

const lineFeed = 0x0a;
const carriageReturn = 0x0d;
const colon = 0x3a;
const space = 0x20;
/** An event's id that is longer is not kept, so that nothing can be resumed from it. */
const eventIdBytesMax = 1_024;
const byteOrderMark = Buffer.from([0xef, 0xbb, 0xbf]);
const lineEnd = Buffer.from("\n");
/** Of the data of an event so many lines are kept: JSON has no more lines than values where it is to be read. */
const dataLinesMax = 2 * jsonValuesMax;

/**
 * Reads the events of a stream from its bytes as they come, each byte once: lines end with CR, LF
 * or both, a byte order mark at the begin is passed over, and so are comments and names of events.
 * How long a line may be is bounded by who reads the bytes.
 */
export class StreamReader {
  /** Of the line that has not ended yet. */
  #line: Buffer[] = [];
  #isFirstLine = true;
  /** The last byte was a CR, so a LF now belongs to it. */
  #afterReturn = false;
  #id: string | null = null;
  #retryMs: number | null = null;
  #data: Buffer[] = [];
  #dataBytes = 0;
  #isBlank = true;

  /** Yields the events that a piece of the stream completes. The caller decides when it asks for the next one. */
  *read(piece: Uint8Array): Generator<StreamEvent, void, undefined> {
    const bytes = Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength);
    let from = this.#afterReturn && bytes[0] === lineFeed ? 1 : 0;
    if (bytes.byteLength > 0) this.#afterReturn = false;
    let nextReturn = bytes.indexOf(carriageReturn, from);
    while (from < bytes.byteLength) {
      const nextFeed = bytes.indexOf(lineFeed, from);
      if (nextReturn !== -1 && nextReturn < from) nextReturn = bytes.indexOf(carriageReturn, from);
      const end = nextReturn === -1 || (nextFeed !== -1 && nextFeed < nextReturn) ? nextFeed : nextReturn;
      if (end === -1) {
        this.#line.push(bytes.subarray(from));
        return;
      }
      const event = this.#endLine(bytes.subarray(from, end));
      if (event !== null) yield event;
      from = end + 1;
      if (bytes[end] !== carriageReturn) continue;
      if (from === bytes.byteLength) this.#afterReturn = true;
      else if (bytes[from] === lineFeed) from += 1;
    }
  }

  /** Returns the event that the end of a line completes; null when it completes none. */
  #endLine(last: Buffer): StreamEvent | null {
    let line = this.#line.length === 0 ? last : Buffer.concat([...this.#line, last]);
    this.#line = [];
    if (this.#isFirstLine && line.subarray(0, 3).equals(byteOrderMark)) line = line.subarray(3);
    this.#isFirstLine = false;
    if (line.byteLength > 0) {
      this.#readLine(line);
      return null;
    }
    if (this.#isBlank) return null;
    const event = { id: this.#id, retryMs: this.#retryMs, data: this.#endData() };
    this.#id = null;
    this.#retryMs = null;
    this.#isBlank = true;
    return event;
  }

  #endData(): Buffer | null {
    const [lines, bytes] = [this.#data, this.#dataBytes];
    this.#data = [];
    this.#dataBytes = 0;
    if (bytes > responseBytesMax) return null;
    return lines.length === 1 ? (lines[0] as Buffer) : Buffer.concat(lines);
  }

  #addData(line: Buffer): void {
    this.#dataBytes += line.byteLength + lineEnd.byteLength;
    if (this.#data.length >= 2 * dataLinesMax) this.#dataBytes = Number.POSITIVE_INFINITY;
    if (this.#dataBytes > responseBytesMax) this.#data = [];
    else if (this.#data.length === 0) this.#data.push(line);
    else this.#data.push(lineEnd, line);
  }

  #readLine(line: Buffer): void {
    const at = line.indexOf(colon);
    // A line that begins with a colon is a comment.
    if (at === 0) return;
    const name = line.toString("latin1", 0, Math.min(at === -1 ? line.byteLength : at, "retry".length + 1));
    let value = at === -1 ? line.subarray(line.byteLength) : line.subarray(at + 1);
    if (value[0] === space) value = value.subarray(1);
    if (name === "data") this.#addData(value);
    else if (name === "id") this.#id = usableId(value);
    else if (name === "retry" && /^\d{1,9}$/.test(value.toString("latin1", 0, 10))) this.#retryMs = Number(value);
    else return;
    this.#isBlank = false;
  }
}

/** Returns an id that can be sent back in a header; null for any other. */
function usableId(value: Buffer): string | null {
  const id = value.byteLength > eventIdBytesMax ? "" : value.toString("latin1");
  return /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(id) ? id : null;
}
