import { clearTimeout, setImmediate, setTimeout } from "node:timers";
import { Client, Pool } from "pg";
import { statementTimeoutMs } from "../src/kernel/database/client.ts";
import { databaseWaitMs } from "../src/kernel/limits.ts";
import type { Logger } from "../src/kernel/telemetry/log.ts";

/** Fetching and completing jobs is batched, so a few connections are plenty. */
const connectionsMax = 6;
/** A connection that has not answered for so long is given up; the server has ended its statement before. What it fetched or ended meanwhile is found by the queue's look. */
const answerMs = databaseWaitMs;

const settings = `set synchronous_commit = off; set statement_timeout = ${statementTimeoutMs}`;

/**
 * The queue's own connections. They do not wait until the fetching or the ending
 * of a job is on disk, which saves two of a turn's five waits: a crash of Postgres
 * that loses one of these lets the job be fetched again, and its turn, run, event
 * or delivery refuses to begin twice by its own row. Settings are made by a
 * statement, because a pooler may refuse them as start-up parameters.
 */
export function openQueueConnections(connectionString: string, log: Logger): Pool {
  const pool = new Pool({
    connectionString,
    max: connectionsMax,
    connectionTimeoutMillis: databaseWaitMs,
    Client: BoundedClient,
    // Awaited before the connection is handed out; its type says less.
    onConnect: (client) => client.query(settings) as unknown as undefined,
  });
  const note = (error: unknown) => log.debug({ err: error }, "a connection of the queue broke");
  pool.on("error", note);
  pool.on("connect", (client) => client.on("error", note));
  return pool;
}

/** The connection's own socket, which the driver's types do not know. */
interface Connected {
  readonly connection: { readonly stream: { destroy(): void } };
}

/**
 * A connection that breaks when what it was asked is not answered. The driver's
 * own limit for queries only stops waiting: the connection goes back to the pool,
 * and the next query waits behind the one that is never answered. A server that
 * vanished without a word would so stop the queue for a quarter of an hour.
 */
class BoundedClient extends Client {
  #timer: NodeJS.Timeout | undefined;

  constructor(options?: ConstructorParameters<typeof Client>[0]) {
    super(options);
    for (const event of ["drain", "end"] as const) this.on(event, () => this.#rest());
  }

  override query: Client["query"] = (...args: unknown[]) => {
    const answer = (super.query as (...all: unknown[]) => never)(...args);
    this.#timer ??= setTimeout(() => this.#late(), answerMs).unref();
    return answer;
  };

  /** After a pause of the whole process the answer may be there and not be read yet. */
  #late(): void {
    const timer = this.#timer;
    setImmediate(() => {
      if (timer === this.#timer) (this as unknown as Connected).connection.stream.destroy();
    });
  }

  /** All was answered. */
  #rest(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
