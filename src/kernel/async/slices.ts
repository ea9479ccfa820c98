import { setImmediate } from "node:timers";
import { noteDoing, workHere } from "../telemetry/work.ts";

/** Sliced work of a process takes so long together in one round of the event loop, in milliseconds. */
const roundMs = 5;
/** The clock is looked at after this many steps, each of which takes some ten nanoseconds. */
const stepsPerLook = 256;

/** Work that yields where it may be put off, and returns what came of it. */
export type SlicedWork<T> = Generator<undefined, T, undefined>;

/** Thrown where sliced work has taken as long as it may. */
export class OutOfTimeError extends Error {
  override readonly name = "OutOfTimeError";
}

/** The clock of one piece of sliced work. */
export class SliceClock {
  readonly #msMax: number;
  #steps = 0;
  #beganMs = 0;
  #beforeMs = 0;

  /** The work may take `msMax` in all of its slices together; time between them does not count. */
  constructor(msMax: number) {
    this.#msMax = msMax;
  }

  /** Counts steps, and returns whether the slice is over, so that the work has to yield. Throws `OutOfTimeError`. */
  isOver(steps = 1): boolean {
    this.#steps += steps;
    if (this.#steps < stepsPerLook) return false;
    this.#steps = 0;
    const ms = performance.now() - this.#beganMs;
    if (this.#beforeMs + ms > this.#msMax) throw new OutOfTimeError();
    return ms >= roundMs;
  }

  begin(): void {
    this.#beganMs = performance.now();
  }

  /** Returns how long the slice took. */
  end(): number {
    const ms = performance.now() - this.#beganMs;
    this.#beforeMs += ms;
    return ms;
  }
}

/**
 * Runs work whose time depends on what strangers sent: in slices, of which one round of the event loop
 * runs some milliseconds, however much work there is. Among several holders slices go in
 * turn; the holder is the tenant for whom it is done. Throws `OutOfTimeError` when the work takes more than `msMax` itself, the signal's reason, and what
 * the work throws.
 */
export async function inSlices<T>(
  {
    holder = workHere()?.tenantId ?? "",
    msMax,
    signal,
  }: { readonly holder?: string; readonly msMax: number; readonly signal?: AbortSignal },
  work: (clock: SliceClock) => SlicedWork<T>,
): Promise<T> {
  const clock = new SliceClock(msMax);
  const steps = work(clock);
  for (;;) {
    const turn = rounds.turn(holder);
    if (turn !== null) await turn;
    clock.begin();
    noteDoing("sliced work");
    try {
      signal?.throwIfAborted();
      const { done, value } = steps.next();
      if (done === true) return value;
    } finally {
      rounds.used(clock.end());
    }
  }
}

/**
 * Runs work of some milliseconds that cannot be divided, when its turn has come among the slices: of many such pieces
 * that come at once no round of the event loop runs more than fit into one, and the last. Throws what the work throws.
 */
export async function inOneSlice<T>(work: () => T): Promise<T> {
  const turn = rounds.turn(workHere()?.tenantId ?? "");
  if (turn !== null) await turn;
  const beganMs = performance.now();
  noteDoing("sliced work");
  try {
    return work();
  } finally {
    rounds.used(performance.now() - beganMs);
  }
}

/** Gives out the time of each round of the event loop, slice by slice and holder by holder. */
class Rounds {
  readonly #waiting = new Map<string, (() => void)[]>();
  #leftMs = roundMs;
  #isScheduled = false;

  /** Returns null when a slice may begin now, else a promise of that. */
  turn(holder: string): Promise<void> | null {
    if (this.#waiting.size === 0 && this.#leftMs > 0) return null;
    this.#schedule();
    return new Promise((pass) => {
      const queue = this.#waiting.get(holder);
      if (queue === undefined) this.#waiting.set(holder, [pass]);
      else queue.push(pass);
    });
  }

  used(ms: number): void {
    this.#leftMs -= ms;
    this.#schedule();
    if (this.#leftMs > 0) this.#passNext();
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#leftMs = roundMs;
      this.#passNext();
    });
  }

  #passNext(): void {
    const [first] = this.#waiting;
    if (first === undefined) return;
    const [holder, queue] = first;
    const pass = queue.shift();
    this.#waiting.delete(holder);
    if (queue.length > 0) this.#waiting.set(holder, queue);
    pass?.();
  }
}

const rounds = new Rounds();
