import { mkdir, realpath } from "node:fs/promises";
import { findBinaries } from "./binaries.ts";
import { initialiseCluster } from "./cluster.ts";
import { lockFolder } from "./lock.ts";
import { findPlace, noteInitialised } from "./place.ts";
import { removeOrphan } from "./postmaster.ts";
import { type Server, startServer } from "./server.ts";

/** A Postgres that belongs to this process. */
export interface EmbeddedPostgres {
  /** The connection URL of the database, with its password. */
  readonly url: string;
  /** The folder with its data: below the home, or elsewhere when its account cannot reach the home. */
  readonly folder: string;
  /** Ends the server and releases the home. Calling it again waits for the same end. */
  stop(): Promise<void>;
}

export interface EmbeddedPostgresOptions {
  /** The service's folder, absolute; made when absent. */
  readonly home: string;
  /** The port on 127.0.0.1; absent or 0 takes a free one. */
  readonly port?: number;
  /** Trades durability for speed: for tests, whose data may be lost with the machine. */
  readonly fast?: boolean;
  /** How many connections it accepts, where not the usual number. */
  readonly connections?: number;
  readonly log: (message: string) => void;
}

/**
 * Starts the Postgres of a home, initialised at its first use, and returns it when it accepts connections. It
 * listens on 127.0.0.1 only, for the user `parley` with the home's own password. Throws an error of one line
 * when another instance uses the home, the port is taken, or the data cannot be reached.
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  await mkdir(options.home, { recursive: true }).catch((error: Error) => {
    throw new Error(`Cannot make ${options.home}: ${error.message}. Choose another PARLEY_HOME.`);
  });
  const home = await realpath(options.home);
  const locks = [await lockFolder(home)];
  const unlock = async () => {
    for (const lock of locks.splice(0)) await lock.release();
  };
  try {
    const place = await findPlace(home, options.log);
    // A copied home names the same data as its original.
    if (!place.folder.startsWith(`${home}/`)) locks.push(await lockFolder(place.folder));
    const binaries = await findBinaries(place.folder, place.account);
    if (!place.initialised) {
      await initialiseCluster(place, binaries.initdb, options.fast === true);
      await noteInitialised(home, place);
    }
    await removeOrphan(place.data, options.log);
    const server = await startServer(place, binaries.postgres, options);
    return handle(server, { folder: place.folder, unlock, log: options.log });
  } catch (error) {
    await unlock();
    throw error;
  }
}

function handle(
  { postmaster, url }: Server,
  more: {
    readonly folder: string;
    readonly unlock: () => Promise<void>;
    readonly log: (message: string) => void;
  },
): EmbeddedPostgres {
  const { folder, unlock, log } = more;
  let stopped: Promise<void> | null = null;
  void postmaster.exited.then(() => {
    if (stopped === null) log("The embedded Postgres ended by itself. Restart the service.");
  });
  return {
    url,
    folder,
    stop() {
      stopped ??= postmaster.stop().finally(unlock);
      return stopped;
    },
  };
}
