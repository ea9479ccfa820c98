import { startWorkerPool } from "../../workers/main.ts";
import { createOperatorApp } from "../kernel/http/operator-app.ts";
import { checkDatabase } from "./database.ts";
import { takePort } from "./http.ts";
import type { Role } from "./run.ts";
import { openRelay, openWorkerContext, requireShared } from "./tier.ts";

/** The worker pool alone: any number of these processes, beside any number of `serve`. */
export const work: Role = async (config, log, opened, end) => {
  const { databaseUrl, redisUrl, encryptionKey } = requireShared(config);
  const metrics =
    config.metricsPort === null ? null : takePort({ ...config, port: config.metricsPort }, "METRICS_PORT");
  opened.defer(async () => metrics?.drain(0));
  await checkDatabase(databaseUrl);
  const relay = openRelay(redisUrl, log, opened);
  const publicUrl = config.publicUrl ?? "";
  const foundation = {
    config,
    log,
    databaseUrl,
    relay,
    redis: null,
    encryptionKey,
    publicUrl,
    simulatedModelUrl: null,
  };
  const ctx = openWorkerContext(foundation, opened);
  const pool = await startWorkerPool(ctx, { databaseUrl });
  metrics?.open(createOperatorApp(ctx));
  opened.defer(() => pool.drain(config.drainSeconds * 1000));
  log.info({ worker: pool.id, concurrency: config.workerConcurrency, metrics: metrics?.port }, "working");
  void pool.drained.then(() => end("an operator's drain"));
};
