/**
 * Gives out a bounded number of slots, and only a share of them to one holder. A free slot
 * goes to the first waiting holder whose share has room.
 */
export class Slots {
  readonly #max: number;
  readonly #perHolderMax: number;
  readonly #held = new Map<string, number>();
  #taken = 0;
  readonly #waiting: { holder: string; start: () => void }[] = [];

  constructor(max: number, perHolderMax: number) {
    this.#max = max;
    this.#perHolderMax = perHolderMax;
  }

  /** Waits for a slot and returns the function that releases it. Rejects with the signal's reason. */
  async take(holder: string, signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    if (!this.#hasRoom(holder)) await this.#wait(holder, signal);
    else this.#count(holder, 1);
    let given = true;
    return () => {
      if (!given) return;
      given = false;
      this.#count(holder, -1);
      this.#startNext();
    };
  }

  #wait(holder: string, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = () => {
        this.#waiting.splice(this.#waiting.indexOf(entry), 1);
        reject(signal.reason);
      };
      const entry = {
        holder,
        start: () => {
          signal.removeEventListener("abort", leave);
          this.#count(holder, 1);
          resolve();
        },
      };
      signal.addEventListener("abort", leave, { once: true });
      this.#waiting.push(entry);
    });
  }

  #startNext(): void {
    const index = this.#waiting.findIndex(({ holder }) => this.#hasRoom(holder));
    if (index >= 0) this.#waiting.splice(index, 1)[0]?.start();
  }

  #hasRoom(holder: string): boolean {
    return this.#taken < this.#max && (this.#held.get(holder) ?? 0) < this.#perHolderMax;
  }

  #count(holder: string, change: 1 | -1): void {
    this.#taken += change;
    const left = (this.#held.get(holder) ?? 0) + change;
    if (left === 0) this.#held.delete(holder);
    else this.#held.set(holder, left);
  }
}
