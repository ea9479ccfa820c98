import { ModelBoundsError } from "./bounds-error.ts";
import { modelCallMsMax } from "./limits.ts";

/**
 * The time limits of one request to a provider: it ends when nothing comes for `idleMs`
 * while somebody waits for it, and after `modelCallMsMax` in any case. Time in which the
 * answer is not read, because what it is passed on to is slow, is not the provider's.
 *
 * One timer a request: a byte only notes the time, and the timer looks at that.
 */
export class CallClock {
  /** Why the request is ended; null while it may go on. */
  overdue: ModelBoundsError | null = null;
  readonly #idleMs: number;
  readonly #endsAt = performance.now() + modelCallMsMax;
  readonly #onOverdue: (error: ModelBoundsError) => void;
  /** Since when something is waited for; null while nothing is. */
  #waitsSince: number | null = performance.now();
  #timer: ReturnType<typeof setTimeout> | null = null;

  /** Starts the clock: the beginning of the answer is waited for. `onOverdue` is called at most once. */
  constructor(idleMs: number, onOverdue: (error: ModelBoundsError) => void) {
    this.#idleMs = idleMs;
    this.#onOverdue = onOverdue;
    this.#arm();
  }

  /** The next bytes are waited for from now on. */
  waits(): void {
    this.#waitsSince = performance.now();
  }

  /** Bytes came. */
  heard(): void {
    this.#waitsSince = null;
  }

  /** Stops the clock: the request is over. */
  end(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }

  #arm(): void {
    const now = performance.now();
    const dueMs = Math.min((this.#waitsSince ?? now) + this.#idleMs, this.#endsAt) - now;
    this.#timer = setTimeout(() => this.#check(), Math.max(1, Math.ceil(dueMs)));
  }

  #check(): void {
    const now = performance.now();
    const isSilent = this.#waitsSince !== null && now - this.#waitsSince >= this.#idleMs;
    if (now < this.#endsAt && !isSilent) {
      this.#arm();
      return;
    }
    this.#timer = null;
    this.overdue = new ModelBoundsError(
      isSilent
        ? `The model provider sent nothing for ${this.#idleMs / 1000} s.`
        : `The model call took longer than ${modelCallMsMax / 60_000} minutes.`,
    );
    this.#onOverdue(this.overdue);
  }
}
