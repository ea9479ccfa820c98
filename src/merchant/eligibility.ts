import type { Eligibility } from "./provider.ts";

/** How long a customer's eligibility is kept. */
const allowedMs = 30_000;
/** A refusal is kept for less, because the customer may have just paid. */
const refusedMs = 5_000;
/** Customers kept at most; beyond that the oldest entry is dropped. */
const entriesMax = 10_000;

interface Entry {
  readonly eligibility: Eligibility;
  readonly expiresAt: number;
}

/** A process's cache of customers' eligibility. Concurrent requests for one customer share one; failures are not kept. */
export class EligibilityCache {
  readonly #known = new Map<string, Entry>();
  readonly #pending = new Map<string, Promise<Eligibility>>();

  /** Returns the cached eligibility of a key, or what `load` returns. Rejects as `load` does. */
  async read(key: string, load: () => Promise<Eligibility>): Promise<Eligibility> {
    const entry = this.#known.get(key);
    if (entry !== undefined && entry.expiresAt > Date.now()) return entry.eligibility;
    const pending = this.#pending.get(key);
    if (pending !== undefined) return pending;
    const result = this.#load(key, load).finally(() => this.#pending.delete(key));
    this.#pending.set(key, result);
    return result;
  }

  async #load(key: string, load: () => Promise<Eligibility>): Promise<Eligibility> {
    const loadedAt = Date.now();
    const eligibility = await load();
    const { subscribed, funded } = eligibility;
    this.#known.delete(key);
    this.#known.set(key, { eligibility, expiresAt: loadedAt + (subscribed && funded ? allowedMs : refusedMs) });
    const oldest = this.#known.keys().next();
    if (this.#known.size > entriesMax && !oldest.done) this.#known.delete(oldest.value);
    return eligibility;
  }
}
