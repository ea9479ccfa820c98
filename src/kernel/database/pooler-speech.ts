import { Buffer } from "node:buffer";
import { databaseWaitMs } from "../limits.ts";
import { beginSettings, limitPassedState, limitStatement, type TransactionSettings } from "./pooler-limits.ts";
import type { ServerClock } from "./server-clock.ts";
import { errorField, headBytes, message, zeroEnded } from "./wire.ts";

/** What is sent up to a "sync", or a simple query: outside of `begin`, a transaction. Its replies come in this order. */
interface Batch {
  readonly sentAtMs: number;
  /** Types of the replies to what was added, which the driver does not see; they come first, but for `shown`. */
  readonly hidden: string[];
  /** The number of the first hidden replies that are the limit's. */
  limits: number;
  /** The number of replies of the first hidden type that are the driver's, and come before. */
  shown: number;
  /** The server's statement without a name is the one that the driver knows by this name; null: it is none of the driver's. */
  current: string | null;
  executes: boolean;
  hidesReady: boolean;
}

interface SpeechOptions {
  readonly clock: ServerClock;
  readonly settings?: TransactionSettings;
  /** Closes the connection. */
  readonly close: () => void;
  /** Told the connection's key, which the driver knows it by too. */
  readonly onKey?: (key: string) => void;
}

/** The versions in first messages of a connection. */
const protocolVersion = 196_608;
const sync = message("S");
/** What the driver sends in its first message, and a pooler would set at each server. */
const ownParameters = new Set(["datestyle", "application_name"]);
/** Replies to a limit: parsed, bound, its row, done. */
const limitReplies = ["1", "2", "D", "C"] as const;
/** PgBouncer's code for everything that is wrong, before it closes the connection. */
const poolerState = "08P01";
/** Replies that are looked at, beside hidden ones. */
const seen = new Set(["Z", "E", "K"]);

/**
 * Translates what a driver says on a connection for a pooler in transaction mode, where each transaction may have another
 * session of the server, and back. No statement keeps a name: a named one is parsed again, in the same round trip. Each
 * transaction begins with its limits of time, sent in front of its first statement. A pooler that was lost, or has lost
 * the server, looks like a broken connection.
 */
export class PoolerSpeech {
  /** When the caller of the statement that is sent next stops waiting, by `performance.now()`. */
  untilMs: number | null = null;
  readonly #options: SpeechOptions;
  /** What was prepared, by name: the message's rest behind the name. */
  readonly #statements = new Map<string, Buffer>();
  /** Whether the first message was sent; null: this connection only cancels. */
  #hasBegun: boolean | null = false;
  #isReady = false;
  #isOpen = false;
  #batch: Batch | null = null;
  readonly #batches: Batch[] = [];
  #unsent = Buffer.alloc(0);
  #unread = Buffer.alloc(0);
  /** Bytes that are still to come of a message that is passed on. */
  #passing = 0;

  constructor(options: SpeechOptions) {
    this.#options = options;
  }

