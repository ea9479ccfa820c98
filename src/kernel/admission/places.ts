import { clearTimeout, setTimeout } from "node:timers";

/** How many places each key has, and how long and how many wait for one. */
export interface PlaceLimits {
  readonly max: number;
  readonly waitMs: number;
  readonly waitingMax: number;
}

interface Waiter {
  readonly settle: (taken: boolean) => void;
  readonly timer: NodeJS.Timeout;
}

interface Taken {
  count: number;
  readonly waiting: Set<Waiter>;
}

/** A bounded number of places for each key. A request that finds none waits, in order of arrival and for a bounded time. */
export class Places<K> {
  readonly #limits: PlaceLimits;
  readonly #taken = new Map<K, Taken>();

  constructor(limits: PlaceLimits) {
    this.#limits = limits;
  }

  /**
   * Takes a place. Returns true at once where one is free; else a promise of whether one
   * came free within `waitMs`. Where too many wait already the answer is false at once.
   */
  take(key: K, waitMs: number = this.#limits.waitMs): true | Promise<boolean> {
    const taken = this.#taken.get(key);
    if (taken === undefined) {
      this.#taken.set(key, { count: 1, waiting: new Set() });
      return true;
    }
    if (taken.count < this.#limits.max) {
      taken.count += 1;
      return true;
    }
    if (taken.waiting.size >= this.#limits.waitingMax || waitMs <= 0) return Promise.resolve(false);
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        taken.waiting.delete(waiter);
        resolve(false);
      }, waitMs);
      const waiter: Waiter = { settle: resolve, timer };
      taken.waiting.add(waiter);
    });
  }

  /** Gives a place back: to the one that waits longest, if any does. */
  give(key: K): void {
    const taken = this.#taken.get(key);
    if (taken === undefined) return;
    const [next] = taken.waiting;
    if (next !== undefined) {
      taken.waiting.delete(next);
      clearTimeout(next.timer);
      next.settle(true);
      return;
    }
    taken.count -= 1;
    if (taken.count === 0) this.#taken.delete(key);
  }

  /** Returns how many places of a key are taken. */
  countOf(key: K): number {
    return this.#taken.get(key)?.count ?? 0;
  }
}
