import { clearTimeout, setTimeout } from "node:timers";

/** Of the workers that may, about so many ask for jobs at once when one is announced; the chance that none of many does is below 2 %. */
const askersAtOnce = 4;
/** For each worker that may ask, the others wait this long before they ask too, so that many of them do not ask more often than a few. */
const lateMsPerWorker = 10;
/** They wait no longer than this. */
const lateMsMax = 500;

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
    const isChosen = this.#options.mayAsk() ? Math.random() * workers < askersAtOnce : false;
    const pauseMs = this.#options.restMs * Math.max(1, workers / askersAtOnce);
    const restMs = Math.max(0, this.#askedAtMs + pauseMs - Date.now());
    if (isChosen && restMs === 0) this.#ask();
    else this.#askLater(isChosen ? restMs : Math.max(restMs, lateMs(workers)));
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

function lateMs(workers: number): number {
  return Math.min(lateMsMax, lateMsPerWorker * workers) * (0.5 + Math.random());
}
