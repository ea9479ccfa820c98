import { clearInterval, setInterval } from "node:timers";
import { Cluster, type Redis, type RedisOptions } from "ioredis";
import { within } from "../async/wait.ts";
import { Append, Appends, type SendAppends } from "./appends.ts";
import { bySlot, ClusterSubscriptions } from "./cluster-subscriptions.ts";
import type { LogCursor, LogPage } from "./cursor.ts";
import { RelayReach } from "./reach.ts";
import { parseRedisUrl } from "./redis-address.ts";
import { type ConnectionOptions, openRedis } from "./redis-connection.ts";
import { type RelayMemory, readRedisMemory } from "./redis-memory.ts";
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
  relayCheckMs,
  relayChunkMax,
  relayCommandTimeoutMs,
  relayHeartbeatMs,
  relayKeepMs,
  relayLogBytesMax,
  relayLostGraceMs,
  relayOpenKeepMs,
  relayPingTimeoutMs,
  relayReconnectMsMax,
  relayReconnectMsMin,
  relayTryMs,
  type Sealed,
} from "./relay.ts";
import {
  appendScript,
  checkScript,
  eraseScript,
  fenceScript,
  isMark,
  logName,
  type Mark,
  parseEntry,
  sealScript,
  sharded,
} from "./scripts.ts";
import { type LogSubscriptions, Subscriptions } from "./subscriptions.ts";

/** The options of a relay on Redis. */
export interface RedisRelayOptions {
  /** What `REDIS_URL` may be (`parseRedisUrl`). */
  readonly url: string;
  /** Keys and channels begin with it; `parley:` when left out. */
  readonly prefix?: string;
  /** How long a log is kept after its end, in milliseconds; `relayKeepMs` when left out. */
  readonly keepMs?: number;
  /** How long a log without an end is kept, in milliseconds; `relayOpenKeepMs` when left out. */
  readonly openKeepMs?: number;
  /** The most bytes of a log; `relayLogBytesMax` when left out. */
  readonly logBytesMax?: number;
  /** How long followers wait for a dropped connection, in milliseconds; `relayLostGraceMs` when left out. */
  readonly lostGraceMs?: number;
  /** Called with every connection error and every write that failed; the relay reconnects by itself. */
  readonly onError?: (error: Error) => void;
}

interface Scripts {
  relayAppend(logs: number, ...args: (string | number)[]): Promise<unknown>;
  relaySeal(key: string, openKeepMs: number): Promise<unknown>;
  relayFence(key: string, claim: number, openKeepMs: number): Promise<unknown>;
  relayErase(key: string, keepMs: number): Promise<unknown>;
  relayCheck(key: string, openKeepMs: number): Promise<unknown>;
}

/**
 * A failed command is repeated by its caller, who knows whether that is safe, so the
 * client repeats nothing: what is under way when a connection drops is rejected at once.
 */
const connectionOptions: ConnectionOptions = {
  lazyConnect: true,
  autoResubscribe: false,
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
  commandTimeout: relayCommandTimeoutMs,
  socketTimeout: relayCommandTimeoutMs,
  connectTimeout: relayCommandTimeoutMs,
  retryStrategy: (attempt) => Math.min(relayReconnectMsMin * 2 ** (attempt - 1), relayReconnectMsMax),
};

function scriptsFor(isCluster: boolean): NonNullable<RedisOptions["scripts"]> {
  const lua = (text: string) => ({ lua: isCluster ? sharded(text) : text });
  return {
    relayAppend: lua(appendScript),
    relaySeal: { ...lua(sealScript), numberOfKeys: 1 },
    relayFence: { ...lua(fenceScript), numberOfKeys: 1 },
    relayErase: { ...lua(eraseScript), numberOfKeys: 1 },
    relayCheck: { ...lua(checkScript), numberOfKeys: 1 },
  };
}

/** A database that never failed over is in this epoch, and names no other in its keys. */
const firstEpoch = "1";

/** The relay on Redis: two connections per process (two for each node of a cluster), whatever the number of logs and followers. */
export class RedisRelay implements Relay {
  readonly #commands: (Redis | Cluster) & Scripts;
  readonly #appends: Appends;
  readonly #reach: RelayReach;
  readonly #subscriptions: LogSubscriptions;
  readonly #basePrefix: string;
  #prefix: string;
  readonly #openKeepMs: number;
  readonly #timers: readonly NodeJS.Timeout[];

