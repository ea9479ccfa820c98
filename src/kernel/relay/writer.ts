import { Buffer } from "node:buffer";
import { clearInterval, clearTimeout, setInterval, setTimeout } from "node:timers";
import {
  type Appended,
  type Batch,
  eventNameOf,
  formatEvent,
  type LogKey,
  lastOf,
  type Relay,
  relayBatchBytesMax,
  relayEndingBytesMax,
  relayEndWaitMs,
  relayProbeMs,
  relayQueueBytesMax,
  relayRetryMsMax,
  relayRetryMsMin,
} from "./relay.ts";
import { WriteBuffer } from "./write-buffer.ts";

/** Bytes that writers of this process keep which have ended and still try. */
let endingBytes = 0;

/** The options of a writer. */
export interface RelayWriterOptions {
  /** Called once when a successor took over; the caller must stop. */
  readonly onSealed?: () => void;
  /** `relayBatchBytesMax` when left out. */
  readonly batchBytesMax?: number;
  /** `relayQueueBytesMax` when left out. */
  readonly queueBytesMax?: number;
  /** The most bytes that are kept to be written again; `relayLogBytesMax` when left out. */
  readonly keptBytesMax?: number;
  /** `relayProbeMs` when left out. */
  readonly probeMs?: number;
  /** Events that the log holds already, where this writer goes on with it; such a log is not written again when the relay loses it. */
  readonly held?: number;
}

/**
 * Writes one attempt's log. It keeps what it wrote until the end, up to a bound, so that a
 * log that vanished (Redis restarted empty) is written again from event 1, and it
 * never fails its turn: while the relay is away, chunks are collected here and the append
 * is repeated with growing pauses. Nothing here throws or rejects. A writer whose
 * `end` is not called must be closed.
 */
export class RelayWriter {
  readonly #relay: Relay;
  readonly #key: LogKey;
  readonly #eventName: string;
  readonly #text: WriteBuffer;
  readonly #queueBytesMax: number;
  readonly #onSealed: () => void;
  readonly #prober: NodeJS.Timeout;
  #running = false;
  #probing = false;
  #ending = false;
  #ended: Appended | null = null;
  #closed = false;
  #sealed = false;
  /** Attempts that failed since one succeeded. */
  #failures = 0;
  /** How often the log was found missing since it was complete last. */
  #rewrites = 0;
  #endResult: Promise<Appended | "away"> | null = null;
  /** The last event that was sent to the relay, whether it has it or not. */
  #sentUpTo = 0;
  /** Resolvers of the promises that wait for what becomes of the append under way. */
  #watchers: (() => void)[] = [];
  #endPause: (() => void) | null = null;

  constructor(relay: Relay, key: LogKey, options: RelayWriterOptions = {}) {
    this.#relay = relay;
    this.#key = key;
    this.#eventName = eventNameOf(key);
    this.#text = new WriteBuffer(options.batchBytesMax ?? relayBatchBytesMax, options);
    this.#queueBytesMax = options.queueBytesMax ?? relayQueueBytesMax;
    this.#onSealed = options.onSealed ?? (() => {});
    this.#prober = setInterval(() => this.#probe(), options.probeMs ?? relayProbeMs).unref();
  }

  /** Whether a successor took over, or another process ended the log: the caller must stop. Further chunks are dropped. */
  get sealed(): boolean {
    return this.#sealed;
  }

  /** How many events were written so far, those that the log held before included. */
  get written(): number {
    return this.#text.written;
  }

  /** Whether the last attempt to reach the relay failed, this writer's or another's, or the relay keeps losing the log, or it was given up. */
  get away(): boolean {
    return this.#relay.away || this.#failures > 0 || this.#rewrites > 1 || this.#text.isGivenUp;
  }

