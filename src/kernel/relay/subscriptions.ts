import { clearTimeout, setTimeout } from "node:timers";
import type { Redis } from "ioredis";
import { LogCursor } from "./cursor.ts";
import { noteLag } from "./lag.ts";
import { relayChunkMax, relayLostGraceMs } from "./relay.ts";
import { isMark, parseMessage } from "./scripts.ts";

/** The followers of one log in this process. They share one subscription. */
interface Subscription {
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
 * reconnect every subscription is subscribed anew.
 */
export class Subscriptions {
  readonly #redis: Redis;
  readonly #subscriptions = new Map<string, Subscription>();
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
      const subscription = this.#subscriptions.get(name);
      if (subscription === undefined) return;
      const item = parseMessage(message);
      if (!isMark(item)) noteLag(item);
      for (const cursor of subscription.cursors) cursor.publish(item);
    });
  }

  /** A cursor on the log, which reads it as soon as nothing published can be missed any more. */
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
      else if (!subscription.subscribed) void this.#subscribe([subscription]);
    }
    subscription.cursors.add(cursor);
    if (subscription.subscribed) cursor.confirm();
    return cursor;
  }

  /** Takes the cursor away; the last one takes the subscription with it. */
  leave(name: string, cursor: LogCursor): void {
    const subscription = this.#subscriptions.get(name);
    if (subscription === undefined || !subscription.cursors.delete(cursor) || subscription.cursors.size > 0) return;
    this.#subscriptions.delete(name);
    if (!this.#up) return;
    this.#leaving.add(name);
    // One that Redis has not confirmed yet must not be found subscribed by who comes next.
    if (!subscription.subscribed || this.#leaving.size >= relayChunkMax) this.#unsubscribe();
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
    return this.#subscriptions;
  }

  /** Every follower gets `lost`, and so does every one that comes until the connection is back. */
  loseAll(): void {
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
    const subscriptions = [...this.#subscriptions.values()];
    // All at once: a subscription that is left while others wait must not be subscribed after its UNSUBSCRIBE.
    for (let start = 0; start < subscriptions.length; start += relayChunkMax) {
      void this.#subscribe(subscriptions.slice(start, start + relayChunkMax));
    }
  }

  #onClose(): void {
    this.#up = false;
    this.#leaving.clear();
    this.#connection++;
    for (const subscription of this.#subscriptions.values()) subscription.subscribed = false;
    if (!this.#away) this.#startGrace();
  }

  async #subscribe(subscriptions: readonly Subscription[]): Promise<void> {
    const connection = this.#connection;
    try {
      await this.#redis.subscribe(...subscriptions.map((subscription) => subscription.name));
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
    this.#grace ??= setTimeout(() => this.loseAll(), relayLostGraceMs).unref();
  }

  #stopGrace(): void {
    if (this.#grace !== null) clearTimeout(this.#grace);
    this.#grace = null;
  }
}
