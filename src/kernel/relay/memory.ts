import { clearInterval, setInterval } from "node:timers";
import { setImmediate } from "node:timers/promises";
import { noteLag } from "./lag.ts";
import {
  type Appended,
  type Appending,
  type Batch,
  dropBefore,
  type Fenced,
  type Followed,
  type LogKey,
  lastOf,
  type OnSent,
  type Relay,
  relayEntryBytes,
  relayKeepMs,
  relayLogBytesMax,
  relayMemoryCharsMax,
  relayOpenKeepMs,
  relayTrimPart,
  type Sealed,
} from "./relay.ts";

/** The longest pause between two removals of expired logs, in milliseconds. */
const sweepMsMax = 60_000;

interface Log {
  /** The newest of what was appended. */
  readonly batches: Batch[];
  readonly wakers: Set<() => void>;
  state: "open" | "ended" | "sealed";
  /** The number of the last event. */
  tail: number;
  /** The first claim that may write; 0: any. */
  by: number;
  chars: number;
  expiresAtMs: number;
}

/** The options of an in-process relay. */
export interface MemoryRelayOptions {
  /** How long a log is kept after its end, in milliseconds; `relayKeepMs` when left out. */
  readonly keepMs?: number;
  /** How long a log without an end is kept, in milliseconds; `relayOpenKeepMs` when left out. */
  readonly openKeepMs?: number;
  /** The most characters of a log; `relayLogBytesMax` when left out. */
  readonly logBytesMax?: number;
  /** How long all logs together may be, in characters; `relayMemoryCharsMax` when left out. */
  readonly charsMax?: number;
}

/** The relay of a service that is one process: it shares nothing and is never away. */
export class MemoryRelay implements Relay {
  readonly away = false;
  /** In the order in which the logs were begun. */
  readonly #logs = new Map<string, Log>();
  readonly #keepMs: number;
  readonly #openKeepMs: number;
  readonly #logBytesMax: number;
  readonly #charsMax: number;
  readonly #sweeper: NodeJS.Timeout;
  #chars = 0;
  #closed = false;

  constructor({
    keepMs = relayKeepMs,
    openKeepMs = relayOpenKeepMs,
    logBytesMax = relayLogBytesMax,
    charsMax = relayMemoryCharsMax,
  }: MemoryRelayOptions = {}) {
    this.#keepMs = keepMs;
    this.#openKeepMs = openKeepMs;
    this.#logBytesMax = logBytesMax;
    this.#charsMax = charsMax;
    this.#sweeper = setInterval(() => this.#sweep(), Math.min(keepMs / 2, openKeepMs / 2, sweepMsMax)).unref();
  }

  setEpoch(): void {}

  /** Waits for what the process does now: chunks that come together are one batch and one write to each socket. By themselves, they made a turn a fifth dearer. */
  async append(key: LogKey, batch: Appending, onSent: OnSent = () => {}): Promise<Appended> {
    await setImmediate();
    const appended = this.#append(key, typeof batch === "function" ? batch() : batch, false);
    onSent();
    return appended;
  }