  /** Returns what is sent to the pooler. */
  outgoing(chunk: Buffer): Buffer {
    let rest = this.#unsent.length === 0 ? chunk : Buffer.concat([this.#unsent, chunk]);
    const sent: Buffer[] = [];
    while (rest.length >= headBytes && this.#hasBegun !== null) {
      const length = this.#hasBegun ? 1 + rest.readUInt32BE(1) : rest.readUInt32BE(0);
      if (rest.length < length) break;
      const one = rest.subarray(0, length);
      sent.push(...(this.#hasBegun ? this.#translate(one) : [this.#begin(one)]));
      rest = rest.subarray(length);
    }
    if (this.#hasBegun === null) sent.push(rest);
    this.#unsent = this.#hasBegun === null ? Buffer.alloc(0) : Buffer.from(rest);
    return Buffer.concat(sent);
  }

  #begin(first: Buffer): Buffer {
    this.#hasBegun = first.readUInt32BE(4) === protocolVersion ? true : null;
    if (this.#hasBegun === null) return first;
    return withoutOwnParameters(first);
  }

  #translate(one: Buffer): readonly Buffer[] {
    const type = String.fromCharCode(one[0] as number);
    if (!this.#isReady) return [one];
    if (type === "P") return this.#parse(one);
    if (type === "B") return this.#bind(one);
    if (type === "Q") return this.#simple(one);
    if (type === "D" && one[headBytes] === "S".charCodeAt(0)) return [message("D", Buffer.from("S"), "")];
    if (type === "E" && this.#batch !== null) this.#batch.executes = true;
    if (type === "S") this.#end();
    if (type === "H" && this.#batch?.executes === false) {
      // What is only described gives the server back meanwhile.
      this.#batch.hidesReady = true;
      this.#end();
      return [sync];
    }
    return [one];
  }

  #parse(one: Buffer): readonly Buffer[] {
    const { text: name, end } = zeroEnded(one, headBytes);
    const before = this.#open();
    const rest = Buffer.from(one.subarray(end));
    this.#statements.set(name, rest);
    (this.#batch as Batch).current = name;
    return [...before, message("P", "", rest)];
  }

  #bind(one: Buffer): readonly Buffer[] {
    const portal = zeroEnded(one, headBytes);
    const { text: name, end } = zeroEnded(one, portal.end);
    const before = this.#open();
    const batch = this.#batch as Batch;
    const known = this.#statements.get(name);
    const bound = message("B", portal.text, "", one.subarray(end));
    if (known === undefined || batch.current === name) return [...before, bound];
    batch.current = name;
    batch.hidden.push("1");
    return [...before, message("P", "", known), bound];
  }

  #simple(one: Buffer): readonly Buffer[] {
    const { text } = zeroEnded(one, headBytes);
    const begins = !this.#isOpen && /^\s*begin\b/i.test(text);
    const before = this.#open(!begins);
    const batch = this.#batch as Batch;
    this.#end();
    if (!begins) return [...before, one];
    const settings = beginSettings(this.#options.settings);
    this.#isOpen = true;
    batch.shown = 1;
    batch.hidden.push(...settings.map(() => "C"));
    return [message("Q", [text, ...settings].join("; "))];
  }

  /** Begins a batch. Returns what is sent before it. */
  #open(isLimited = true): readonly Buffer[] {
    if (this.#batch !== null) return [];
    const limits = isLimited && !this.#isOpen;
    const sentAtMs = performance.now();
    this.#batch = {
      sentAtMs,
      hidden: limits ? [...limitReplies] : [],
      limits: limits ? limitReplies.length : 0,
      shown: 0,
      current: null,
      executes: false,
      hidesReady: false,
    };
    this.#batches.push(this.#batch);
    if (!limits) return [];
    const { clock, settings } = this.#options;
    const text = limitStatement(clock, this.untilMs ?? sentAtMs + databaseWaitMs, settings);
    const [noTypes, noValues, allRows] = [Buffer.alloc(2), Buffer.alloc(6), Buffer.alloc(4)];
    return [message("P", "", text, noTypes), message("B", "", "", noValues), message("E", "", allRows)];
  }

  #end(): void {
    // A lone "sync", after an error, has a reply too.
    if (this.#batch === null) this.#open(false);
    this.#batch = null;
  }

  /** Returns what the driver is given. */
  incoming(chunk: Buffer): Buffer {
    const passed: Buffer[] = [];
    let at = Math.min(this.#passing, chunk.length);
    this.#passing -= at;
    const bytes = this.#unread.length === 0 ? chunk : Buffer.concat([this.#unread, chunk]);
    let from = 0;
    let end = at;
    for (; bytes.length - at >= headBytes; at = end) {
      const type = String.fromCharCode(bytes[at] as number);
      end = at + 1 + bytes.readUInt32BE(at + 1);
      const isHidden = this.#isHidden(type);
      if (!isHidden && !seen.has(type)) continue;
      if (end > bytes.length) break;
      if (!this.#see(type, bytes.subarray(at, end), isHidden)) continue;
      passed.push(bytes.subarray(from, at));
      from = end;
    }
    this.#passing += Math.max(0, at - bytes.length);
    const passedTo = Math.min(at, bytes.length);
    this.#unread = Buffer.from(bytes.subarray(passedTo));
    passed.push(bytes.subarray(from, passedTo));
    return passed.length === 1 ? (passed[0] as Buffer) : Buffer.concat(passed);
  }

  #isHidden(type: string): boolean {
    const [batch] = this.#batches;
    if (batch === undefined || batch.hidden[0] !== type) return false;
    if (batch.shown === 0) return true;
    batch.shown -= 1;
    return false;
  }

  /** Returns whether a reply is kept from the driver. */
  #see(type: string, reply: Buffer, isHidden: boolean): boolean {
    const [batch] = this.#batches;
    if (type === "K") this.#options.onKey?.(`${reply.readUInt32BE(headBytes)}:${reply.readUInt32BE(headBytes + 4)}`);
    if (type === "E") return this.#fail(reply, batch);
    if (type === "Z") return this.#ready(reply, batch);
    if (!isHidden || batch === undefined) return false;
    if (type === "D") this.#options.clock.note(serverMsOf(reply), batch.sentAtMs, performance.now());
    if (batch.limits > 0) batch.limits -= 1;
    batch.hidden.shift();
    return true;
  }

  #fail(error: Buffer, batch: Batch | undefined): boolean {
    const code = errorField(error, "C");
    const isLate = batch !== undefined && batch.limits > 0 && code === limitPassedState;
    if (batch !== undefined) Object.assign(batch, { limits: 0, hidden: [] });
    if (!isLate && !(code === poolerState && errorField(error, "S") === "FATAL")) return false;
    this.#options.close();
    return true;
  }

  #ready(reply: Buffer, batch: Batch | undefined): boolean {
    this.#isReady = true;
    this.#isOpen = reply[headBytes] !== "I".charCodeAt(0);
    this.#batches.shift();
    return batch?.hidesReady === true;
  }
}

/** Returns the first column of a row, which is a number. */
function serverMsOf(row: Buffer): number {
  const from = headBytes + 2;
  const length = row.readInt32BE(from);
  return Number(row.toString("utf8", from + 4, from + 4 + length));
}

/** Returns a connection's first message without what a pooler would make settings of each server's session. */
function withoutOwnParameters(first: Buffer): Buffer {
  const kept: string[] = [];
  for (let at = 8; first[at] !== 0 && at < first.length; ) {
    const name = zeroEnded(first, at);
    const value = zeroEnded(first, name.end);
    if (!ownParameters.has(name.text.toLowerCase())) kept.push(name.text, value.text);
    at = value.end;
  }
  const body = Buffer.from(`${kept.join("\0")}\0\0`);
  const head = Buffer.alloc(8);
  head.writeUInt32BE(head.length + body.length, 0);
  head.writeUInt32BE(protocolVersion, 4);
  return Buffer.concat([head, body]);
}
