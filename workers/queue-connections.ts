import { Pool } from "pg";
import type { Logger } from "../src/log.ts";

/** Fetching and completing jobs is batched, so a few connections are plenty. */
const connectionsMax = 6;

/**
 * The queue's own connections. They do not wait until the fetching or the ending
 * of a job is on disk, which saves two of a turn's five waits: a crash of Postgres
 * that loses one of these lets the job be fetched again, and its turn, run, event
 * or delivery refuses to begin twice by its own row. The setting is made by a
 * statement, because a pooler may refuse it as a start-up parameter.
 */
export function openQueueConnections(connectionString: string, log: Logger): Pool {
  const pool = new Pool({
    connectionString,
    max: connectionsMax,
    // Awaited before the connection is handed out; its type says less.
    onConnect: (client) => client.query("set synchronous_commit = off") as unknown as undefined,
  });
  const note = (error: unknown) => log.debug({ err: error }, "a connection of the queue broke");
  pool.on("error", note);
  pool.on("connect", (client) => client.on("error", note));
  return pool;
}
