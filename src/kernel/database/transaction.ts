import { inTransaction, refuseInTransaction } from "../async/in-transaction.ts";
import { sleep, within } from "../async/wait.ts";
import { databaseWaitMs } from "../limits.ts";
import { workHere } from "../telemetry/work.ts";
import { type AnySql, poolUseOf, type Sql, type Tx } from "./client.ts";
import { DeadlineError } from "./deadline.ts";
import { isTransient, isUnavailable } from "./failure.ts";

/**
 * Runs `work` in one transaction, or inside the caller's when `sql` already is one.
 *
 * The wait for a connection and for all statements together has a limit
 * (`databaseWaitMs`), and a tenant has half of the pool's connections at most; a transaction that outlives it is rolled back. A
 * connection that broke before the commit, a deadlock or a serialisation failure
 * is retried within the limit: a short outage is not an error. Therefore `work` must
 * change nothing but the database, and use no connection but its own: a request to a
 * server and a query on the pool throw inside it. Returns what `work` returns.
 */
export async function tx<T>(sql: AnySql, work: (tx: Tx) => Promise<T>): Promise<T> {
  if ("savepoint" in sql) return work(sql);
  const expiresAt = Date.now() + databaseWaitMs;
  const release = await takeShare(sql);
  try {
    return await repeated(sql, expiresAt, work);
  } finally {
    release();
  }
}

/** Waits for a place among the transactions of the tenant for whom this is done. Returns the function that gives it back. */
async function takeShare(sql: Sql): Promise<() => void> {
  const tenantId = workHere()?.tenantId;
  const shares = poolUseOf(sql)?.shares;
  if (tenantId === undefined || shares === undefined) return () => {};
  const signal = AbortSignal.timeout(databaseWaitMs);
  return shares.take(tenantId, signal).catch(() => {
    throw new DeadlineError("Other transactions of the tenant did not end in time.");
  });
}

async function repeated<T>(sql: Sql, expiresAt: number, work: (tx: Tx) => Promise<T>): Promise<T> {
  for (;;) {
    const state = { expired: false, committing: false };
    try {
      return await withLimit(expiresAt, state, sql, work);
    } catch (error) {
      if (state.committing && error instanceof Error) unsureCommits.add(error);
      const pauseMs = 50 + Math.random() * 150;
      if (state.committing || !isTransient(error) || Date.now() + pauseMs > expiresAt) throw error;
      await sleep(pauseMs);
    }
  }
}

/** Errors of transactions that broke in the commit. */
const unsureCommits = new WeakSet<Error>();

/** Returns whether a transaction failed so late that it may have been committed all the same. */
export function isCommitUnsure(error: unknown): boolean {
  return error instanceof Error && unsureCommits.has(error) && isUnavailable(error);
}

/**
 * Waits for what a transaction asked for at once, so that all of it takes one round trip: Postgres runs the statements in the
 * order in which they were sent, each seeing what those before it did. Throws the first error in that order, and only once
 * nothing of the rest goes on, as nothing may behind a rollback.
 */
export async function inOneTrip<T extends readonly unknown[]>(
  asked: { readonly [K in keyof T]: PromiseLike<T[K]> },
): Promise<T> {
  const outcomes = await Promise.allSettled(asked);
  for (const outcome of outcomes) if (outcome.status === "rejected") throw outcome.reason;
  return outcomes.map((outcome) => (outcome as PromiseFulfilledResult<unknown>).value) as unknown as T;
}

async function withLimit<T>(
  expiresAt: number,
  state: { expired: boolean; committing: boolean },
  sql: Sql,
  work: (tx: Tx) => Promise<T>,
): Promise<T> {
  refuseInTransaction("A second connection");
  const pool = poolUseOf(sql);
  if (pool !== undefined) pool.use.transactions += 1;
  const limitOf = pool?.limitOf ?? null;
  let inTime: Promise<unknown> | null = null;
  const begun = sql.begin(async (inner) => {
    if (state.expired) throw new DeadlineError("The caller gave up while waiting for a connection.");
    const result = await inTransaction(() => work(inner));
    if (state.expired) throw new DeadlineError("The caller gave up while the transaction ran.");
    state.committing = true;
    // Sent with the commit, which a pooler may keep for long, and which then ends the transaction without its effects.
    if (limitOf !== null) inTime = inner.unsafe(limitOf(expiresAt)).execute();
    return result;
  }) as Promise<T>;
  const run = limitOf === null ? begun : committedInTime(begun, () => inTime);
  run
    // The caller gets the error below; after the limit it no longer waits.
    .catch((error) => pool?.noteError(error))
    .finally(() => {
      if (pool !== undefined) pool.use.transactions -= 1;
    });
  return await within(run, expiresAt - Date.now(), () => {
    state.expired = true;
    pool?.closeSilent();
    throw new DeadlineError(`The transaction did not end within ${databaseWaitMs} ms.`);
  });
}

/** Returns the result of a transaction; rejects when the limit that was sent before its commit had passed. */
async function committedInTime<T>(begun: Promise<T>, inTime: () => Promise<unknown> | null): Promise<T> {
  const result = await begun;
  await inTime()?.catch(() => {
    throw new DeadlineError("The caller gave up before the transaction was committed.");
  });
  return result;
}
