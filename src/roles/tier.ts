import { Redis } from "ioredis";
import type { Config } from "../kernel/config.ts";
import { ConfigError } from "../kernel/config.ts";
import { type Ctx, createContext } from "../kernel/context.ts";
import { openDatabase } from "../kernel/database/client.ts";
import { RedisRelay } from "../kernel/relay/redis.ts";
import type { Relay } from "../kernel/relay/relay.ts";
import type { Logger } from "../kernel/telemetry/log.ts";

/** Connections of an HTTP process: enough to keep a Postgres of a few cores busy, few enough for many processes. */
const httpConnectionsMax = 20;
/** Connections of a worker process: its turns wait for the model, not for Postgres. */
const workerConnectionsMax = 20;
/** A closing pool waits this long for its last statements. */
const poolCloseSeconds = 5;
/** The rate limiter gives Redis this long, then the process counts for itself. */
const rateCommandTimeoutMs = 500;
const reconnectMsMax = 1_000;
/** While the relay's Redis fails, which it may do at every reconnect, a warning says so this often. */
const redisWordMs = 30_000;

/** What the processes of one installation share, and must be told. */
export interface Shared {
  readonly databaseUrl: string;
  readonly redisUrl: string;
  readonly encryptionKey: Buffer;
}

/** What a role runs on. */
export interface Foundation {
  readonly config: Config;
  readonly log: Logger;
  readonly databaseUrl: string;
  readonly relay: Relay;
  /** Null: the process is alone, and counts requests for itself. */
  readonly redis: Redis | null;
  readonly encryptionKey: Buffer;
  readonly publicUrl: string;
  /** The base URL of the simulated model that this process runs; null when it runs none. */
  readonly simulatedModelUrl: string | null;
}

/** Reads what `serve` and `work` cannot do without. Throws `ConfigError`, which names what is missing. */
export function requireShared({ databaseUrl, redisUrl, encryptionKey }: Config): Shared {
  if (databaseUrl !== null && redisUrl !== null && encryptionKey !== null) {
    return { databaseUrl, redisUrl, encryptionKey };
  }
  const needed = { DATABASE_URL: databaseUrl, REDIS_URL: redisUrl, ENCRYPTION_KEY: encryptionKey };
  const missing = Object.entries(needed).filter(([, value]) => value === null);
  throw new ConfigError(
    `${missing.map(([name]) => name).join(", ")} must be set, the same for all processes of an installation. ` +
      "(`npm start` runs everything in one process and needs none of it.)",
  );
}

/** Opens the relay on Redis. It need not answer yet: losing Redis costs live tokens, never a turn. */
export function openRelay(redisUrl: string, log: Logger, opened: AsyncDisposableStack): Relay {
  let toldAt = Number.NEGATIVE_INFINITY;
  const tell = (err: Error) => {
    const due = performance.now() - toldAt >= redisWordMs;
    if (due) toldAt = performance.now();
    log[due ? "warn" : "debug"]({ err }, "the Redis of REDIS_URL fails: turns run, but nobody sees them live");
  };
  const relay = new RedisRelay({ url: redisUrl, onError: tell });
  opened.defer(() => relay.close());
  // It connects when it is first used. Asked now, a wrong address is told at the start and not by the first turn.
  relay.ping().catch(tell);
  return relay;
}

/** Opens the rate limiter's connection to Redis. While Redis is away, each process counts for itself. */
export function openRedis(redisUrl: string, log: Logger, opened: AsyncDisposableStack): Redis {
  const redis = new Redis(redisUrl, {
    connectionName: "parley-rate",
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    commandTimeout: rateCommandTimeoutMs,
    retryStrategy: (attempt) => Math.min(50 * attempt, reconnectMsMax),
  });
  redis.on("error", (err) => log.debug({ err }, "the rate limiter's Redis"));
  opened.defer(async () => redis.disconnect());
  return redis;
}

/** Makes the context of the HTTP tier, with a pool of its own. */
export function openHttpContext(foundation: Foundation, opened: AsyncDisposableStack): Ctx {
  return openContext(foundation, "parley-http", httpConnectionsMax, opened);
}

/** Makes the context of a worker pool, with a pool of its own. */
export function openWorkerContext(foundation: Foundation, opened: AsyncDisposableStack): Ctx {
  return openContext(foundation, "parley-worker", workerConnectionsMax, opened);
}

function openContext(
  { databaseUrl, ...rest }: Foundation,
  applicationName: string,
  max: number,
  opened: AsyncDisposableStack,
): Ctx {
  const sql = openDatabase({ url: databaseUrl, max, applicationName });
  opened.defer(() => sql.end({ timeout: poolCloseSeconds }));
  return createContext({ ...rest, sql });
}
