/**
 * A worker process whose event loop stands in a turn: to parse a JSON text that has the words of its second argument takes as many
 * milliseconds as the third says, as it may with an input that is bounded in bytes and not in time. The first argument is after how many
 * milliseconds a silent worker is ended from outside.
 */
import { readConfig } from "../../src/kernel/config.ts";
import { createContext } from "../../src/kernel/context.ts";
import { openDatabase } from "../../src/kernel/database/client.ts";
import { RedisRelay } from "../../src/kernel/relay/redis.ts";
import { createLogger } from "../../src/kernel/telemetry/log.ts";
import { watchForStalls } from "../../src/kernel/telemetry/stalls.ts";
import { startWorkerPool } from "../../workers/main.ts";

const [frozenMs = "", words = "", standsMs = ""] = process.argv.slice(2);
const { parse } = JSON;
JSON.parse = (text: string, ...rest) => {
  const until = text.includes(words) ? performance.now() + Number(standsMs) : 0;
  while (performance.now() < until);
  return parse(text, ...rest);
};

const config = readConfig(process.env as Record<string, string>);
const { databaseUrl, redisUrl, encryptionKey } = config;
if (databaseUrl === null || redisUrl === null || encryptionKey === null)
  throw new Error("It needs both stores and a key.");
const log = createLogger("info");
watchForStalls(log);
const sql = openDatabase({ url: databaseUrl, max: 10, applicationName: "parley-worker" });
const relay = new RedisRelay({ url: redisUrl });
const ctx = createContext({ config, log, sql, relay, redis: null, encryptionKey, publicUrl: "" });
await startWorkerPool(ctx, { databaseUrl, frozenMs: Number(frozenMs) });
log.info("working");