  end(key: LogKey, last: Batch | null): Promise<Appended> {
    return Promise.resolve(this.#append(key, last ?? { first: 1, count: 0, sse: "" }, true));
  }

  #append(key: LogKey, batch: Batch, ends: boolean): Appended {
    const name = nameOf(key);
    const { tail, state, by } = this.#logs.get(name) ?? { tail: 0, state: "open", by: 0 };
    if (state === "ended" && ends && lastOf(batch) <= tail) return "ok";
    if (state !== "open" || (key.claim ?? key.attempt) < by) return "sealed";
    if (batch.first > tail + 1) return "lost";
    const rest = dropBefore(batch, tail + 1);
    if (!ends && tail === 0 && batch.count === 0) return "ok";
    const log = this.#open(name);
    if (rest !== null && rest.count > 0) {
      log.batches.push(rest);
      log.tail = lastOf(rest);
      this.#addChars(log, charsOf(rest));
      if (log.chars > this.#logBytesMax) this.#trim(log);
      if (log.wakers.size > 0) noteLag(rest);
    }
    if (ends) log.state = "ended";
    log.expiresAtMs = Date.now() + (ends ? this.#keepMs : this.#openKeepMs);
    wakeAll(log);
    if (this.#chars > this.#charsMax) this.#evict();
    return "ok";
  }

  seal(key: LogKey): Promise<Sealed> {
    const log = this.#open(nameOf(key));
    if (log.state === "ended") return Promise.resolve("ended");
    log.expiresAtMs = Date.now() + this.#openKeepMs;
    log.state = "sealed";
    wakeAll(log);
    return Promise.resolve(log.tail > 0 ? "shown" : "empty");
  }

  fence(key: LogKey, claim: number): Promise<Fenced> {
    const log = this.#open(nameOf(key));
    if (log.state === "open") {
      log.by = Math.max(log.by, claim);
      this.#postpone(log);
    }
    return Promise.resolve({ state: log.state, tail: log.tail });
  }

  erase(keys: readonly LogKey[]): Promise<void> {
    for (const log of keys.map((key) => this.#logs.get(nameOf(key)))) {
      if (log === undefined) continue;
      this.#chars -= log.chars;
      log.batches.length = 0;
      Object.assign(log, { state: "sealed", tail: 0, chars: 0, expiresAtMs: Date.now() + this.#keepMs });
      wakeAll(log);
    }
    return Promise.resolve();
  }

  async *follow(key: LogKey, from: number, signal: AbortSignal): AsyncGenerator<Followed, void, undefined> {
    if (signal.aborted) return;
    const name = nameOf(key);
    const log = this.#open(name);
    let next = Math.max(from, 1);
    let notify = () => {};
    const wake = () => notify();
    log.wakers.add(wake);
    signal.addEventListener("abort", wake, { once: true });
    try {
      while (!signal.aborted) {
        const step: Followed | null = this.#closed ? { type: "lost" } : stepFrom(log, next);
        if (step === null) {
          await new Promise<void>((resolve) => {
            notify = resolve;
          });
          continue;
        }
        if (step.type === "batch") next = lastOf(step.batch) + 1;
        yield step;
        if (step.type !== "batch") return;
      }
    } finally {
      signal.removeEventListener("abort", wake);
      log.wakers.delete(wake);
      this.#postpone(log);
      if (log.wakers.size === 0 && log.tail === 0 && log.by === 0 && log.state === "open") this.#logs.delete(name);
    }
  }

  touch(key: LogKey): Promise<void> {
    const log = this.#logs.get(nameOf(key));
    if (log !== undefined) this.#postpone(log);
    return Promise.resolve();
  }

  #postpone(log: Log): void {
    if (log.state === "open") log.expiresAtMs = Date.now() + this.#openKeepMs;
  }

  memory(): Promise<null> {
    return Promise.resolve(null);
  }

  ping(): Promise<void> {
    return Promise.resolve();
  }

  close(): Promise<void> {
    clearInterval(this.#sweeper);
    this.#closed = true;
    for (const log of this.#logs.values()) wakeAll(log);
    this.#logs.clear();
    return Promise.resolve();
  }

  #open(name: string): Log {
    let log = this.#logs.get(name);
    if (log === undefined) {
      log = {
        batches: [],
        wakers: new Set(),
        state: "open",
        tail: 0,
        by: 0,
        chars: 0,
        expiresAtMs: Date.now() + this.#openKeepMs,
      };
      this.#logs.set(name, log);
    }
    return log;
  }

  #addChars(log: Log, chars: number): void {
    log.chars += chars;
    this.#chars += chars;
  }

  /** Drops the oldest batches of a log that is too long; the last one stays. */
  #trim(log: Log): void {
    const goal = this.#logBytesMax * (1 - relayTrimPart);
    let dropped = 0;
    for (let chars = log.chars; chars > goal && dropped < log.batches.length - 1; dropped++)
      chars -= charsOf(log.batches[dropped] as Batch);
    for (const batch of log.batches.splice(0, dropped)) this.#addChars(log, -charsOf(batch));
  }

  #drop(name: string, log: Log): void {
    this.#logs.delete(name);
    this.#chars -= log.chars;
  }

  /** Drops expired logs, except those that have a reader. */
  #sweep(): void {
    const now = Date.now();
    for (const [name, log] of this.#logs) {
      if (log.expiresAtMs <= now && log.wakers.size === 0) this.#drop(name, log);
    }
  }

  /** Drops logs that are closed and have no reader, oldest first, until the rest is within the limit; their turns are stored. */
  #evict(): void {
    for (const [name, log] of this.#logs) {
      if (this.#chars <= this.#charsMax) return;
      if (log.state !== "open" && log.wakers.size === 0) this.#drop(name, log);
    }
  }
}

function charsOf(batch: Batch): number {
  return batch.sse.length + relayEntryBytes;
}

function nameOf(key: LogKey): string {
  return `${key.logId}:${key.attempt}`;
}

function wakeAll(log: Log): void {
  for (const wake of log.wakers) wake();
}

/** Returns what a follower that waits for event `next` gets now; null when it has to wait on. */
function stepFrom(log: Log, next: number): Followed | null {
  if (next <= log.tail) {
    if (next < (log.batches[0] as Batch).first) return { type: "lost" };
    const batch = dropBefore(log.batches[indexOf(log.batches, next)]!, next)!;
    return { type: "batch", batch };
  }
  if (log.state === "sealed") return { type: "sealed" };
  if (next > log.tail + 1) return { type: "lost" };
  return log.state === "ended" ? { type: "end" } : null;
}

/** Returns the index of the batch with event `next`, which the log has. */
function indexOf(batches: readonly Batch[], next: number): number {
  let low = 0;
  let high = batches.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (batches[middle]!.first <= next) low = middle;
    else high = middle - 1;
  }
  return low;
}
