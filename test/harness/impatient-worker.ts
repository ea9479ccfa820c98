import { readConfig } from "../../src/kernel/config.ts";
import { createContext } from "../../src/kernel/context.ts";
import { openDatabase } from "../../src/kernel/database/client.ts";
import { RedisRelay } from "../../src/kernel/relay/redis.ts";
import { createLogger } from "../../src/kernel/telemetry/log.ts";
import { startWorkerPool } from "../../workers/main.ts";
import type { Installation } from "./processes.ts";

/** A worker pool in this process that takes a beat of `frozenMs` for frozen. */
export async function startImpatientWorker(installation: Installation, frozenMs: number): Promise<AsyncDisposable> {
  const config = readConfig({ ...installation.env, LOG_LEVEL: "silent" });
  const log = createLogger(config.logLevel);
  const sql = openDatabase({ url: installation.databaseUrl, max: 10, applicationName: "parley-worker" });
  const relay = new RedisRelay({ url: installation.env.REDIS_URL ?? "" });
  const encryptionKey = config.encryptionKey ?? Buffer.alloc(32);
  const ctx = createContext({ config, log, sql, relay, redis: null, encryptionKey, publicUrl: "" });
  const pool = await startWorkerPool(ctx, { databaseUrl: installation.databaseUrl, frozenMs });
  return {
    [Symbol.asyncDispose]: async () => {
      await pool.drain(0);
      await relay.close();
      await sql.end({ timeout: 1 });
    },
  };
}
