/**
 * Gives out a bounded number of slots, and to one holder at most a share of them. A freed
 * slot goes to the waiting holder that has the fewest, so that a holder with many
 * requests does not stand in front of one with a single request. Equals take turns; one
 * holder's requests get theirs in the order in which they asked.
 */
export class SharedSlots {
  readonly #max: number;
  readonly #perHolderMax: number;
  readonly #held = new Map<string, number>();
  /** The waiting requests of each holder that has any. */
  readonly #waiting = new Map<string, Set<() => void>>();
  #taken = 0;

  constructor(max: number, perHolderMax: number) {
    this.#max = max;
    this.#perHolderMax = perHolderMax;
  }

  /** Waits for a slot and returns the function that releases it; a second call of that does nothing. Rejects with the signal's reason. */
  async take(holder: string, signal: AbortSignal | null): Promise<() => void> {
    signal?.throwIfAborted();
    if (this.#hasRoom(holder)) this.#count(holder, 1);
    else await this.#wait(holder, signal);
    let given = true;
    return () => {
      if (!given) return;
      given = false;
      this.#count(holder, -1);
      this.#startNext();
    };
  }

  /** Waits for a slot and holds it for `work`; returns what that returns. Rejects with the signal's reason, and as `work` does. */
  async run<T>(holder: string, signal: AbortSignal | null, work: () => T | Promise<T>): Promise<T> {
    const release = await this.take(holder, signal);
    try {
      return await work();
    } finally {
      release();
    }
  }

  #wait(holder: string, signal: AbortSignal | null): Promise<void> {
    return new Promise((resolve, reject) => {
      const queue = this.#waiting.get(holder) ?? new Set();
      const leave = () => {
        this.#remove(holder, start);
        reject(signal?.reason);
      };
      const start = () => {
        signal?.removeEventListener("abort", leave);
        this.#remove(holder, start);
        // Among equals, the next slot is another holder's.
        if (this.#waiting.delete(holder)) this.#waiting.set(holder, queue);
        this.#count(holder, 1);
        resolve();
      };
      queue.add(start);
      this.#waiting.set(holder, queue);
      signal?.addEventListener("abort", leave, { once: true });
    });
  }

  #remove(holder: string, start: () => void): void {
    const queue = this.#waiting.get(holder);
    queue?.delete(start);
    if (queue?.size === 0) this.#waiting.delete(holder);
  }

  #startNext(): void {
    let next: string | null = null;
    for (const holder of this.#waiting.keys())
      if (this.#hasRoom(holder) && (next === null || this.#heldBy(holder) < this.#heldBy(next))) next = holder;
    if (next === null) return;
    const [start] = this.#waiting.get(next) ?? [];
    start?.();
  }

  #hasRoom(holder: string): boolean {
    return this.#taken < this.#max && this.#heldBy(holder) < this.#perHolderMax;
  }

  #heldBy(holder: string): number {
    return this.#held.get(holder) ?? 0;
  }

  #count(holder: string, change: 1 | -1): void {
    this.#taken += change;
    const left = this.#heldBy(holder) + change;
    if (left === 0) this.#held.delete(holder);
    else this.#held.set(holder, left);
  }
}
