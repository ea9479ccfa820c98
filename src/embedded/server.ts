import { readFile, rename } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import connect from "postgres";
import { sleep } from "../kernel/async/wait.ts";
import { databaseName, userName } from "./cluster.ts";
import type { Place } from "./place.ts";
import { type Postmaster, startPostmaster } from "./postmaster.ts";

/** A server that accepts connections. */
export interface Server {
  readonly postmaster: Postmaster;
  /** The connection URL of the service's database. */
  readonly url: string;
}

interface ServerOptions {
  readonly port?: number;
  readonly fast?: boolean;
  /** How many connections it accepts; `connectionsMax` when left out. */
  readonly connections?: number;
}

/** How many connections the server accepts by itself: those of all processes' pools together. */
const connectionsMax = 200;
/** Time limit until a server accepts connections, recovery from a crash included. */
const startMs = 60_000;
/** How often it is checked whether a starting server is ready. */
const pollMs = 20;
const connectSeconds = 10;
/** How many free ports are tried: another process may take one between its choice and its use. */
const portChoices = 5;
/** Time limit for the backends of a killed server to end; until then they hold its shared memory. */
const leftoversMs = 10_000;

const portTaken = /could not bind .*(Address already in use|in use)/i;
const leftovers = /pre-existing shared memory block/;

/**
 * Starts a server on the place's data, and returns it when it accepts connections and has the service's database.
 * Throws when the given port is taken, or with what the server printed last.
 */
export async function startServer(place: Place, program: string, options: ServerOptions): Promise<Server> {
  const logFile = join(place.folder, "postgres.log");
  await rename(logFile, `${logFile}.previous`).catch(() => {});
  const leftoversLimit = Date.now() + leftoversMs;
  for (let choices = 1; ; ) {
    const port = options.port || (await freePort());
    const args = serverArguments(place.data, port, options);
    const postmaster = startPostmaster(place.account, program, args, place.data, logFile);
    const failure = await untilReady(postmaster, place, port).catch((error: Error) => error);
    if (failure === null) return { postmaster, url: serverUrl(place, port, databaseName) };
    await postmaster.stop();
    const printed = await readFile(logFile, "utf8").catch(() => "");
    if (leftovers.test(printed) && Date.now() < leftoversLimit) await sleep(pollMs);
    else if (portTaken.test(printed) && !options.port && choices < portChoices) choices += 1;
    else if (portTaken.test(printed))
      throw new Error(`Port ${port} on 127.0.0.1 is taken: the embedded Postgres cannot listen there.`);
    else
      throw new Error(
        `The embedded Postgres did not start: ${/FATAL: +(.*)/.exec(printed)?.[1] ?? failure.message} (log: ${logFile})`,
      );
  }
}

function serverArguments(
  data: string,
  port: number,
  { fast = false, connections = connectionsMax }: ServerOptions,
): string[] {
  const settings = [
    "listen_addresses=127.0.0.1",
    // No socket file: other accounts can use one in a shared folder, and a path in the home may be too long for one.
    "unix_socket_directories=",
    `max_connections=${connections}`,
    "timezone=UTC",
    "log_timezone=UTC",
    // Errors of statements reach the client. In the log they would take space and show tenants' data.
    "log_min_messages=log",
    "log_checkpoints=off",
    ...(fast ? ["fsync=off", "synchronous_commit=off", "full_page_writes=off"] : []),
  ];
  return ["-D", data, "-p", String(port), ...settings.flatMap((setting) => ["-c", setting])];
}

/** Waits until the server is ready, and makes the database if it is not there. Returns null, or the error when the server is not ready. */
async function untilReady(postmaster: Postmaster, place: Place, port: number): Promise<Error | null> {
  let ended: Error | null = null;
  void postmaster.exited.then((error) => {
    ended = error ?? new Error("it ended at once");
  });
  const limit = Date.now() + startMs;
  // It is not connected to before its pid file says that it is ready: until then, another process may be listening on the port.
  while (ended === null && !(await postmaster.isReady())) {
    if (Date.now() > limit) return new Error(`not ready within ${startMs / 1000} s`);
    await sleep(pollMs);
  }
  if (ended !== null) return ended;
  await ensureDatabase(serverUrl(place, port, "postgres"));
  return null;
}

async function ensureDatabase(url: string): Promise<void> {
  const sql = connect(url, { max: 1, connect_timeout: connectSeconds, onnotice: () => {} });
  try {
    const found = await sql`select 1 from pg_database where datname = ${databaseName}`;
    if (found.length === 0) await sql`create database ${sql(databaseName)}`;
  } finally {
    await sql.end({ timeout: 0 });
  }
}

function serverUrl(place: Place, port: number, database: string): string {
  return `postgres://${userName}:${place.password}@127.0.0.1:${port}/${database}`;
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once("error", reject);
    probe.listen(0, "127.0.0.1", () => {
      const address = probe.address();
      probe.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0));
    });
  });
}
