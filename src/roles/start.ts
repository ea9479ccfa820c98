import { mkdir, realpath } from "node:fs/promises";
import { startWorkerPool } from "../../workers/main.ts";
import { createApp } from "../app.ts";
import { lockFolder } from "../embedded/lock.ts";
import { startEmbeddedPostgres } from "../embedded/postgres.ts";
import type { Config } from "../kernel/config.ts";
import { migrate } from "../kernel/database/migrate.ts";
import { MemoryRelay } from "../kernel/relay/memory.ts";
import type { Relay } from "../kernel/relay/relay.ts";
import type { Logger } from "../kernel/telemetry/log.ts";
import { startSimulatedModel } from "../simulated-model/server.ts";
import { banner } from "./banner.ts";
import { reach } from "./database.ts";
import { findDemo } from "./demo.ts";
import { findEncryptionKey } from "./encryption-key.ts";
import { type HttpTier, takePort } from "./http.ts";
import { OperatorError, reasonOf } from "./operator-error.ts";
import { refuseTransactionPooler } from "./pooler.ts";
import type { Role } from "./run.ts";
import { announce, withdraw } from "./running.ts";
import { openHttpContext, openRedis, openRelay, openWorkerContext } from "./tier.ts";

/** Streams outlast the drain by this much, so that turns which it cut off can still say so. */
const lastWordsMs = 2_000;

/** Everything in one process: what the configuration does not name is embedded. */
export const start: Role = async (config, log, opened) => {
  const http = takePort(config);
  opened.defer(() => http.drain(0));
  const database = await openDatabaseServer(config, log, opened);
  const encryptionKey = await findEncryptionKey(config);
  await reach(() => migrate(database.url, log));
  if (config.databaseUrl === null) {
    await announce(config.home, { pid: process.pid, databaseUrl: database.url });
    opened.defer(() => withdraw(config.home));
  }

  const model = startSimulatedModel();
  opened.defer(() => model.stop());
  const foundation = {
    config,
    log,
    databaseUrl: database.url,
    relay: openSharedRelay(config, log, opened),
    redis: config.redisUrl === null ? null : openRedis(config.redisUrl, log, opened),
    encryptionKey,
    publicUrl: http.publicUrl,
    simulatedModelUrl: model.url,
  };
  const httpContext = openHttpContext(foundation, opened);
  const demo = await findDemo(httpContext, model.url);
  const workers = await startWorkerPool(openWorkerContext(foundation, opened), { databaseUrl: database.url });
  opened.defer(() => drain(http, workers, config.drainSeconds * 1000));
  http.open(createApp(httpContext));
  process.stdout.write(banner({ publicUrl: http.publicUrl, demo, database: database.shown }));
};

/** HTTP and workers drain side by side: an open stream ends when its turn does. */
async function drain(
  http: HttpTier,
  workers: { drain(limitMs: number): Promise<void> },
  limitMs: number,
): Promise<void> {
  const streams = http.drain(limitMs + lastWordsMs);
  await workers.drain(limitMs);
  await streams;
}

function openSharedRelay(config: Config, log: Logger, opened: AsyncDisposableStack): Relay {
  if (config.redisUrl !== null) return openRelay(config.redisUrl, log, opened);
  const relay = new MemoryRelay();
  opened.defer(() => relay.close());
  return relay;
}

/** The database that `DATABASE_URL` names, or the home's own. Either way the home is this process's alone. */
async function openDatabaseServer(
  { databaseUrl, home }: Config,
  log: Logger,
  opened: AsyncDisposableStack,
): Promise<{ url: string; shown: string }> {
  try {
    if (databaseUrl !== null) {
      await mkdir(home, { recursive: true });
      const lock = await lockFolder(await realpath(home));
      opened.defer(() => lock.release());
      await reach(() => refuseTransactionPooler(databaseUrl));
      const { host, pathname } = new URL(databaseUrl);
      return { url: databaseUrl, shown: `${host}${pathname}` };
    }
    let started = false;
    // What it says while it starts is for the curious; later on it speaks only when it has ended.
    const say = (message: string) => (started ? log.error(message) : log.info(message));
    const server = await startEmbeddedPostgres({ home, log: say });
    started = true;
    opened.defer(() => server.stop());
    return { url: server.url, shown: home };
  } catch (error) {
    throw error instanceof OperatorError ? error : new OperatorError(reasonOf(error));
  }
}
