import { Buffer } from "node:buffer";
import { responseBytesMax } from "../limits.ts";

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
const space = 0x20;
/** An event's id that is longer is not kept, so that nothing can be resumed from it. */
const eventIdBytesMax = 1_024;
const byteOrderMark = Buffer.from([0xef, 0xbb, 0xbf]);
/** Names of fields that are read, with the colon. */
const dataField = Buffer.from("data:");
const idField = Buffer.from("id:");
const retryField = Buffer.from("retry:");
const nothing = Buffer.alloc(0);

/**
 * Reads the events of a stream from its bytes as they come, each byte once, and keeps no more of
 * them than the data of one event: a stream may be of millions of short lines. Lines end with CR, LF
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
  readonly #data = new EventData();
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
      if (this.#endLine(bytes, from, end)) yield this.#endEvent();
      from = end + 1;
      if (bytes[end] !== carriageReturn) continue;
      if (from === bytes.byteLength) this.#afterReturn = true;
      else if (bytes[from] === lineFeed) from += 1;
    }
  }

  /** Reads a line to its end. Returns whether it completes an event. */
  #endLine(bytes: Buffer, from: number, end: number): boolean {
    if (this.#line.length > 0) {
      const line = Buffer.concat([...this.#line, bytes.subarray(from, end)]);
      this.#line = [];
      return this.#endLine(line, 0, line.byteLength);
    }
    const at = this.#isFirstLine && begins(bytes, from, end, byteOrderMark) ? from + byteOrderMark.byteLength : from;
    this.#isFirstLine = false;
    if (at < end) this.#readLine(bytes, at, end);
    return at === end && !this.#isBlank;
  }

  #endEvent(): StreamEvent {
    const event = { id: this.#id, retryMs: this.#retryMs, data: this.#data.take() };
    this.#id = null;
    this.#retryMs = null;
    this.#isBlank = true;
    return event;
  }

  #readLine(bytes: Buffer, from: number, end: number): void {
    const valueAfter = (field: Buffer) => {
      const at = from + field.byteLength;
      return bytes[at] === space && at < end ? at + 1 : at;
    };
    if (begins(bytes, from, end, dataField)) this.#data.addLine(bytes, valueAfter(dataField), end);
    else if (begins(bytes, from, end, idField)) this.#id = usableId(bytes.subarray(valueAfter(idField), end));
    else if (begins(bytes, from, end, retryField)) {
      const value = bytes.toString("latin1", valueAfter(retryField), Math.min(end, from + 20));
      if (/^\d{1,9}$/.test(value)) this.#retryMs = Number(value);
    } else return;
    this.#isBlank = false;
  }
}

function begins(bytes: Buffer, from: number, end: number, field: Buffer): boolean {
  if (end - from < field.byteLength) return false;
  for (let at = 0; at < field.byteLength; at++) if (bytes[from + at] !== field[at]) return false;
  return true;
}

/** The data of an event as its lines come, in one piece of memory. */
class EventData {
  #bytes = nothing as Buffer;
  #length = 0;
  #lines = 0;

  addLine(bytes: Buffer, from: number, end: number): void {
    const length = this.#length + (this.#lines === 0 ? 0 : 1) + end - from;
    this.#lines += 1;
    this.#length = length;
    // More than is read: only how much it is counts.
    if (length > responseBytesMax) this.#bytes = nothing as Buffer;
    if (length > responseBytesMax) return;
    if (length > this.#bytes.byteLength) this.#grow(length);
    if (this.#lines > 1) this.#bytes[length - (end - from) - 1] = lineFeed;
    bytes.copy(this.#bytes, length - (end - from), from, end);
  }

  #grow(length: number): void {
    const larger = Buffer.allocUnsafe(Math.min(responseBytesMax, Math.max(length, 2 * this.#bytes.byteLength)));
    this.#bytes.copy(larger);
    this.#bytes = larger;
  }

  /** Returns the data of the event that has ended; null: more than is read. */
  take(): Buffer | null {
    const [bytes, length] = [this.#bytes, this.#length];
    this.#bytes = nothing as Buffer;
    this.#length = 0;
    this.#lines = 0;
    return length > responseBytesMax ? null : bytes.subarray(0, length);
  }
}

/** Returns an id that can be sent back in a header; null for any other. */
function usableId(value: Buffer): string | null {
  const id = value.byteLength > eventIdBytesMax ? "" : value.toString("latin1");
  return /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(id) ? id : null;
}
