import { clearTimeout, setTimeout } from "node:timers";

/** The first pause; each later one is this part of the time since the connection was closed. */
const pauseMsMin = 50;
const pausePart = 0.25;

/**
 * Does something again soon after a connection was closed, in place of waiting until it is done anyway. The pauses grow with
 * the time that the server is away; from `pauseMsMax` on it is left to what is done anyway.
 */
export class AgainSoon {
  readonly #again: () => void;
  readonly #pauseMsMax: number;
  #timer: ReturnType<typeof setTimeout> | null = null;
  #awaySince: number | null = null;

  constructor(again: () => void, pauseMsMax: number) {
    this.#again = again;
    this.#pauseMsMax = pauseMsMax;
  }

  /** The connection was closed, or could not be made again. */
  noteClosed(): void {
    if (this.#timer !== null) return;
    this.#awaySince ??= Date.now();
    const pauseMs = Math.max(pauseMsMin, (Date.now() - this.#awaySince) * pausePart);
    if (pauseMs >= this.#pauseMsMax) return;
    this.#timer = setTimeout(() => {
      this.#timer = null;
      this.#again();
    }, pauseMs).unref();
  }

  /** It answers again. */
  noteAnswer(): void {
    this.#awaySince = null;
  }

  /** Does nothing again. */
  stop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
  }
}
