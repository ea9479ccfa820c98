import { clearTimeout, setImmediate, setTimeout } from "node:timers";
import type { Redis } from "ioredis";
import { LogCursor } from "./cursor.ts";
import { noteLag } from "./lag.ts";
import { relayChunkMax } from "./relay.ts";
import { isMark, parseMessage } from "./scripts.ts";

/** The followers of one log in this process. They share one subscription. */
interface Subscription {
  readonly name: string;
  readonly cursors: Set<LogCursor>;
  subscribed: boolean;
}

/** Followed logs, and how far each follower has come. */
export type FollowedLogs = ReadonlyMap<string, { readonly cursors: ReadonlySet<LogCursor> }>;

/** Where followers hear of their logs. */
export interface LogSubscriptions {
  /** Returns a cursor on the log. It reads the log once the subscription is confirmed, so that no publication can be missed. */
  join(name: string, from: number, isNew?: boolean): LogCursor;
  /** Removes the cursor, and with the last one the subscription. */
  leave(name: string, cursor: LogCursor): void;
  /** Resolves when logs can be joined; null: now. */
  known(): Promise<void> | null;
  /** How many logs are followed. */
  readonly size: number;
  readonly followed: FollowedLogs;
  /** Pings connections that are used: one that only listens would not notice that it is dead. */
  beat(): void;
  /** Every follower gets `lost`, and the connections are closed. */
  close(): void;
}

/** Subscriptions without followers are collected for this long and ended together. */
const unsubscribeEveryMs = 20;

/**
 * The subscriptions of a process, all on one connection. They are ended shortly
 * after the last follower has left, many at a time; a follower that comes before that
 * uses the subscription that is still there. SUBSCRIBE and UNSUBSCRIBE are sent in the
 * order in which they are decided on, and Redis executes them in that order. After a
 * reconnect everything is subscribed again.
 */
export class Subscriptions implements LogSubscriptions {
  readonly #redis: Redis;
  readonly #isSharded: boolean;
  readonly #lostGraceMs: number;
  readonly #subscriptions = new Map<string, Subscription>();
  /** What the next SUBSCRIBE is for: followers of turns that were accepted together come in one turn of the event loop. */
  #joining: Subscription[] = [];
  /** Names that are subscribed and have no follower. */
  readonly #leaving = new Set<string>();
  #unsubscribing: NodeJS.Timeout | null = null;
  #up = false;
  /** Counts the connections, to recognise a response that belongs to a dropped one. */
  #connection = 0;
  /** Disconnected for longer than `lostGraceMs`: followers that come now get `lost` at once. */
  #away = false;
  #grace: NodeJS.Timeout | null = null;

