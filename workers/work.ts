/** The worker pool alone: any number of these processes, beside any number of `serve`. */
import { createOperatorApp } from "../src/operator-app.ts";
import { checkDatabase } from "../src/roles/database.ts";
import { takePort } from "../src/roles/http.ts";
import { type Role, runRole } from "../src/roles/run.ts";
import { openRelay, openWorkerContext, requireShared } from "../src/roles/tier.ts";
import { startWorkerPool } from "./main.ts";

const work: Role = async (config, log, opened, end) => {
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

await runRole(work);