  /** Connects when it is first used; nothing here throws for a Redis that is away. */
  constructor({
    url,
    prefix = "parley:",
    keepMs = relayKeepMs,
    openKeepMs = relayOpenKeepMs,
    logBytesMax = relayLogBytesMax,
    lostGraceMs = relayLostGraceMs,
    onError = () => {},
  }: RedisRelayOptions) {
    this.#basePrefix = prefix;
    this.#prefix = prefix;
    this.#openKeepMs = openKeepMs;
    const isCluster = parseRedisUrl(url).kind === "cluster";
    const connectionName = "parley-relay";
    const commands = openRedis(url, { ...connectionOptions, connectionName, scripts: scriptsFor(isCluster) });
    this.#commands = commands as (Redis | Cluster) & Scripts;
    commands.on("error", onError);
    const listening = { ...connectionOptions, connectionName: "parley-relay-subscriber", enableOfflineQueue: false };
    if (commands instanceof Cluster) this.#subscriptions = new ClusterSubscriptions(commands, listening);
    else {
      const subscriber = openRedis(url, listening) as Redis;
      subscriber.on("error", onError);
      this.#subscriptions = new Subscriptions(subscriber, lostGraceMs);
    }
    this.#reach = new RelayReach(() => this.#commands.set(`${prefix}tried`, 1, "PX", openKeepMs), onError);
    const send: SendAppends = (names, fields) =>
      this.#commands.relayAppend(names.length, ...names, openKeepMs, keepMs, logBytesMax, ...fields);
    this.#appends = new Appends(isCluster ? inSlots(send) : send, this.#reach);
    this.#timers = [
      setInterval(() => this.#subscriptions.beat(), relayHeartbeatMs).unref(),
      setInterval(() => this.#try(), relayTryMs).unref(),
      setInterval(() => void this.#checkFollowed(), Math.min(relayCheckMs, openKeepMs / 2)).unref(),
    ];
  }

  /**
   * From now on logs are those of this epoch of the database; those of another one are as if they were lost,
   * and are written again by who still has them.
   */
  setEpoch(epoch: string): void {
    const prefix = epoch === firstEpoch ? this.#basePrefix : `${this.#basePrefix}${epoch}:`;
    if (prefix === this.#prefix) return;
    this.#prefix = prefix;
    for (const { cursors } of this.#subscriptions.followed.values()) for (const cursor of cursors) cursor.lose();
  }

  append(key: LogKey, batch: Appending, onSent?: OnSent): Promise<Appended> {
    return this.#append(key, batch, false, onSent);
  }

  end(key: LogKey, last: Batch | null): Promise<Appended> {
    return this.#append(key, last ?? { first: 1, count: 0, sse: "" }, true);
  }

  async #append(key: LogKey, batch: Appending, ends: boolean, onSent: OnSent = () => {}): Promise<Appended> {
    const name = logName(this.#prefix, key);
    let rest: Appending | null = batch;
    while (rest !== null) {
      const append = new Append({ name, ends, claim: key.claim ?? key.attempt }, rest, onSent);
      const result = await this.#appends.add(append);
      if (typeof result !== "number") return result as Appended;
      // It is the number of the log's last event, which is inside the batch: the rest is sent again, shorter each time.
      rest = dropBefore(append.batch, result + 1);
    }
    return "ok";
  }

  async seal(key: LogKey): Promise<Sealed> {
    return (await this.#commands.relaySeal(logName(this.#prefix, key), this.#openKeepMs)) as Sealed;
  }

  async fence(key: LogKey, claim: number): Promise<Fenced> {
    const name = logName(this.#prefix, key);
    const [state, tail] = (await this.#commands.relayFence(name, claim, this.#openKeepMs)) as [Fenced["state"], number];
    return { state, tail: Number(tail) };
  }

  async *follow(
    key: LogKey,
    from: number,
    signal: AbortSignal,
    isNew = false,
  ): AsyncGenerator<Followed, void, undefined> {
    if (signal.aborted) return;
    this.#reach.trySoon();
    const name = logName(this.#prefix, key);
    const known = this.#subscriptions.known();
    if (known !== null) await known;
    if (signal.aborted) return;
    const cursor = this.#subscriptions.join(name, Math.max(from, 1), isNew);
    const wake = () => cursor.wake();
    signal.addEventListener("abort", wake, { once: true });
    try {
      while (!signal.aborted) {
        const step = cursor.take();
        if (step !== null) {
          yield step;
          if (step.type !== "batch") return;
          continue;
        }
        if (cursor.stale) void this.#read(name, cursor);
        await cursor.woken();
      }
    } finally {
      signal.removeEventListener("abort", wake);
      this.#subscriptions.leave(name, cursor);
    }
  }

  async #read(name: string, cursor: LogCursor): Promise<void> {
    cursor.startRead();
    try {
      cursor.endRead(await this.#page(name, cursor.next, cursor.pageEntries));
    } catch {
      cursor.endRead(null);
    }
  }

  /** Returns the log's page from event `next` on; null when the log does not reach there. */
  async #page(name: string, next: number, count: number): Promise<LogPage | null> {
    const entries = (await this.#commands.xrange(name, next, "+", "COUNT", count)).map(parseEntry);
    const [head] = entries;
    if (head === undefined && next === 1) return { batch: null, mark: null, entries: 0, more: false };
    if (head !== undefined && !isMark(head) && head.first === next) return merge(head, entries, count);
    if (head !== undefined && isMark(head) && head.tail < next)
      return { batch: null, mark: head, entries: 1, more: false };
    return this.#pageAround(name, next);
  }

  /** Returns the page of an event that begins no entry: it is inside one, or is still to come. Null: it is neither. */
  async #pageAround(name: string, next: number): Promise<LogPage | null> {
    const [entry] = (await this.#commands.xrevrange(name, next, "-", "COUNT", 1)).map(parseEntry);
    if (entry === undefined || isMark(entry) || lastOf(entry) < next - 1) return null;
    const batch = entry.count === 0 ? null : dropBefore(entry, next);
    return { batch, mark: null, entries: 1, more: batch !== null };
  }

  async erase(keys: readonly LogKey[]): Promise<void> {
    for (let start = 0; start < keys.length; start += relayChunkMax) {
      const names = keys.slice(start, start + relayChunkMax).map((key) => logName(this.#prefix, key));
      await Promise.all(names.map((name) => this.#commands.relayErase(name, this.#openKeepMs)));
    }
  }

  async touch(key: LogKey): Promise<void> {
    await this.#commands.relayCheck(logName(this.#prefix, key), this.#openKeepMs);
  }

  get away(): boolean {
    return this.#reach.away;
  }

  async ping(): Promise<void> {
    await within(this.#reach.try(), relayPingTimeoutMs, () => {
      throw new Error(`Redis did not respond within ${relayPingTimeoutMs} ms.`);
    });
  }

  memory = (): Promise<RelayMemory> => readRedisMemory(this.#commands);

  close(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer);
    this.#subscriptions.close();
    this.#commands.disconnect();
    return Promise.resolve();
  }

  /** Finds a Redis that refuses writes in a process that writes nothing itself, and one that takes them again. */
  #try(): void {
    if (this.#reach.away || this.#subscriptions.size > 0) this.#reach.trySoon();
  }

  /** Keeps followed logs from expiring, and finds publications that did not reach this process. */
  async #checkFollowed(): Promise<void> {
    const names = [...this.#subscriptions.followed.keys()];
    for (let start = 0; start < names.length; start += relayChunkMax) {
      await Promise.all(names.slice(start, start + relayChunkMax).map((name) => this.#check(name)));
    }
  }

  async #check(name: string): Promise<void> {
    // When it fails, the connection breaks, and `Subscriptions` handles that for every follower.
    const tail = await this.#commands.relayCheck(name, this.#openKeepMs).catch(() => null);
    for (const cursor of this.#subscriptions.followed.get(name)?.cursors ?? []) {
      if (tail !== null && tail !== cursor.next - 1) cursor.force();
    }
  }
}

/** Returns a function that sends appends a command for each slot: a node refuses one for several. A slot whose node is away fails alone. */
function inSlots(send: SendAppends): SendAppends {
  return async (names, fields) => {
    const each = fields.length / names.length;
    const results: unknown[] = [];
    const sendGroup = async (places: readonly number[]) => {
      const ofGroup = await send(
        places.map((place) => names[place] as string),
        places.flatMap((place) => fields.slice(place * each, (place + 1) * each)),
      ).catch((error: Error) => places.map(() => `error: ${error.message}`));
      for (const [index, place] of places.entries()) results[place] = (ofGroup as unknown[])[index];
    };
    await Promise.all([...bySlot(names)].map(sendGroup));
    return results;
  };
}

/** Returns one page of entries that follow each other; only the last can be a mark. */
function merge(head: Batch, entries: readonly (Batch | Mark)[], asked: number): LogPage {
  let count = 0;
  let sse = "";
  let mark: Mark | null = null;
  for (const entry of entries) {
    if (isMark(entry)) {
      mark = entry;
      break;
    }
    count += entry.count;
    sse += entry.sse;
  }
  const more = mark === null && entries.length === asked;
  // An entry without events is where the log went over to another claim.
  return { batch: count === 0 ? null : { first: head.first, count, sse }, mark, entries: entries.length, more };
}
