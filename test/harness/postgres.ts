import { execFileSync } from "node:child_process";
import { mkdtemp, readFile, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findPlace } from "../../src/embedded/place.ts";
import { type EmbeddedPostgres, startEmbeddedPostgres } from "../../src/embedded/postgres.ts";
import { migrate } from "../../src/kernel/database/migrate.ts";
import { createLogger } from "../../src/kernel/telemetry/log.ts";

/** A Postgres of a test's own, durable like a real one, to be restarted, killed and frozen. */
export interface TestPostgres extends AsyncDisposable {
  readonly url: string;
  /** Ends every connection, stops, and starts again on the same port. */
  restart(): Promise<void>;
  /** `kill -9` of the server, which then recovers on the same port. */
  crash(): Promise<void>;
  /** Stops all its processes where they are, until `thaw`. */
  freeze(): Promise<void>;
  thaw(): Promise<void>;
}

/** Starts a migrated Postgres, with its data below `parent`. */
export async function startPostgres(parent: string = tmpdir()): Promise<TestPostgres> {
  const home = await realpath(await mkdtemp(join(parent, "parley-postgres-")));
  const start = (port?: number) =>
    startEmbeddedPostgres({ home, log: () => {}, ...(port === undefined ? {} : { port }) });
  let server: EmbeddedPostgres = await start();
  const { url } = server;
  const port = Number(new URL(url).port);
  await migrate(url, createLogger("warn"));
  const signalAll = async (signal: NodeJS.Signals) => {
    const postmaster = await postmasterOf(home);
    for (const pid of [postmaster, ...childrenOf(postmaster)]) signalIfThere(pid, signal);
  };
  return {
    url,
    restart: async () => {
      await server.stop();
      server = await start(port);
    },
    crash: async () => {
      process.kill(await postmasterOf(home), "SIGKILL");
      await server.stop();
      server = await start(port);
    },
    freeze: () => signalAll("SIGSTOP"),
    thaw: () => signalAll("SIGCONT"),
    [Symbol.asyncDispose]: async () => {
      await signalAll("SIGCONT").catch(() => {});
      await server.stop();
      const { folder } = await findPlace(home, () => {});
      await rm(folder, { recursive: true, force: true });
      await rm(home, { recursive: true, force: true });
    },
  };
}

/** The server's process, which its data folder names. */
async function postmasterOf(home: string): Promise<number> {
  const { data } = await findPlace(home, () => {});
  return Number.parseInt(await readFile(join(data, "postmaster.pid"), "utf8"), 10);
}

function childrenOf(parent: number): number[] {
  const lines = execFileSync("ps", ["-A", "-o", "pid=,ppid="], { encoding: "utf8" }).trim().split("\n");
  return lines
    .map((line) => line.trim().split(/\s+/).map(Number))
    .flatMap(([pid, ppid]) => (ppid === parent && pid !== undefined ? [pid] : []));
}

/** Signals a process, unless it has ended in the meantime, as a connection's may. */
function signalIfThere(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}
