import { clearTimeout, setTimeout } from "node:timers";
import { chosenAtOnce, isChosen, lateMs } from "../src/kernel/queue/lot.ts";

/** One that may not ask waits this much longer than those that may: on a busy machine they need it to be first. */
const withoutRoomMs = 200;

/** What a bell is for. */
export interface BellOptions {
  /** Asks the queue for jobs. */
  readonly ask: (count: number) => void;
  /** How many workers of the installation may ask, this one included. */
  readonly askers: () => number;
  /** Whether this one is among them. */
  readonly mayAsk: () => boolean;
  /** Between two questions there is at least this time, and the more the more workers there are: together they ask as often as a few. */
  readonly restMs: number;
  /** What is announced is asked for after this time at the earliest: most of it is claimed by then by those who heard of it. */
  readonly afterMs: number;
}

/**
 * Decides what an announced job means for this process. All worker processes hear each
 * announcement, and without this all of them would ask for the same job: with 100 workers
 * and 100 turns a second, 10,000 times a second. Here a few ask at once, chosen by lot
 * anew each time, and the rest a little later, once for all that was announced meanwhile. A
 * worker that has no room leaves it to those that have some.
 */
export class Bell {
  readonly #options: BellOptions;
  #askedAtMs = 0;
  #announced = 0;
  #timer: ReturnType<typeof setTimeout> | null = null;

  constructor(options: BellOptions) {
    this.#options = options;
  }

  /** Jobs are announced. */
  ring(count: number): void {
    this.#announced += count;
    const workers = Math.max(1, this.#options.askers());
    const mayAsk = this.#options.mayAsk();
    const lateness = (mayAsk ? 0 : withoutRoomMs) + (mayAsk && isChosen(workers) ? 0 : lateMs(workers));
    const pauseMs = this.#options.restMs * Math.max(1, workers / chosenAtOnce);
    const restMs = Math.max(this.#options.afterMs, this.#askedAtMs + pauseMs - Date.now());
    if (restMs + lateness === 0) this.#ask();
    else this.#askLater(restMs + lateness);
  }

  /** Asks nothing more. */
  stop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  #askLater(pauseMs: number): void {
    this.#timer ??= setTimeout(() => this.#ask(), pauseMs).unref();
  }

  #ask(): void {
    this.stop();
    this.#timer = null;
    const count = this.#announced;
    this.#announced = 0;
    this.#askedAtMs = Date.now();
    this.#options.ask(count);
  }
}
