import { clearTimeout, setTimeout } from "node:timers";
import type { Redis } from "ioredis";
import { LogCursor } from "./cursor.ts";
import { noteLag } from "./lag.ts";
import { relayChunkMax, relayLostGraceMs } from "./relay.ts";
import { isMark, parseMessage } from "./scripts.ts";

/** The followers of one log in this process. They share one subscription. */
interface Feed {
  readonly name: string;
  readonly cursors: Set<LogCursor>;
  subscribed: boolean;
}

/** Subscriptions that nobody needs any more are ended together, those of this long. */
const unsubscribeEveryMs = 20;

/**
 * The subscriptions of a process, all on one connection. They are ended a moment
 * after the last follower left, many at a time; one that comes in that moment
 * finds its log subscribed still. SUBSCRIBE and UNSUBSCRIBE are sent in the order
 * in which they are decided on, and Redis obeys them in that order. After a
 * reconnect every feed is subscribed anew.
 */
export class Feeds {
  readonly #redis: Redis;
  readonly #feeds = new Map<string, Feed>();
  /** Names that are subscribed and followed by nobody. */
  readonly #leaving = new Set<string>();
  #unsubscribing: NodeJS.Timeout | null = null;
  #up = false;
  /** Counts the connections, so that an answer on a dropped one is told apart. */
  #connection = 0;
  /** Down for longer than the grace: followers that come now are lost at once. */
  #away = false;
  #grace: NodeJS.Timeout | null = null;

  /** `redis` is used for nothing else, connects lazily, and leaves resubscribing to this class. */
  constructor(redis: Redis) {
    this.#redis = redis;
    redis.on("ready", () => this.#onReady());
    redis.on("close", () => this.#onClose());
    redis.on("message", (name: string, message: string) => {
      const feed = this.#feeds.get(name);
      if (feed === undefined) return;
      const item = parseMessage(message);
      if (!isMark(item)) noteLag(item);
      for (const cursor of feed.cursors) cursor.publish(item);
    });
  }

  /** A cursor on the log, which reads it as soon as nothing published can be missed any more. */
  join(name: string, from: number, isNew = false): LogCursor {
    const cursor = new LogCursor(from, isNew);
    if (this.#away) {
      cursor.lose();
      return cursor;
    }
    let feed = this.#feeds.get(name);
    if (feed === undefined) {
      feed = { name, cursors: new Set(), subscribed: this.#leaving.delete(name) };
      this.#feeds.set(name, feed);
      if (!this.#up) this.#connect();
      else if (!feed.subscribed) void this.#subscribe([feed]);
    }
    feed.cursors.add(cursor);
    if (feed.subscribed) cursor.confirm();
    return cursor;
  }

  /** Takes the cursor away; the last one takes the subscription with it. */
  leave(name: string, cursor: LogCursor): void {
    const feed = this.#feeds.get(name);
    if (feed === undefined || !feed.cursors.delete(cursor) || feed.cursors.size > 0) return;
    this.#feeds.delete(name);
    if (!this.#up) return;
    this.#leaving.add(name);
    // One that Redis has not confirmed yet must not be found subscribed by who comes next.
    if (!feed.subscribed || this.#leaving.size >= relayChunkMax) this.#unsubscribe();
    else this.#unsubscribing ??= setTimeout(() => this.#unsubscribe(), unsubscribeEveryMs).unref();
  }

  #unsubscribe(): void {
    if (this.#unsubscribing !== null) clearTimeout(this.#unsubscribing);
    this.#unsubscribing = null;
    const names = [...this.#leaving];
    this.#leaving.clear();
    // A connection that fails here has no subscriptions to end.
    if (this.#up && names.length > 0) this.#redis.unsubscribe(...names).catch(() => {});
  }

  /** The followed logs and their cursors. */
  get followed(): ReadonlyMap<string, { readonly cursors: ReadonlySet<LogCursor> }> {
    return this.#feeds;
  }

  /** Every follower gets `lost`, and so does every one that comes until the connection is back. */
  loseAll(): void {
    this.#away = true;
    this.#stopGrace();
    const feeds = [...this.#feeds.values()];
    this.#feeds.clear();
    for (const feed of feeds) for (const cursor of feed.cursors) cursor.lose();
  }

  #connect(): void {
    if (this.#redis.status === "wait") this.#redis.connect().catch(() => {});
    this.#startGrace();
  }

  #onReady(): void {
    this.#up = true;
    this.#away = false;
    this.#stopGrace();
    const feeds = [...this.#feeds.values()];
    // All at once: a feed that is left while others wait must not be subscribed after its UNSUBSCRIBE.
    for (let start = 0; start < feeds.length; start += relayChunkMax) {
      void this.#subscribe(feeds.slice(start, start + relayChunkMax));
    }
  }

  #onClose(): void {
    this.#up = false;
    this.#leaving.clear();
    this.#connection++;
    for (const feed of this.#feeds.values()) feed.subscribed = false;
    if (!this.#away) this.#startGrace();
  }

  async #subscribe(feeds: readonly Feed[]): Promise<void> {
    const connection = this.#connection;
    try {
      await this.#redis.subscribe(...feeds.map((feed) => feed.name));
    } catch {
      // A dropped connection subscribes again when it is back; a refusal does not.
      if (connection !== this.#connection || this.#redis.status !== "ready") return;
      for (const feed of feeds) this.#lose(feed);
      return;
    }
    if (connection !== this.#connection) return;
    for (const feed of feeds) {
      feed.subscribed = true;
      for (const cursor of feed.cursors) cursor.confirm();
    }
  }

  #lose(feed: Feed): void {
    if (this.#feeds.get(feed.name) === feed) this.#feeds.delete(feed.name);
    for (const cursor of feed.cursors) cursor.lose();
  }

  #startGrace(): void {
    this.#grace ??= setTimeout(() => this.loseAll(), relayLostGraceMs).unref();
  }

  #stopGrace(): void {
    if (this.#grace !== null) clearTimeout(this.#grace);
    this.#grace = null;
  }
}
