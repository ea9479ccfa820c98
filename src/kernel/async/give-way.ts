import { setImmediate } from "node:timers/promises";

/** Work on a stranger's bytes gives way to everything else after this long. */
const sliceMs = 8;

/** Ends when the last of those that wait has begun its slice. */
let lastBegun: Promise<void> = Promise.resolve();

/** Cuts long work of many asynchronous steps into slices, between which the event loop does everything else. */
export class GiveWay {
  #begunAt = performance.now();

  /** Returns null while the slice lasts, else a promise of the next one: in one round of the event loop one slice of the process begins. */
  next(): Promise<void> | null {
    return performance.now() - this.#begunAt < sliceMs ? null : this.#begin();
  }

  async #begin(): Promise<void> {
    lastBegun = lastBegun.then(() => setImmediate());
    await lastBegun;
    this.#begunAt = performance.now();
  }
}
