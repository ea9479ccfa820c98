import { startWorkerPool } from "../../workers/main.ts";
import { createOperatorApp } from "../kernel/http/operator-app.ts";
import { followEpoch } from "../kernel/relay/epoch.ts";
import { checkDatabase, checkPooler, explained } from "./database.ts";
import { openFoundation, openWorkerContext } from "./foundation.ts";
import { openMetricsPort } from "./http.ts";
import { openRuntime } from "./open-runtime.ts";
import { checkRedis } from "./redis.ts";
import type { Role } from "./run.ts";
import { requireShared } from "./shared.ts";

/** The worker pool alone: any number of these processes, beside any number of `serve`. */
export const work: Role = async (config, log, opened, end) => {
  const shared = requireShared(config);
  const metrics = await openMetricsPort(config, log, opened);
  await checkDatabase(shared.databaseUrl);
  await checkPooler(shared.databaseUrl, config.databasePoolUrl);
  await checkRedis(shared.redisUrl);
  const publicUrl = config.publicUrl ?? "";
  const foundation = openFoundation({ ...shared, config, log, publicUrl, simulatedModelUrl: null }, opened);
  const ctx = openWorkerContext(foundation, opened);
  opened.defer(await followEpoch(ctx.lookSql, ctx.relay));
  await openRuntime(config, log, opened);
  const workers = await startWorkerPool(ctx, shared).catch((error) => {
    throw explained(error);
  });
  opened.defer(() => {
    metrics?.beginDrain();
    log.info({ turns: workers.turns(), seconds: config.drainSeconds }, "draining: turns are finished for so long");
    return workers.drain(config.drainSeconds * 1000);
  });
  metrics?.open(createOperatorApp(ctx));
  log.info({ worker: workers.id, concurrency: config.workerConcurrency, metrics: metrics?.port }, "working");
  void workers.drained.then(() => end("an operator's drain"));
};
