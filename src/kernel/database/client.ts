import postgres from "postgres";
import { SharedSlots } from "../async/shared-slots.ts";
import { databaseWaitMs } from "../limits.ts";
import { addressOf, type DatabaseAddress } from "./address.ts";
import { withDeadline } from "./deadline.ts";
import { isReadOnly } from "./failure.ts";
import { type PoolUse, watchPool } from "./pool-gauges.ts";
import { PooledConnections } from "./pooled-connections.ts";
import { statementTimeoutMs } from "./pooler-limits.ts";
import { Connections } from "./socket.ts";

/** The pooled client. Reads and single statements run on it. */
export type Sql = postgres.Sql;
/** A client inside a transaction; a function that takes it cannot be called outside one. */
export type Tx = postgres.TransactionSql;
/** Either: for reads that may also run inside a transaction. */
export type AnySql = Sql | Tx;

/** What a pool is opened with. */
export interface PoolOptions {
  readonly url: string;
  /** Connections at most. */
  readonly max: number;
  /** Shown in `pg_stat_activity`; the reaper finds a worker's connections by it. */
  readonly applicationName: string;
  /** Whether the URL may lead through a pooler in transaction mode. */
  readonly isPooled?: boolean;
}

/** Of a pool's connections the transactions of one tenant have this part at most: such as wait for one another's locks would have them all. */
const tenantShare = 0.5;
/** A connection that nothing uses for this long is closed: one process's rest is another's room. */
const idleSeconds = 20;
/** Made in each session by a statement: a pooler in session mode refuses them as start-up parameters. */
const timeLimits = `set statement_timeout = ${statementTimeoutMs}; set idle_in_transaction_session_timeout = ${databaseWaitMs}`;
/** Therefore a connection that is silent for this long, while a statement waits for its result, is dead. It is noticed to within a second. */
const silentMs = databaseWaitMs - 1_500;

/**
 * SQL is snake_case, TypeScript camelCase: the driver's option that names the columns
 * of a result so. It translates them when a statement is described, not with each row.
 */
export const camelCaseColumns = { column: { from: postgres.toCamel } };

/** Returns a pool. It connects at the first query. */
export function openDatabase({ url, max, applicationName, isPooled = false }: PoolOptions): Sql {
  const use = watchPool(applicationName, max);
  const address = addressOf(url);
  const pooled = isPooled ? new PooledConnections(address) : null;
  const connections = new Connections({
    address,
    ...(pooled === null ? { begin: timeLimits } : { onReady: (socket) => pooled.attach(socket) }),
  });
  const closeSilent = () => connections.closeSilent(silentMs);
  // The address is asked again, which leads to the new primary.
  const noteError = (error: unknown) => {
    if (isReadOnly(error)) connections.closeAll();
  };
  const sql = withDeadline(
    postgres(withLongStartup(address), {
      max,
      connect_timeout: databaseWaitMs / 1000,
      idle_timeout: idleSeconds,
      backoff: (attempt) => Math.min(0.05 * 2 ** attempt, 1),
      ...connections.driverOption,
      onnotice: () => {},
      types: { bigint: bigintAsNumber },
      transform: camelCaseColumns,
      ssl: false,
      connection: { application_name: applicationName },
    }),
    databaseWaitMs,
    {
      tellCount: (underWay) => {
        use.queries = underWay;
      },
      onLate: closeSilent,
      onError: noteError,
      ...(pooled === null
        ? {}
        : { leavesLate: true, onSent: (connection, expiresAt) => pooled.limit(connection, expiresAt) }),
    },
  );
  const limitOf = pooled === null ? null : (expiresAt: number) => pooled.limitOf(expiresAt);
  const shares = new SharedSlots(Number.POSITIVE_INFINITY, Math.ceil(max * tenantShare));
  pools.set(sql, { use, shares, closeSilent, noteError, limitOf });
  return sql;
}

/** What a transaction needs of its pool. */
interface Pool {
  readonly use: PoolUse;
  /** Held by the transactions of each tenant. */
  readonly shares: SharedSlots;
  /** Closes the connections on which nothing comes any more; called when a statement or transaction was too late. */
  readonly closeSilent: () => void;
  /** Called with the error of a transaction. */
  readonly noteError: (error: unknown) => void;
  /** Over a pooler: returns the statement that ends a transaction which would be committed after this time. */
  readonly limitOf: ((expiresAt: number) => string) | null;
}

const pools = new WeakMap<Sql, Pool>();

/** Returns what belongs to a client that `openDatabase` opened; undefined for any other. */
export function poolUseOf(sql: Sql): Pool | undefined {
  return pools.get(sql);
}

/** The driver sends what it has collected at once when it has this many bytes, else in the next step of the event loop. */
const sentAtOnceBytes = 1024;

/**
 * Returns the URL of an address, whose start-up message is long, by blanks behind a setting that
 * every server and pooler takes, and that the driver needs to be so anyway. The
 * driver (3.4.9) loses a write that it has collected and not sent when the
 * connection breaks; the connection made in its place then sends nothing, not even
 * its start-up message, unless that is long enough to be sent at once.
 */
export function withLongStartup({ plainUrl }: DatabaseAddress): string {
  const url = new URL(plainUrl);
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

/** Postgres' type number of `json`, which keeps a text as it was written; `jsonb` would reorder it. */
const jsonOid = 114;

/** Returns a value for a `json` column, stored as the very text `JSON.stringify` makes. */
export function json(sql: AnySql, value: unknown): postgres.Parameter {
  return sql.typed(value as never, jsonOid) as unknown as postgres.Parameter;
}
