import { setImmediate } from "node:timers/promises";

/** Work of one answer that takes longer than this lets other work go on, in milliseconds. */
const busyMsMax = 5;
/** The clock is looked at after this many parts; each takes some 30 µs. */
const partsPerLook = 32;

/**
 * Lets other work go on in between. What has come already is passed on in one go of microtasks, in
 * which no other turn, timer or connection gets a turn: 100,000 parts held a worker for 8 s.
 */
export class PartPace {
  #parts = 0;
  #sinceMs = performance.now();

  /** Call it with each part; `isHeavy`: one that may take milliseconds. Returns a promise where it is time. */
  part(isHeavy = false): Promise<void> | null {
    this.#parts += 1;
    if (!isHeavy && this.#parts % partsPerLook !== 0) return null;
    return performance.now() - this.#sinceMs < busyMsMax ? null : this.#pause();
  }

  async #pause(): Promise<void> {
    await setImmediate();
    this.#sinceMs = performance.now();
  }
}
