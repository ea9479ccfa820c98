import { startWorkerPool, type WorkerPool } from "../../workers/main.ts";
import { createApp } from "../app.ts";
import { createLink } from "../console-server/store.ts";
import { startHttpBeat } from "../installation/http-processes.ts";
import type { Config } from "../kernel/config.ts";
import { migrate } from "../kernel/database/migrate.ts";
import { followEpoch } from "../kernel/relay/epoch.ts";
import type { Logger } from "../kernel/telemetry/log.ts";
import { startSimulatedModel } from "../simulated-model/server.ts";
import { banner } from "./banner.ts";
import { ensurePages, servedPages } from "./built-pages.ts";
import { checkPooler, reach, refuseReadOnly } from "./database.ts";
import { findDemo } from "./demo.ts";
import { tellDraining } from "./draining.ts";
import { findEncryptionKey } from "./encryption-key.ts";
import { openFoundation, openHttpContext, openWorkerContext } from "./foundation.ts";
import { type HttpListener, openPort } from "./http.ts";
import { openRuntime } from "./open-runtime.ts";
import { openOwnDatabase } from "./own-database.ts";
import { checkRedis } from "./redis.ts";
import type { Role } from "./run.ts";
import { announce, withdraw } from "./running.ts";
import type { Shared } from "./shared.ts";

/** The HTTP tier drains this much longer than the workers, so that turns which were cut off can still send their end. */
const lastEventsMs = 2_000;

/** Everything in one process: what the configuration does not name is embedded. */
export const start: Role = async (config, log, opened) => {
  const http = await openPort(config, log, opened);
  const { shown, ...shared } = await makeShared(config, log, opened);
  const model = startSimulatedModel();
  opened.defer(() => model.stop());
  const { publicUrl } = http;
  const foundation = openFoundation({ ...shared, config, log, publicUrl, simulatedModelUrl: model.url }, opened);
  const ctx = openHttpContext(foundation, opened);
  // A relay of the process's own ends with it, and never knew another epoch.
  if (shared.redisUrl !== null) opened.defer(await followEpoch(ctx.probeSql, ctx.relay));
  const demo = await findDemo(ctx, model.url);
  const commands = await openRuntime(config, log, opened);
  opened.defer(startHttpBeat(ctx.probeSql, log));
  const workers = await startWorkerPool(openWorkerContext(foundation, opened), { ...shared, httpSql: ctx.sql });
  opened.defer(() => drainBoth(http, workers, config.drainSeconds * 1000));
  for (const pages of servedPages(config)) await ensurePages(log, pages);
  http.open(createApp(ctx));
  const code = config.console && demo.token !== null ? await createLink(ctx.sql, demo.tenantId, demo.token) : null;
  process.stdout.write(banner({ publicUrl, demo, database: shown, commands, page: config.console ? { code } : null }));
};

/** Returns what the operator configures for `serve` and `work`, made where it is not configured: a migrated database and a key. `shown` names the database for the banner. */
async function makeShared(
  config: Config,
  log: Logger,
  opened: AsyncDisposableStack,
): Promise<Shared & { readonly shown: string }> {
  const { databaseUrl, shown } = await openOwnDatabase(config, log, opened);
  const encryptionKey = await findEncryptionKey(config);
  await reach(() => refuseReadOnly(databaseUrl));
  await reach(() => migrate(databaseUrl, log));
  await checkPooler(databaseUrl, config.databasePoolUrl);
  await checkRedis(config.redisUrl);
  if (config.databaseUrl === null) {
    await announce(config.home, { pid: process.pid, databaseUrl });
    opened.defer(() => withdraw(config.home));
  }
  return { databaseUrl, redisUrl: config.redisUrl, encryptionKey, shown };
}

/** HTTP and workers drain side by side: an open stream ends when its turn does. */
async function drainBoth(http: HttpListener, workers: WorkerPool, limitMs: number): Promise<void> {
  tellDraining(workers.turns(), limitMs);
  const streams = http.drain(limitMs + lastEventsMs);
  await workers.drain(limitMs);
  await streams;
}
