/** The worker pool alone: any number of these processes, beside any number of `serve`. */
import { checkDatabase } from "../src/roles/database.ts";
import { type Role, runRole } from "../src/roles/run.ts";
import { openRelay, openWorkerContext, requireShared } from "../src/roles/tier.ts";
import { startWorkerPool } from "./main.ts";

const work: Role = async (config, log, opened) => {
  const { databaseUrl, redisUrl, encryptionKey } = requireShared(config);
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
  const pool = await startWorkerPool(openWorkerContext(foundation, opened), { databaseUrl });
  opened.defer(() => pool.drain(config.drainSeconds * 1000));
  log.info({ worker: pool.id, concurrency: config.workerConcurrency }, "working");
};

await runRole(work);
