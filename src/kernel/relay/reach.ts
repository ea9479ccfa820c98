import { relayErrors } from "../telemetry/metrics.ts";
import { relayTriedMs } from "./relay.ts";

/** What Redis says when it is there and takes no writes: full, a replica, unable to save, without enough replicas, a member of a cluster, or not permitted. */
const refusal = /\b(OOM|READONLY|MISCONF|NOREPLICAS|CLUSTERDOWN|MOVED|CROSSSLOT|NOPERM)\b/;

/** Whether Redis takes what this process writes: what was written last says so, and where nothing is written, a try. */
export class RelayReach {
  readonly #attempt: () => Promise<unknown>;
  readonly #onError: (error: Error) => void;
  #away = false;
  #triedAtMs = Number.NEGATIVE_INFINITY;
  #trying: Promise<void> | null = null;

  /** `attempt` writes something and rejects when that fails; `onError` is called with each failure. */
  constructor(attempt: () => Promise<unknown>, onError: (error: Error) => void) {
    this.#attempt = attempt;
    this.#onError = onError;
  }

  get away(): boolean {
    return this.#away;
  }

  /** Something was written. */
  worked(): void {
    this.#away = false;
  }

  /** Something could not be written. */
  failed(error: Error): void {
    this.#away = true;
    relayErrors.inc({ reason: refusal.test(error.message) ? "refused" : "unreachable" });
    this.#onError(error);
  }

  /** Writes something. Rejects when that fails. */
  try(): Promise<void> {
    this.#trying ??= this.#try().finally(() => {
      this.#trying = null;
    });
    return this.#trying;
  }

  /** Does so where the last time is longer ago than `relayTriedMs`; no one waits for it. */
  trySoon(): void {
    if (performance.now() - this.#triedAtMs >= relayTriedMs) this.try().catch(() => {});
  }

  async #try(): Promise<void> {
    this.#triedAtMs = performance.now();
    try {
      await this.#attempt();
    } catch (error) {
      this.failed(error as Error);
      throw error;
    }
    this.worked();
  }
}