  /**
   * Formats and queues one chunk (any JSON value). Chunks that come while an
   * append is under way are collected into the next batch. Returns a promise only when
   * the queue is above its bound; it resolves when the relay has caught up, is
   * away, or is sealed. Chunks after `end` or `close` are dropped.
   */
  write(chunk: unknown): Promise<void> | undefined {
    if (this.#closed || this.#ending || this.#sealed) return undefined;
    this.#add(chunk);
    this.#run();
    return this.#full ? this.#drained() : undefined;
  }

  /**
   * Resolves when all that is written so far was sent to the relay, or cannot be (it is away, or the log
   * sealed). From then on it comes there without this process; that it did, `flush` waits for.
   */
  async sent(): Promise<void> {
    const upTo = this.#text.written;
    while (Math.max(this.#sentUpTo, this.#text.confirmed) < upTo && !this.away && !this.#stopped) await this.#outcome();
  }

  /** Resolves when all that is written so far is in the relay, or cannot be (the relay is away, or the log sealed). */
  async flush(): Promise<void> {
    const upTo = this.#text.written;
    while (this.#text.confirmed < upTo && !this.away && !this.#stopped) await this.#outcome();
  }

  /**
   * Flushes, then writes the last chunks and the end mark in one append. `away`:
   * the relay is, and followers learn of the end from Postgres; the writer goes on trying by itself
   * for `relayEndWaitMs`, so that who comes later finds the log. It closes itself.
   */
  end(lastChunks: readonly unknown[]): Promise<Appended | "away"> {
    this.#endResult ??= this.#end(lastChunks);
    return this.#endResult;
  }

  async #end(lastChunks: readonly unknown[]): Promise<Appended | "away"> {
    await this.flush();
    if (!this.#stopped) {
      for (const chunk of lastChunks) this.#add(chunk);
      this.#ending = true;
      this.#run();
      this.#endPause?.();
      while (this.#ended === null && !this.#stopped && !this.away) await this.#outcome();
    }
    if (this.#ended === null && !this.#stopped) void this.#goOn();
    else this.#close();
    return this.#ended ?? (this.#sealed ? "sealed" : "away");
  }

  /** Tries to get the end into a relay that is away. */
  async #goOn(): Promise<void> {
    const bytes = this.#text.keptBytes;
    endingBytes += bytes;
    const deadline = setTimeout(() => this.#close(), endingBytes > relayEndingBytesMax ? 0 : relayEndWaitMs).unref();
    while (this.#ended === null && !this.#stopped) await this.#outcome();
    clearTimeout(deadline);
    endingBytes -= bytes;
    this.#close();
  }

  /** Stops writing, for a turn that ends without `end`. An append that is under way may still arrive. */
  close(): void {
    if (this.#endResult === null) this.#close();
  }

  #close(): void {
    this.#closed = true;
    clearInterval(this.#prober);
    this.#endPause?.();
    this.#notifyWatchers();
  }

  get #stopped(): boolean {
    return this.#closed || this.#sealed || this.#text.isGivenUp;
  }

  get #full(): boolean {
    return this.#text.unsentBytes > this.#queueBytesMax && !this.away && !this.#stopped;
  }

  #add(chunk: unknown): void {
    const sse = formatEvent(this.#eventName, this.#text.written + 1, chunk);
    this.#text.add(sse, Buffer.byteLength(sse));
  }

  async #drained(): Promise<void> {
    while (this.#full) await this.#outcome();
  }

  #outcome(): Promise<void> {
    return new Promise((resolve) => this.#watchers.push(resolve));
  }

  #notifyWatchers(): void {
    const watchers = this.#watchers;
    this.#watchers = [];
    for (const resolve of watchers) resolve();
  }

  /** Checks, when no chunks come, that the log is there and not sealed. */
  #probe(): void {
    if (this.#running || this.#text.written === 0) return;
    this.#probing = true;
    this.#run();
  }

  #run(): void {
    if (this.#running) return;
    this.#running = true;
    void this.#sendAll();
  }

  async #sendAll(): Promise<void> {
    // Chunks written in the same step as the first one share its batch.
    await Promise.resolve();
    while (!this.#stopped && this.#ended === null && (this.#text.unsent || this.#probing || this.#ending)) {
      const result = await this.#send();
      this.#note(result);
      this.#notifyWatchers();
      // The first rewrite starts at once; a log that vanishes again and again is rewritten with pauses.
      if (this.away && result !== "ok") await this.#pause();
    }
    this.#running = false;
  }

  #note(result: Appended | "away"): void {
    this.#failures = result === "away" ? this.#failures + 1 : 0;
    if (result !== "ok") this.#sentUpTo = 0;
    if (result === "sealed") this.#seal();
    if (result === "lost") {
      this.#rewrites++;
      this.#text.rewind();
    }
    if (result === "ok" && !this.#text.unsent) this.#rewrites = 0;
  }

  /** Sends the next batch, the end, or an empty batch as a check. Returns the relay's result; `away` when it rejected. */
  async #send(): Promise<Appended | "away"> {
    // What is written until the relay sends is in the batch. Once the log ends, nothing more is written.
    const ends = this.#ending && this.#text.isOnLast;
    let batch: Batch | null = null;
    const next = () => {
      batch = this.#text.next();
      return batch;
    };
    const onSent = () => {
      if (batch !== null) this.#sentUpTo = lastOf(batch);
      this.#notifyWatchers();
    };
    try {
      const result = ends
        ? await this.#relay.end(this.#key, next())
        : await this.#relay.append(this.#key, next, onSent);
      if (result === "ok" && batch !== null) {
        this.#text.confirm(batch);
        this.#probing = false;
        if (ends) this.#ended = result;
      }
      return result;
    } catch {
      return "away";
    }
  }

  #seal(): void {
    this.#sealed = true;
    clearInterval(this.#prober);
    this.#onSealed();
  }

  async #pause(): Promise<void> {
    const doublings = Math.max(this.#failures, this.#rewrites) - 1;
    const pauseMs = Math.min(relayRetryMsMin * 2 ** doublings, relayRetryMsMax);
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, pauseMs);
      this.#endPause = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.#endPause = null;
  }
}
