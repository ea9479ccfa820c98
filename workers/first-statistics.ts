import type { Ctx } from "../src/kernel/context.ts";

/** A worker looks whether Postgres knows how much there is when it has run so many turns. */
const looksAfter: readonly number[] = [50, 500, 5_000];
/** The tables that each turn adds to. */
const tables = ["turns", "sessions", "messages", "usage"];

/**
 * Has Postgres take statistics of a young installation's tables. It does so by itself only after a minute or two, and until then keeps
 * the plans that it made while the tables had a page or two. Those of connections that began to accept turns 1 to 3 s after the start
 * counted a tenant's queued turns by reading all turns that it ever had: 8 ms of each acceptance after 10,000 of them. With the
 * statistics Postgres plans anew; they take it some 20 ms.
 */
export class FirstStatistics {
  readonly #ctx: Pick<Ctx, "lookSql" | "log">;
  #turns = 0;

  constructor(ctx: Pick<Ctx, "lookSql" | "log">) {
    this.#ctx = ctx;
  }

  /** Counts a turn that this process has run. Waits for nothing: what fails here Postgres does by itself. */
  noteTurn(): void {
    this.#turns += 1;
    if (!looksAfter.includes(this.#turns)) return;
    this.#look(this.#turns).catch((err) => this.#ctx.log.debug({ err }, "Postgres takes statistics by itself"));
  }

  async #look(turns: number): Promise<void> {
    const { lookSql } = this.#ctx;
    const [known] = await lookSql<{ isEnough: boolean }[]>`
      select /* statistics.known */ reltuples >= ${turns} as is_enough from pg_class where oid = 'turns'::regclass`;
    // Another process may be at it.
    if (known?.isEnough === false) await lookSql.unsafe(`analyze (skip_locked) ${tables.join(", ")}`);
  }
}
