import postgres from "postgres";
import { ApiError } from "../errors.ts";
import { databaseWaitMs, unavailableRetryAfterSeconds } from "../limits.ts";
import { DeadlineError, withDeadline } from "./deadline.ts";
import { type PoolUse, watchPool } from "./pool-gauges.ts";
import { Connections } from "./socket.ts";

/** The pooled client. Reads and single statements run on it. */
export type Sql = postgres.Sql;
/** A client inside a transaction; a function that takes it cannot be called outside one. */
export type Tx = postgres.TransactionSql;
/** Either: for reads that may also run inside a transaction. */
export type AnySql = Sql | Tx;

interface PoolOptions {
  readonly url: string;
  /** Connections at most. */
  readonly max: number;
  /** Shown in `pg_stat_activity`; the reaper finds a worker's connections by it. */
  readonly applicationName: string;
}

/**
 * The server ends a statement a little before the client gives up on it, so
 * that what was answered 503 does not commit later.
 */
export const statementTimeoutMs = databaseWaitMs - 2_000;
/** So a connection that is silent for this long, while something was not answered, is a dead one. It is known to within a second. */
const silentMs = databaseWaitMs - 1_500;

/**
 * SQL is snake_case, TypeScript camelCase: the driver's option that names the columns
 * of a result so. It translates them when a statement is described, not with each row.
 */
export const camelCaseColumns = { column: { from: postgres.toCamel } };

/** Opens the pool. Connects at the first query. */
export function openDatabase({ url, max, applicationName }: PoolOptions): Sql {
  const use = watchPool(applicationName, max);
  const connections = new Connections();
  const closeSilent = () => connections.closeSilent(silentMs);
  const sql = withDeadline(
    postgres(withLongStartup(url), {
      max,
      connect_timeout: databaseWaitMs / 1000,
      backoff: (attempt) => Math.min(0.05 * 2 ** attempt, 1),
      ...connections.driverOption,
      onnotice: () => {},
      types: { bigint: bigintAsNumber },
      transform: camelCaseColumns,
      connection: {
        application_name: applicationName,
        statement_timeout: statementTimeoutMs,
        idle_in_transaction_session_timeout: databaseWaitMs,
      },
    }),
    databaseWaitMs,
    {
      tellCount: (underWay) => {
        use.queries = underWay;
      },
      onLate: closeSilent,
    },
  );
  pools.set(sql, { use, closeSilent });
  return sql;
}

/** What `tx` needs of a pool: it counts its transactions, and tells when one was too late. */
const pools = new WeakMap<Sql, { readonly use: PoolUse; readonly closeSilent: () => void }>();

/** The driver sends what it has gathered at once from so many bytes on, and otherwise a moment later. */
const sentAtOnceBytes = 1024;

/**
 * A connection URL whose start-up message is long, by blanks behind a setting that
 * every server and pooler takes, and that the driver needs to be so anyway. The
 * driver (3.4.9) loses track of a write that waits for its moment when the
 * connection breaks; the connection made in its place then sends nothing, not even
 * its start-up message, unless that is long enough to go at once.
 */
export function withLongStartup(databaseUrl: string): string {
  const url = new URL(databaseUrl);
  url.searchParams.set("DateStyle", "ISO".padEnd(sentAtOnceBytes));
  return url.href;
}

/** Counts and sequence numbers stay far below 2^53, so `bigint` columns read as numbers. */
const bigintAsNumber = {
  to: 20,
  from: [20],
  serialize: (value: number) => String(value),
  parse: (text: string) => Number(text),
};

/**
 * Runs `work` in one transaction, or inside the caller's when `sql` already is one.
 *
 * The wait for a connection and for all statements together has a limit
 * (`databaseWaitMs`); a transaction that outlives it is rolled back. A
 * connection that broke before the commit, a deadlock or a serialisation failure
 * is tried again within the limit: a blip that heals is not an error. Therefore
 * `work` must touch nothing but the database.
 */
