import { setTimeout } from "node:timers";
import { SharedSlots } from "../async/shared-slots.ts";

interface Begun {
  readonly at: number;
  readonly release: () => void;
}

/**
 * Lets so much work begin at a time, and shares these beginnings fairly among those who ask. What
 * is still under way after `startMs` waits for something else than this process, and makes room.
 */
export class FairStart {
  readonly #slots: SharedSlots;
  readonly #startMs: number;
  /** In the order of their beginnings. */
  readonly #begun = new Set<Begun>();
  #timer: NodeJS.Timeout | null = null;

  constructor(atOnceMax: number, startMs: number) {
    this.#slots = new SharedSlots(atOnceMax, atOnceMax);
    this.#startMs = startMs;
  }

  /** Waits until work of `holder` may begin. Returns the function that ends it; a second call of that does nothing. */
  async begin(holder: string): Promise<() => void> {
    const release = await this.#slots.take(holder, null);
    const begun = { at: performance.now(), release };
    this.#begun.add(begun);
    this.#timer ??= setTimeout(() => this.#makeRoom(), this.#startMs);
    return () => {
      this.#begun.delete(begun);
      release();
    };
  }

  #makeRoom(): void {
    const since = performance.now() - this.#startMs;
    for (const begun of this.#begun) {
      if (begun.at > since) break;
      this.#begun.delete(begun);
      begun.release();
    }
    this.#timer = this.#begun.size === 0 ? null : setTimeout(() => this.#makeRoom(), this.#startMs);
  }
}
