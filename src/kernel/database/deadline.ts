import type postgres from "postgres";
import { refuseInTransaction } from "../async/in-transaction.ts";

/** What the driver knows a connection by. */
interface RunningOn {
  readonly pid: number | null;
  readonly secret: number | null;
}

/** Settling hooks that the driver keeps on each query. */
interface RunningQuery extends Promise<unknown> {
  /** The connection that runs it; null before one does. */
  readonly state: RunningOn | null;
  /** The driver asks `onexecute` of a query that it has sent whether more may be sent behind it on that connection. */
  readonly options: { onexecute?: () => boolean };
  /** Whether it was handed to the pool. */
  readonly executed: boolean;
  resolve(value: unknown): void;
  reject(error: unknown): void;
  cancel(): unknown;
  handle(): Promise<void>;
}

interface DeadlineOptions {
  readonly tellCount?: (underWay: () => number) => void;
  readonly onLate?: () => void;
  /** Called with the error of each query that failed. */
  readonly onError?: (error: unknown) => void;
  /** Called with the connection of each query just before it is sent there, and when its deadline is. */
  readonly onSent?: (connection: RunningOn, expiresAt: number) => void;
  /** Whether what is too late is left to the server to end, which was told its limit. */
  readonly leavesLate?: boolean;
  /** For a single connection, on which a statement has to wait for the others in either case: they are sent at once. */
  readonly pipelined?: boolean;
}

/** A statement, or the wait for a connection to run it on, took too long. */
export class DeadlineError extends Error {
  override readonly name = "DeadlineError";
}

/** What replaces a query that was rejected before it was sent. */
const nothing = { cancelled: null, strings: ["select"], args: [] };

/**
 * The driver (3.4.9) sends statements down connections that have one to run when all have: behind one
 * that waits for a row's lock for seconds, while other connections are free again at once. With this they
 * wait in the pool's own queue, first come first served. Its option `max_pipeline` cannot say so: 1 allows
 * one statement behind another, and with 0 no transaction begins.
 */
const oneAtATime = () => false;

/** How often the deadlines of running queries are checked, and so by how much a query may exceed its own. */
const sweepEveryMs = 250;

/**
 * Gives every plain query of a client a deadline, because the driver itself
 * waits for a connection without limit. One timer for all queries: a timer each
 * would cost more than many of the queries do. `tellCount` is given a function
 * that says how many queries are under way; `onLate` is called when some were too late.
 * A connection runs one statement at a time, and the others wait for a free connection.
 */
export function withDeadline(
  sql: postgres.Sql,
  waitMs: number,
  { tellCount = () => {}, onLate = () => {}, onError = () => {}, onSent, ...how }: DeadlineOptions = {},
): postgres.Sql {
  const running = new Map<RunningQuery, number>();
  tellCount(() => running.size);
  let timer: ReturnType<typeof setInterval> | null = null;

  const sweep = () => {
    const now = Date.now();
    const before = running.size;
    for (const [query, expiresAt] of running) {
      if (expiresAt > now) break; // Insertion order is expiry order.
      running.delete(query);
      const isUnsent = query.state === null;
      if (isUnsent || how.leavesLate !== true) query.cancel();
      // The driver (3.4.9) opens a connection for a query, and never uses it when that query was cancelled meanwhile.
      if (isUnsent) Object.assign(query, nothing);
      query.reject(new DeadlineError(`The database did not respond within ${waitMs} ms.`));
    }
    if (running.size < before) onLate();
    if (running.size === 0 && timer !== null) {
      clearInterval(timer);
      timer = null;
    }
  };

  const watch = (query: RunningQuery) => {
    if (how.pipelined !== true) query.options.onexecute = oneAtATime;
    const { resolve, reject } = query;
    query.resolve = (value) => {
      running.delete(query);
      resolve(value);
    };
    query.reject = (error) => {
      running.delete(query);
      onError(error);
      reject(error);
    };
    const expiresAt = Date.now() + waitMs;
    running.set(query, expiresAt);
    if (onSent !== undefined) watchSending(query, (connection) => onSent(connection, expiresAt));
    timer ??= setInterval(sweep, sweepEveryMs);
  };
  // One for all queries: a statement is put together of dozens, of which the driver handles one.
  function handle(this: RunningQuery) {
    refuseInTransaction("A second connection");
    if (!this.executed) watch(this);
    return (Object.getPrototypeOf(this) as RunningQuery).handle.call(this);
  }

  return new Proxy(sql, {
    apply(target, self, args) {
      const made: unknown = Reflect.apply(target as unknown as (...all: unknown[]) => unknown, self, args);
      if (isQuery(made)) made.handle = handle;
      return made;
    },
  });
}

/** The driver (3.4.9) notes on a query which connection it is on, and then sends it. */
function watchSending(query: RunningQuery, onSent: (connection: RunningOn) => void): void {
  let state = query.state;
  Object.defineProperty(query, "state", {
    get: () => state,
    set: (connection: RunningOn) => {
      state = connection;
      onSent(connection);
    },
  });
}

function isQuery(made: unknown): made is RunningQuery {
  return made instanceof Promise && "handle" in made;
}