export async function tx<T>(sql: AnySql, work: (tx: Tx) => Promise<T>): Promise<T> {
  if ("savepoint" in sql) return work(sql);
  const expiresAt = Date.now() + databaseWaitMs;
  for (;;) {
    const state = { expired: false, committing: false };
    try {
      return await withLimit(expiresAt, state, sql, work);
    } catch (error) {
      if (state.committing && error instanceof Error) unsureCommits.add(error);
      const pauseMs = 50 + Math.random() * 150;
      if (state.committing || !isPassing(error) || Date.now() + pauseMs > expiresAt) throw error;
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  }
}

/** Errors of transactions that broke in the commit. */
const unsureCommits = new WeakSet<Error>();

/** Whether a transaction failed so late that it may have been committed all the same. */
export function isCommitUnsure(error: unknown): boolean {
  return error instanceof Error && unsureCommits.has(error) && isUnavailable(error);
}

async function withLimit<T>(
  expiresAt: number,
  state: { expired: boolean; committing: boolean },
  sql: Sql,
  work: (tx: Tx) => Promise<T>,
): Promise<T> {
  const pool = pools.get(sql);
  let timer: ReturnType<typeof setTimeout> | undefined;
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      state.expired = true;
      pool?.closeSilent();
      reject(new DeadlineError(`The transaction did not end within ${databaseWaitMs} ms.`));
    }, expiresAt - Date.now());
  });
  if (pool !== undefined) pool.use.transactions += 1;
  const run = sql.begin(async (inner) => {
    if (state.expired) throw new DeadlineError("The caller gave up while waiting for a connection.");
    const result = await work(inner);
    if (state.expired) throw new DeadlineError("The caller gave up while the transaction ran.");
    state.committing = true;
    return result;
  }) as Promise<T>;
  // Its failure after the limit is nobody's news.
  run
    .catch(() => {})
    .finally(() => {
      if (pool !== undefined) pool.use.transactions -= 1;
    });
  try {
    return await Promise.race([run, limit]);
  } finally {
    clearTimeout(timer);
  }
}

/** The first pause of `patiently`; each further one is twice as long, up to the last. */
const askAgainMsMin = 50;
const askAgainMsMax = 1_000;

/** An overrun of less than this is let be. */
const timerWorthMs = 500;

/** What `work` answers within the time, else a `DeadlineError`. */
async function within<T>(leftMs: number, work: PromiseLike<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new DeadlineError("The database did not come back in time.")), leftMs);
  });
  try {
    return await Promise.race([work, limit]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Repeats what met a database that was away, for up to `limitMs`: a blip that
 * heals is not an error. `heals` says which errors are worth it; `isPassing` when
 * left out. Only for reads, and for writes that may be done twice.
 */
export async function patiently<T>(
  ask: () => PromiseLike<T>,
  { limitMs = databaseWaitMs, heals = isPassing }: { limitMs?: number; heals?: (error: unknown) => boolean } = {},
): Promise<T> {
  const expiresAt = Date.now() + limitMs;
  for (let pauseMs = askAgainMsMin; ; pauseMs = Math.min(pauseMs * 2, askAgainMsMax)) {
    const leftMs = expiresAt - Date.now();
    try {
      // A query keeps to `databaseWaitMs` by itself; a timer costs too much where that is the nearer limit.
      return await (leftMs > databaseWaitMs - timerWorthMs ? ask() : within(leftMs, ask()));
    } catch (error) {
      if (!heals(error) || Date.now() + pauseMs > expiresAt) throw error;
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  }
}

/** SQLSTATEs that a second try may heal: deadlock, serialisation, server restarting, too many connections. */
const passingStates = new Set(["40001", "40P01", "57P01", "57P02", "57P03", "53300"]);
/** SQLSTATEs that mean "not now": the above, cancelled statement, lock and idle time-outs, no disk or memory, read-only standby. */
const unavailableStates = new Set([
  ...passingStates,
  "57014",
  "55P03",
  "25P03",
  "25P04",
  "53100",
  "53200",
  "53400",
  "25006",
]);
/** The driver's and the system's words for a connection that is not there. */
const connectionCodes = new Set([
  "CONNECT_TIMEOUT",
  "CONNECTION_CLOSED",
  "CONNECTION_ENDED",
  "CONNECTION_DESTROYED",
  "ECONNREFUSED",
  "ECONNRESET",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ETIMEDOUT",
  "EPIPE",
  "ENOENT",
  "ConnectionRefused",
  "ConnectionClosed",
]);

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}

/** Whether a database error may heal by itself within a moment. */
export function isPassing(error: unknown): boolean {
  const code = codeOf(error);
  return passingStates.has(code) || connectionCodes.has(code);
}

/** Whether an error says that Postgres cannot serve now (503, `decisions.md`). */
export function isUnavailable(error: unknown): boolean {
  const code = codeOf(error);
  return (
    error instanceof DeadlineError || unavailableStates.has(code) || connectionCodes.has(code) || code.startsWith("08")
  );
}

/** The 503 for a service that cannot answer now. */
export function unavailable(): ApiError {
  return new ApiError("service_unavailable", { headers: { "Retry-After": String(unavailableRetryAfterSeconds) } });
}

/** The constraint or unique index a write ran into, or null. Slices map its name to a cause. */
export function violatedConstraint(error: unknown): string | null {
  if (!(error instanceof postgres.PostgresError) || !error.code.startsWith("23")) return null;
  return error.constraint_name ?? null;
}

/** Postgres' type number of `json`, which keeps a text as it was written; `jsonb` would reorder it. */
const jsonOid = 114;

/** A value for a `json` column, stored as the very text `JSON.stringify` makes. */
export function json(sql: AnySql, value: unknown): postgres.Parameter {
  return sql.typed(value as never, jsonOid) as unknown as postgres.Parameter;
}
