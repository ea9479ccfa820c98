import type { RelayMemory } from "./redis-memory.ts";
/**
 * The relay: the turn logs, each with the chunks of a running turn, written by the
 * worker that runs it and read by everyone who follows. One log per attempt of a turn (one
 * that goes on where another stopped goes on with its log); its events are numbered 1, 2, 3 … without gaps, and are formatted as SSE text
 * once, by the writer. A log has a bound, beyond which its oldest events are dropped. Losing the relay costs live tokens, never a turn.
 */

/** A log is kept this long after its end, read or not, in milliseconds. */
export const relayKeepMs = 300 * 1000;
/** A log without an end expires this long after its last append, touch or check for a follower, in milliseconds. */
export const relayOpenKeepMs = 300 * 1000;
/**
 * The most bytes of a log. Of a longer one the oldest events are dropped: who follows it
 * live goes on, who comes later finds its beginning `lost`, and gets the stored answer.
 */
export const relayLogBytesMax = 16 * 1024 * 1024;
/** Trimming removes this part of a full log at a time, so that it is done now and then only. */
export const relayTrimPart = 1 / 8;
/** What one entry of a log takes beside its events, about, in bytes. */
export const relayEntryBytes = 100;
/** A writer cuts its batches at this many bytes; a larger chunk is a batch by itself. */
export const relayBatchBytesMax = 64 * 1024;
/** One command appends to at most this many logs, and this many characters of their batches: some milliseconds of Redis' time. */
export const relayGroupMax = 500;
export const relayGroupCharsMax = 256 * 1024;
/** A writer with more unsent bytes than this asks its caller to wait. */
export const relayQueueBytesMax = 1024 * 1024;
/** The shortest and longest pause between a writer's attempts to reach a relay that is away, in milliseconds. */
export const relayRetryMsMin = 50;
export const relayRetryMsMax = 1_000;
/** A writer that has ended tries this long to get the end mark into the relay, in milliseconds. */
export const relayEndWaitMs = 20_000;
/** Writers that have ended and still try keep at most this many bytes together; a further one is given up at once. */
export const relayEndingBytesMax = 64 * 1024 * 1024;
/** How often a writer without new chunks checks that its log is there and not sealed, in milliseconds. */
export const relayProbeMs = 5_000;

/** The first page of a backfill has at most this many entries (each at most one batch). */
export const relayPageEntriesMin = 16;
/** Later pages have as many entries as the size of the last ones allows, up to this many. */
export const relayPageEntriesMax = 512;
/** A backfill page aims at this many characters. */
export const relayPageChars = 256 * 1024;

/** `Relay.ping` rejects after this long, in milliseconds. */
export const relayPingTimeoutMs = 1_000;
/** A command without a response after this long has failed, and so has a connection on which nothing comes, in milliseconds. */
export const relayCommandTimeoutMs = 2_000;
/** The shortest and longest pause between attempts to connect to Redis, in milliseconds. */
export const relayReconnectMsMin = 50;
export const relayReconnectMsMax = 1_000;
/** Followers wait this long for a dropped connection to come back before they get `lost`, in milliseconds. */
export const relayLostGraceMs = 15_000;
/** How often the subscriber connection is pinged, in milliseconds. */
export const relayHeartbeatMs = 2_000;
/** How often it is tried whether Redis takes writes, while somebody follows a log or it did not the last time, in milliseconds. */
export const relayTryMs = 1_000;
/** A follower that comes has it tried when the last time is longer ago than this, in milliseconds. */
export const relayTriedMs = 250;
/** How often followed logs are checked, for a publication that went missing and against expiry, in milliseconds. */
export const relayCheckMs = 15_000;
/** A follower of a new log reads it when nothing was published for this long, in milliseconds. */
export const relayNewLogMs = 100;
/** At most this many logs are checked, or channels subscribed, at a time. */
export const relayChunkMax = 500;

/** The in-process relay drops ended, unread logs, oldest first, when all logs together exceed this many characters. */
export const relayMemoryCharsMax = 256 * 1024 * 1024;

/** One log: the turn or the continuation whose chunks it holds, and the claim that began it. */
export interface LogKey {
  readonly logId: string;
  readonly attempt: number;
  /** Who writes it, where that is a later claim than the one that began it (`Relay.fence`). */
  readonly claim?: number;
  /** An earlier log of it was lost with what readers had seen, so the events of this one have other names. */
  readonly afterLoss?: boolean;
}

/**
 * `count` events, numbered `first` … `first + count - 1`, formatted as SSE
 * text: each `id: <name>:<n>\ndata: <json>\n\n` (`eventNameOf`).
 */
export interface Batch {
  readonly first: number;
  readonly count: number;
  readonly sse: string;
  /** When its first chunk was made, by its writer's clock; to measure the relay's lag. Absent in a part of a batch, so that each is measured once. */
  readonly madeAtMs?: number;
}

/** A batch, or what makes it, called once at the moment when it is sent: what comes until then is in it. */
export type Appending = Batch | (() => Batch);

/** Called when a batch was sent, before the relay says what became of it: a process that ends from then on has appended it. */
export type OnSent = () => void;

/**
 * `ok`: it is in the log. `sealed`: the log was sealed or ended before, nothing
 * was written. `lost`: the log's beginning is missing (Redis restarted empty, the
 * log expired), nothing was written; write it again from event 1.
 */
