import calculateSlot from "cluster-key-slot";
import { type Cluster, Redis } from "ioredis";
import { waitAtMost } from "../async/wait.ts";
import { LogCursor } from "./cursor.ts";
import type { ConnectionOptions } from "./redis-connection.ts";
import { type FollowedLogs, type LogSubscriptions, Subscriptions } from "./subscriptions.ts";

/** Followers wait this long for the node of their log, in milliseconds; then they ask again which node that is. */
const nodeLostMs = 1_000;

/**
 * The subscriptions of a process on a Redis Cluster: one connection for each node that has a followed log,
 * because the channel of a log is published on the node of its slot only (sharded channels, Redis 7).
 */
export class ClusterSubscriptions implements LogSubscriptions {
  readonly #cluster: Cluster;
  readonly #options: ConnectionOptions;
  readonly #nodes = new Map<string, { readonly redis: Redis; readonly subscriptions: Subscriptions }>();
  readonly #joined = new WeakMap<LogCursor, Subscriptions>();
  #closed = false;

  constructor(cluster: Cluster, options: ConnectionOptions) {
    this.#cluster = cluster;
    this.#options = options;
    cluster.on("-node", (node: Redis) => this.#drop(`${node.options.host}:${node.options.port}`));
  }

  join(name: string, from: number, isNew = false): LogCursor {
    const subscriptions = this.#nodeOf(name);
    if (subscriptions === null) {
      const cursor = new LogCursor(from);
      cursor.lose();
      return cursor;
    }
    const cursor = subscriptions.join(name, from, isNew);
    this.#joined.set(cursor, subscriptions);
    return cursor;
  }

  leave(name: string, cursor: LogCursor): void {
    this.#joined.get(cursor)?.leave(name, cursor);
  }

  /** Which node has which slots is known once the client has connected, or does not connect in time. */
  known(): Promise<void> | null {
    if (this.#cluster.slots.length > 0 || this.#closed) return null;
    const ready = Promise.withResolvers<void>();
    this.#cluster.once("ready", ready.resolve);
    if (this.#cluster.status === "wait") this.#cluster.connect().catch(() => {});
    return waitAtMost(ready.promise, nodeLostMs);
  }

  get size(): number {
    let size = 0;
    for (const { subscriptions } of this.#nodes.values()) size += subscriptions.size;
    return size;
  }

  get followed(): FollowedLogs {
    return new Map([...this.#nodes.values()].flatMap(({ subscriptions }) => [...subscriptions.followed]));
  }

  beat(): void {
    for (const { subscriptions } of this.#nodes.values()) subscriptions.beat();
  }

  close(): void {
    this.#closed = true;
    for (const key of [...this.#nodes.keys()]) this.#drop(key);
  }

  /** Null while the cluster is not known. */
  #nodeOf(name: string): Subscriptions | null {
    const key = this.#cluster.slots[calculateSlot(name)]?.[0];
    if (key === undefined || this.#closed) return null;
    let node = this.#nodes.get(key);
    if (node === undefined) {
      const end = key.lastIndexOf(":");
      const { username, password } = this.#cluster.options.redisOptions ?? {};
      const redis = new Redis({
        ...this.#options,
        host: key.slice(0, end),
        port: Number(key.slice(end + 1)),
        ...(username === undefined ? {} : { username }),
        ...(password === undefined ? {} : { password }),
      });
      redis.on("error", () => {});
      node = { redis, subscriptions: new Subscriptions(redis, nodeLostMs, true) };
      this.#nodes.set(key, node);
    }
    return node.subscriptions;
  }

  #drop(key: string): void {
    const node = this.#nodes.get(key);
    if (node === undefined) return;
    this.#nodes.delete(key);
    node.subscriptions.close();
  }
}

/** Returns the places of names that share a slot, by slot. */
export function bySlot(names: readonly string[]): Iterable<readonly number[]> {
  const groups = new Map<number, number[]>();
  for (const [index, name] of names.entries()) {
    const slot = calculateSlot(name);
    const group = groups.get(slot);
    if (group === undefined) groups.set(slot, [index]);
    else group.push(index);
  }
  return groups.values();
}
