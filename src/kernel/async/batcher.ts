import { setImmediate } from "node:timers";
import { sleep, waitAtMost } from "./wait.ts";

/** Sends items together and returns a result for each, in their order. When it rejects, the result of every item does. */
export type SendGroup<T, A> = (items: readonly T[]) => Promise<readonly A[]>;

/** How large groups may be, and how long the next group waits for one. */
export interface BatcherOptions<T> {
  readonly countMax: number;
  /** The size of an item, and of all items of a group; a single one may be larger. */
  readonly size?: { of(item: T): number; readonly max: number };
  /** Whether what comes in the same turn of the event loop as the first item shares its group; it is sent at once when left out. */
  readonly gathers?: boolean;
  /** The next group waits at most this long for the group before it, in milliseconds; without limit when left out. */
  readonly patienceMs?: number;
  /** Under load, how long the next group collects behind the one before it, in milliseconds, unless it is full by then; not at all when left out. */
  readonly pauseMs?: number;
}

/** A group of this many items, or more, says that there is load. */
const loadFrom = 4;

interface Waiting<T, A> {
  readonly item: T;
  readonly resolve: (result: A) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Sends items in groups, where a command for several costs less than several commands:
 * while one group is under way, the items that come are collected for the next. An item
 * without others is sent at once, and under load more items share a command: more still with `pauseMs`.
 */
export class Batcher<T, A> {
  readonly #send: SendGroup<T, A>;
  readonly #options: BatcherOptions<T>;
  #waiting: Waiting<T, A>[] = [];
  #running = false;

  constructor(send: SendGroup<T, A>, options: BatcherOptions<T>) {
    this.#send = send;
    this.#options = options;
  }

  /** Sends an item with the next group. Returns the item's own result; rejects when its group's command does. */
  add(item: T): Promise<A> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject });
      if (!this.#running) void this.#run();
    });
  }

  async #run(): Promise<void> {
    const { countMax, patienceMs, pauseMs, gathers = false } = this.#options;
    this.#running = true;
    while (this.#waiting.length > 0) {
      if (gathers) await new Promise<void>((resolve) => setImmediate(resolve));
      const group = this.#waiting.splice(0, this.#groupLength());
      const sent = this.#sendGroup(group);
      await (patienceMs === undefined ? sent : waitAtMost(sent, patienceMs));
      const isFull = this.#waiting.length >= countMax;
      if (pauseMs !== undefined && group.length >= loadFrom && !isFull) await sleep(pauseMs);
    }
    this.#running = false;
  }

  /** Never rejects. */
  async #sendGroup(group: readonly Waiting<T, A>[]): Promise<void> {
    try {
      const results = await this.#send(group.map(({ item }) => item));
      for (const [index, { resolve }] of group.entries()) resolve(results[index] as A);
    } catch (error) {
      for (const { reject } of group) reject(error);
    }
  }

  /** Returns how many of the waiting items, from the first on, are sent together. */
  #groupLength(): number {
    const { countMax, size } = this.#options;
    const most = Math.min(this.#waiting.length, countMax);
    // A single item is sent whatever its size; to measure it may take time.
    if (size === undefined || most < 2) return most;
    let total = 0;
    for (let index = 0; index < most; index++) {
      total += size.of((this.#waiting[index] as Waiting<T, A>).item);
      if (index > 0 && total > size.max) return index;
    }
    return most;
  }
}

/** Returns a function that gives each object (a pool, say) its own batcher, made by `make` when it is first asked for. */
export function batcherFor<K extends object, T, A>(make: (of: K) => Batcher<T, A>): (of: K) => Batcher<T, A> {
  const made = new WeakMap<K, Batcher<T, A>>();
  return (of) => {
    const batcher = made.get(of) ?? make(of);
    made.set(of, batcher);
    return batcher;
  };
}