  /** `redis` is used for nothing else, connects lazily, and leaves resubscribing to this class. Followers wait `lostGraceMs` for a dropped connection. `isSharded`: it is a node of a cluster. */
  constructor(redis: Redis, lostGraceMs: number, isSharded = false) {
    this.#redis = redis;
    this.#isSharded = isSharded;
    this.#lostGraceMs = lostGraceMs;
    redis.on("ready", () => this.#onReady());
    redis.on("close", () => this.#onClose());
    redis.on(isSharded ? "smessage" : "message", (name: string, message: string) => {
      const subscription = this.#subscriptions.get(name);
      if (subscription === undefined) return;
      const item = parseMessage(message);
      if (!isMark(item)) noteLag(item);
      for (const cursor of subscription.cursors) cursor.publish(item);
    });
  }

  join(name: string, from: number, isNew = false): LogCursor {
    const cursor = new LogCursor(from, isNew);
    if (this.#away) {
      cursor.lose();
      return cursor;
    }
    let subscription = this.#subscriptions.get(name);
    if (subscription === undefined) {
      subscription = { name, cursors: new Set(), subscribed: this.#leaving.delete(name) };
      this.#subscriptions.set(name, subscription);
      if (!this.#up) this.#connect();
      else if (!subscription.subscribed) this.#subscribeSoon(subscription);
    }
    subscription.cursors.add(cursor);
    if (subscription.subscribed) cursor.confirm();
    return cursor;
  }

  leave(name: string, cursor: LogCursor): void {
    const subscription = this.#subscriptions.get(name);
    if (subscription === undefined || !subscription.cursors.delete(cursor) || subscription.cursors.size > 0) return;
    this.#subscriptions.delete(name);
    if (!this.#up) return;
    this.#leaving.add(name);
    // The next follower must not take a subscription for confirmed that Redis has not confirmed yet, so it is ended at once.
    if (!subscription.subscribed || this.#leaving.size >= relayChunkMax) this.#unsubscribe();
    else this.#unsubscribing ??= setTimeout(() => this.#unsubscribe(), unsubscribeEveryMs).unref();
  }

  #subscribeSoon(subscription: Subscription): void {
    if (this.#joining.length === 0) setImmediate(() => this.#subscribeJoining());
    this.#joining.push(subscription);
    if (this.#joining.length >= relayChunkMax) this.#subscribeJoining();
  }

  #subscribeJoining(): void {
    const joining = this.#joining;
    this.#joining = [];
    if (joining.length > 0) void this.#subscribe(joining);
  }

  #unsubscribe(): void {
    // A follower that has left again must not be subscribed behind this.
    this.#subscribeJoining();
    if (this.#unsubscribing !== null) clearTimeout(this.#unsubscribing);
    this.#unsubscribing = null;
    const names = [...this.#leaving];
    this.#leaving.clear();
    // When the connection fails here, its subscriptions end with it.
    if (this.#up && names.length > 0) this.#end(names).catch(() => {});
  }

  /** A node takes a command for channels of one slot only; those of several are sent together all the same. */
  #begin(names: readonly string[]): Promise<unknown> {
    if (!this.#isSharded) return this.#redis.subscribe(...names);
    return Promise.all(names.map((name) => this.#redis.ssubscribe(name)));
  }

  #end(names: readonly string[]): Promise<unknown> {
    if (!this.#isSharded) return this.#redis.unsubscribe(...names);
    return Promise.all(names.map((name) => this.#redis.sunsubscribe(name)));
  }

  known(): null {
    return null;
  }

  get size(): number {
    return this.#subscriptions.size;
  }

  get followed(): FollowedLogs {
    return this.#subscriptions;
  }

  beat(): void {
    if (this.#subscriptions.size > 0) this.#redis.ping().catch(() => {});
  }

  close(): void {
    this.#loseAll();
    this.#redis.disconnect();
  }

  /** Every follower gets `lost`, and so does every one that comes until the connection is back. */
  #loseAll(): void {
    this.#away = true;
    this.#stopGrace();
    const subscriptions = [...this.#subscriptions.values()];
    this.#subscriptions.clear();
    for (const subscription of subscriptions) for (const cursor of subscription.cursors) cursor.lose();
  }

  #connect(): void {
    if (this.#redis.status === "wait") this.#redis.connect().catch(() => {});
    this.#startGrace();
  }

  #onReady(): void {
    this.#up = true;
    this.#away = false;
    this.#stopGrace();
    this.#joining = [];
    const subscriptions = [...this.#subscriptions.values()];
    // All at once, without waiting between the chunks: a name must not be subscribed after its UNSUBSCRIBE was sent.
    for (let start = 0; start < subscriptions.length; start += relayChunkMax) {
      void this.#subscribe(subscriptions.slice(start, start + relayChunkMax));
    }
  }

  #onClose(): void {
    this.#up = false;
    this.#leaving.clear();
    this.#joining = [];
    this.#connection++;
    for (const subscription of this.#subscriptions.values()) subscription.subscribed = false;
    if (!this.#away) this.#startGrace();
  }

  async #subscribe(subscriptions: readonly Subscription[]): Promise<void> {
    const connection = this.#connection;
    try {
      await this.#begin(subscriptions.map((subscription) => subscription.name));
    } catch {
      // A dropped connection subscribes again when it is back; a refusal does not.
      if (connection !== this.#connection || this.#redis.status !== "ready") return;
      for (const subscription of subscriptions) this.#lose(subscription);
      return;
    }
    if (connection !== this.#connection) return;
    for (const subscription of subscriptions) {
      subscription.subscribed = true;
      for (const cursor of subscription.cursors) cursor.confirm();
    }
  }

  #lose(subscription: Subscription): void {
    if (this.#subscriptions.get(subscription.name) === subscription) this.#subscriptions.delete(subscription.name);
    for (const cursor of subscription.cursors) cursor.lose();
  }

  #startGrace(): void {
    this.#grace ??= setTimeout(() => this.#loseAll(), this.#lostGraceMs).unref();
  }

  #stopGrace(): void {
    if (this.#grace !== null) clearTimeout(this.#grace);
    this.#grace = null;
  }
}
