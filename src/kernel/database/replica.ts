import { Batcher, batcherFor } from "../async/batcher.ts";
import { inTransaction } from "../async/in-transaction.ts";
import { sleep, within } from "../async/wait.ts";
import { ApiError } from "../errors.ts";
import type { Logger } from "../telemetry/log.ts";
import { poolUseOf, type Sql, type Tx } from "./client.ts";

/** A replica that is this little behind is waited for, in milliseconds. */
const lagMsMax = 100;
const askEveryMs = 5;
/** A read that has not begun within this, the wait for a connection included, is done at the primary. */
const beginMsMax = 1_000;
/** So is one that has not ended within this. */
const readMsMax = 5_000;
/** After one of them nothing is read from the replica for so long; then a single read tries it. */
const restMs = 1_000;
/** Reads that ask the primary together. */
const askedAtOnceMax = 1_000;

/** A place in the primary's log of writes. */
interface LogPlace {
  readonly timeline: number;
  readonly place: string;
}

/** Why a read is done at the primary. */
class NotFromReplicaError extends Error {
  override readonly name: string = "NotFromReplicaError";
}

class BehindError extends NotFromReplicaError {
  override readonly name = "BehindError";
}

/**
 * A replica that lists and reports are read from, as the primary would return them: each read asks the primary
 * first how far its log is, and reads the replica once that has replayed so much. So a caller that was told of
 * a write, by any process, reads it. A replica that is away, late, or of another timeline is passed over.
 */
export class Replica {
  readonly #sql: Sql;
  readonly #log: Logger;
  #restsUntil = 0;
  #isTried = true;
  #isAway = false;

  constructor(sql: Sql, log: Logger) {
    this.#sql = sql;
    this.#log = log;
  }

  /** Returns what `work` returns, which only reads, and may be run twice: at the replica, and then at `primary`. */
  async read<T>(primary: Sql, work: (sql: Sql) => Promise<T>): Promise<T> {
    if (performance.now() < this.#restsUntil) return work(primary);
    if (!this.#isTried) this.#restsUntil = performance.now() + readMsMax;
    const attempt = { isOver: false };
    try {
      const place = await placeOf(primary).add(undefined);
      const result = await within(this.#readFrom(place, attempt, work), readMsMax, () => {
        throw new NotFromReplicaError("It did not respond in time.");
      });
      this.#restsUntil = 0;
      this.#isTried = true;
      this.#tell(false);
      return result;
    } catch (error) {
      attempt.isOver = true;
      if (error instanceof ApiError) throw error;
      this.#restsUntil = performance.now() + restMs;
      this.#isTried = false;
      if (!(error instanceof BehindError)) this.#tell(true, error);
      return work(primary);
    }
  }

  async #readFrom<T>(place: LogPlace, attempt: { readonly isOver: boolean }, work: (sql: Sql) => Promise<T>) {
    const begun = Promise.withResolvers<void>();
    const use = poolUseOf(this.#sql)?.use;
    if (use !== undefined) use.transactions += 1;
    // One transaction, because the next statement of a pool may meet another replica, behind a name that has several.
    const run = this.#sql.begin("read only", (inner) =>
      inTransaction(async () => {
        await waitFor(inner, place, attempt);
        // What follows has another transaction on the same connection, whose isolation it may still choose.
        await inner`commit and chain`;
        begun.resolve();
        return await work(inner as unknown as Sql);
      }),
    ) as Promise<T>;
    run
      // Nobody takes what is late; a page may hold a place until it is sent.
      .then((late) => (attempt.isOver && late instanceof Response ? late.body?.cancel() : undefined))
      .catch(() => {})
      .finally(() => {
        if (use !== undefined) use.transactions -= 1;
      });
    await within(Promise.race([begun.promise, run]), beginMsMax, () => {
      throw new NotFromReplicaError("It could not be reached in time.");
    });
    return run;
  }

  /** Logs a line when the replica has gone, and when it is back. */
  #tell(isAway: boolean, error?: unknown): void {
    if (isAway) poolUseOf(this.#sql)?.closeSilent();
    if (isAway === this.#isAway) return;
    this.#isAway = isAway;
    if (isAway) this.#log.warn({ err: error }, "lists are read from the primary: the replica cannot be used");
    else this.#log.info("lists are read from the replica again");
  }
}

/** Returns what `work` returns, which only reads: from the replica, where there is one. */
export function readFrom<T>(
  { replica, primary }: { readonly replica: Replica | null; readonly primary: Sql },
  work: (sql: Sql) => Promise<T>,
): Promise<T> {
  return replica === null ? work(primary) : replica.read(primary, work);
}

/** Waits until a replica has replayed the log up to a place. Throws `NotFromReplicaError` where that takes too long. */
async function waitFor(replica: Tx, { timeline, place }: LogPlace, attempt: { readonly isOver: boolean }) {
  const expiresAt = performance.now() + lagMsMax;
  for (;;) {
    if (attempt.isOver) throw new NotFromReplicaError("The read was done at the primary.");
    const [row] = await replica<{ has: boolean | null }[]>`
      select pg_is_in_recovery() and pg_last_wal_replay_lsn() >= ${place}::pg_lsn
        and (select timeline_id from pg_control_checkpoint()) = ${timeline} as has`;
    if (row?.has === true) return;
    if (performance.now() > expiresAt) throw new BehindError("The replica is behind.");
    await sleep(askEveryMs);
  }
}

/**
 * Asks a primary how far its log is; reads that come while it is asked share the next question, because the
 * response may be older than what they were told. Where commits are told before they are
 * written, what is not written counts too.
 */
const placeOf = batcherFor<Sql, undefined, LogPlace>(
  (primary) =>
    new Batcher(
      async (asked) => {
        const [row] = await primary<{ timeline: string; place: string }[]>`
          select substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) as timeline,
            (case when current_setting('synchronous_commit') = 'off'
              then pg_current_wal_insert_lsn() else pg_current_wal_flush_lsn() end)::text as place`;
        if (row === undefined) throw new NotFromReplicaError("The primary does not say how far it is.");
        const place = { timeline: Number.parseInt(row.timeline, 16), place: row.place };
        return asked.map(() => place);
      },
      { countMax: askedAtOnceMax },
    ),
);
