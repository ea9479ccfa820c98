import type { Eligibility } from "./provider.ts";

/** What is known of a customer is at most this old. */
const allowedMs = 30_000;
/** A refusal is asked about again sooner, because somebody may have just paid. */
const refusedMs = 5_000;
/** Customers remembered at most; beyond that the one asked about longest ago is forgotten. */
const entriesMax = 10_000;

interface Entry {
  readonly eligibility: Eligibility;
  readonly expiresAt: number;
}

/** What a process knows of customers. Questions about one customer at the same moment are asked once; failures are not kept. */
export class EligibilityCache {
  readonly #known = new Map<string, Entry>();
  readonly #asking = new Map<string, Promise<Eligibility>>();

  /** What is known under a key, or what `ask` finds out. */
  async read(key: string, ask: () => Promise<Eligibility>): Promise<Eligibility> {
    const entry = this.#known.get(key);
    if (entry !== undefined && entry.expiresAt > Date.now()) return entry.eligibility;
    const asking = this.#asking.get(key);
    if (asking !== undefined) return asking;
    const answer = this.#ask(key, ask).finally(() => this.#asking.delete(key));
    this.#asking.set(key, answer);
    return answer;
  }

  async #ask(key: string, ask: () => Promise<Eligibility>): Promise<Eligibility> {
    const askedAt = Date.now();
    const eligibility = await ask();
    const { subscribed, funded } = eligibility;
    this.#known.delete(key);
    this.#known.set(key, { eligibility, expiresAt: askedAt + (subscribed && funded ? allowedMs : refusedMs) });
    const oldest = this.#known.keys().next();
    if (this.#known.size > entriesMax && !oldest.done) this.#known.delete(oldest.value);
    return eligibility;
  }
}