export type Appended = "ok" | "sealed" | "lost";

/** A log that goes over to a later claim: its last event, and whether it can still be written. */
export interface Fenced {
  readonly tail: number;
  readonly state: "open" | "ended" | "sealed";
}

/** What was in the log when it was sealed: no event, at least one, or a complete log with its end mark. */
export type Sealed = "empty" | "shown" | "ended";

/**
 * What a follower receives. `batch`: the next events. `end`: the log is complete.
 * `sealed`: the writer was cut off, no more will come. `lost`: the relay cannot
 * give the sequence now.
 */
export type Followed =
  | { readonly type: "batch"; readonly batch: Batch }
  | { readonly type: "end" }
  | { readonly type: "sealed" }
  | { readonly type: "lost" };

/** A place to keep logs. Two implementations, one conformance suite. */
export interface Relay {
  /**
   * Appends a batch. Idempotent by event number: events that are in the log
   * already are skipped, so an append whose result was lost can be repeated. A
   * batch of no events (`count` 0) writes nothing, checks that the log reaches
   * `first - 1` and postpones its expiry. Rejects when the relay is away; whether
   * the events were written is then unknown.
   */
  append(key: LogKey, batch: Appending, onSent?: OnSent): Promise<Appended>;
  /**
   * Appends the last batch and the end mark in one step. A last batch of no
   * events still makes sure that the log is complete; `null` ends the log as it
   * is. Returns `ok` again when repeated. Rejects when the relay is away.
   */
  end(key: LogKey, last: Batch | null): Promise<Appended>;
  /**
   * Seals the log: every later append or end returns `sealed`, as long as the
   * log is kept. Sealing and the result are one atomic step, and idempotent: the
   * result is the same each time. An ended log stays ended and returns `ended`. Rejects when the relay
   * is away.
   */
  seal(key: LogKey): Promise<Sealed>;
  /**
   * Gives the log over to a claim: from now on it is written by this one and later ones, and
   * every append or end of an earlier one returns `sealed`. That is one atomic step of the
   * same cost however long the log is, and idempotent; followers notice nothing. A log that
   * does not exist is begun. Rejects when the relay is away.
   */
  fence(key: LogKey, claim: number): Promise<Fenced>;
  /**
   * Yields everything from event number `from` on, in order, once, then live,
   * until `end`, `sealed` or `lost`; then returns. Batches may be cut otherwise
   * than they were appended. A log that does not exist yet is waited for when
   * `from` is 1; a log that does not reach `from - 1`, or of which event `from` was
   * dropped because it is too long, is `lost`. Stops at once
   * when the signal aborts. Never throws: a relay that is away is `lost`, and
   * `follow` may be called again. `isNew` says that the log has probably no
   * events yet, which saves a read of it; it may be wrong.
   */
  follow(key: LogKey, from: number, signal: AbortSignal, isNew?: boolean): AsyncIterable<Followed>;
  /**
   * Removes what some logs hold. A log that exists stays behind sealed and without events
   * until it expires, so that a writer that was thought to be lost cannot write it anew.
   * Idempotent. Rejects when the relay is away; some may be erased then.
   */
  erase(keys: readonly LogKey[]): Promise<void>;
  /** Postpones the expiry of a log that has not ended. Does nothing when there is no such log. Rejects when the relay is away. */
  touch(key: LogKey): Promise<void>;
  /** Whether the relay takes nothing now, as far as this process knows: it is not reached, or refuses what is written. */
  readonly away: boolean;
  /** Rejects within `relayPingTimeoutMs` when the relay is away, or takes no writes. */
  ping(): Promise<void>;
  /** Returns what the store of the relay takes of its memory; null where the relay is of this process. Rejects when it is away. */
  memory(): Promise<RelayMemory | null>;
  /** Leaves logs of another epoch of the database alone (`followEpoch`); a relay that ends with its process has none. */
  setEpoch(epoch: string): void;
  /** Ends every follower with `lost` and closes the connections. */
  close(): Promise<void>;
}

/** Returns the name under which a log's events are numbered. */
export function eventNameOf({ logId, attempt, afterLoss = false }: LogKey): string {
  return afterLoss ? `${logId}.${attempt}` : logId;
}

/** Returns one event as SSE text. `chunk` is any JSON value; JSON has no raw line break, so one `data` line holds it. */
export function formatEvent(name: string, number: number, chunk: unknown): string {
  return `id: ${name}:${number}\ndata: ${JSON.stringify(chunk)}\n\n`;
}

/** Returns the chunks of events, which `formatEvent` made. */
export function chunksOfEvents(sse: string): unknown[] {
  const lines = sse.split("\n").filter((line) => line.startsWith("data: "));
  return lines.map((line) => JSON.parse(line.slice("data: ".length)) as unknown);
}

/** Returns the number of a batch's last event; `first - 1` when it has none. */
export function lastOf(batch: Batch): number {
  return batch.first + batch.count - 1;
}

/** Returns the part of a batch from event number `from` on; null when nothing is left. */
export function dropBefore(batch: Batch, from: number): Batch | null {
  const dropped = from - batch.first;
  if (dropped <= 0) return batch;
  if (dropped >= batch.count) return null;
  let start = 0;
  for (let event = 0; event < dropped; event++) start = batch.sse.indexOf("\n\n", start) + 2;
  return { first: from, count: batch.count - dropped, sse: batch.sse.slice(start) };
}
