import type { Ctx } from "../kernel/context.ts";
import { addClockJob } from "../kernel/queue/add-job.ts";

/**
 * A worker asks for the sums of usage after this many of its turns. Reports read turns that no sum has yet one by one: 250 of
 * them make a report 1.1 to 1.3 times as dear, 1,000 up to 2.4 times, 100,000 up to 48 times; and of those that the clock alone
 * leaves there are as many as the load makes. To sum 250 takes Postgres some 15 ms, no more a turn than 1,000 at once.
 */
const turnsPerSum = 250;

/** Lets the sums of usage follow the load: beside the clock's job, one after a number of turns of this process. */
export class DueSums {
  readonly #ctx: Pick<Ctx, "sql" | "log">;
  readonly #turns: number;
  #left: number;

  constructor(ctx: Pick<Ctx, "sql" | "log">, turns = turnsPerSum) {
    this.#ctx = ctx;
    this.#turns = turns;
    this.#left = turns;
  }

  /** Counts a turn that this process has run. Waits for nothing: when the job cannot be added, the clock's comes. */
  noteTurn(): void {
    this.#left -= 1;
    if (this.#left > 0) return;
    this.#left = this.#turns;
    const { sql, log } = this.#ctx;
    addClockJob(sql, "usage.sum").catch((err) => log.debug({ err }, "the sums of usage come by the clock"));
  }
}
