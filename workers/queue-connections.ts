import { EventEmitter } from "node:events";
import type { Socket } from "node:net";
import { clearTimeout, setImmediate, setTimeout } from "node:timers";
import { Client, Pool, type PoolClient, type PoolConfig } from "pg";
import { addressOf } from "../src/kernel/database/address.ts";
import { isReadOnly } from "../src/kernel/database/failure.ts";
import { vanishedHostSettings } from "../src/kernel/database/keepalive.ts";
import { PooledConnections } from "../src/kernel/database/pooled-connections.ts";
import { PooledStream } from "../src/kernel/database/pooled-stream.ts";
import { statementTimeoutMs } from "../src/kernel/database/pooler-limits.ts";
import { addressedSocket } from "../src/kernel/database/socket.ts";
import { databaseWaitMs } from "../src/kernel/limits.ts";
import type { Logger } from "../src/kernel/telemetry/log.ts";

/** A connection that has not responded for so long is closed; the server has ended its statement before. A job that it fetched or ended meanwhile is found by the queue's scan for lost jobs. */
const responseMs = databaseWaitMs;

/** Where the queue is, and the name by which the reaper finds a worker's connections. */
export interface QueueDatabase {
  readonly databaseUrl: string;
  /** A pooler in transaction mode, through which jobs are fetched and ended; null: there is none. */
  readonly databasePoolUrl: string | null;
  readonly applicationName: string;
}

const settings = `set synchronous_commit = off; set statement_timeout = ${statementTimeoutMs}; ${vanishedHostSettings}`;

/** A connection that nothing uses for this long is closed. */
const idleMs = 2_000;

/**
 * Returns the pool of the queue's own connections. They do not wait until the fetching or the ending
 * of a job is on disk, which saves two of a turn's five waits: a crash of Postgres
 * that loses one of these lets the job be fetched again, and its turn, run, event
 * or delivery refuses to begin twice by its own row. Settings are made by a
 * statement, because a pooler may refuse them as start-up parameters.
 */
export function openQueueConnections(
  { databaseUrl, databasePoolUrl, applicationName }: QueueDatabase,
  connectionsMax: number,
  log: Logger,
): Pool {
  const pool = new UnheardPool({
    ...(databasePoolUrl === null ? direct(databaseUrl, applicationName) : pooled(databasePoolUrl)),
    max: connectionsMax,
    connectionTimeoutMillis: databaseWaitMs,
    idleTimeoutMillis: idleMs,
    Client: BoundedClient,
  });
  const note = (error: unknown) => log.debug({ err: error }, "a connection of the queue broke");
  pool.on("error", note);
  pool.on("connect", (client) => client.on("error", note));
  return pool;
}

function direct(databaseUrl: string, applicationName: string): PoolConfig {
  const address = addressOf(databaseUrl);
  return {
    connectionString: address.url,
    application_name: applicationName,
    stream: () => addressedSocket(address),
    // The pool awaits it before it hands the connection out, although its type is `void`.
    onConnect: (client) => client.query(settings) as unknown as undefined,
  };
}

/** The settings are made in each transaction. A host that vanishes is the pooler's to find. */
function pooled(databasePoolUrl: string): PoolConfig {
  const address = addressOf(databasePoolUrl);
  const connections = new PooledConnections(address, { synchronous_commit: "off" });
  const stream = () => new PooledStream(address, connections) as unknown as Socket;
  return { connectionString: address.plainUrl, ssl: false, stream };
}

/**
 * graphile-worker (0.18.0) keeps a connection to listen on, the only one that it asks for by a callback. The worker's
 * lock connection listens for it, so it is given one that hears nothing, and no process holds another for that.
 */
class UnheardPool extends Pool {
  override connect(): Promise<PoolClient>;
  override connect(done: Done): void;
  override connect(done?: Done): Promise<PoolClient> | undefined {
    if (done === undefined) return super.connect();
    const unheard = Object.assign(new EventEmitter(), { query: () => Promise.resolve({ rows: [] }) });
    setImmediate(() => done(undefined, unheard as unknown as PoolClient, () => {}));
    return undefined;
  }

  /** The pool's own asks for a connection by a callback too. */
  override query: Pool["query"] = async (...args: unknown[]) => {
    const client = await super.connect();
    try {
      return await (client.query as (...all: unknown[]) => Promise<never>)(...args);
    } finally {
      client.release();
    }
  };
}

type Done = (error: Error | undefined, client: PoolClient | undefined, release: (release?: unknown) => void) => void;

/** The connection's own socket, which the driver's types do not know. */
interface Connected {
  readonly connection: { readonly stream: { destroy(): void } };
}

/**
 * A connection that is closed when a query on it gets no response. The driver's
 * own limit for queries only stops waiting: the connection goes back to the pool,
 * and the next query waits behind the one that never gets a response. A server that
 * disappeared without closing its connections would so stop the queue for a quarter of an hour.
 */
class BoundedClient extends Client {
  #timer: NodeJS.Timeout | undefined;

  constructor(options?: ConstructorParameters<typeof Client>[0]) {
    super(options);
    for (const event of ["drain", "end"] as const) this.on(event, () => this.#clear());
  }

  override query: Client["query"] = (...args: unknown[]) => {
    const result = (super.query as (...all: unknown[]) => never)(...args);
    this.#timer ??= setTimeout(() => this.#late(), responseMs).unref();
    if ((result as unknown) instanceof Promise)
      (result as Promise<unknown>).catch((error) => {
        // Another host may be the primary by now, and is found when this one's connection has closed.
        if (isReadOnly(error)) (this as unknown as Connected).connection.stream.destroy();
      });
    return result;
  };

  /** Closes the connection, unless its response comes in the same turn of the event loop: after a pause of the whole process it may be there and not be read yet. */
  #late(): void {
    const timer = this.#timer;
    setImmediate(() => {
      if (timer === this.#timer) (this as unknown as Connected).connection.stream.destroy();
    });
  }

  /** Every query has got its response. */
  #clear(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
