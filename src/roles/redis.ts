import { Redis } from "ioredis";
import { within } from "../kernel/async/wait.ts";
import { RedisRelay } from "../kernel/relay/redis.ts";
import { parseRedisUrl, type RedisAddress } from "../kernel/relay/redis-address.ts";
import { openRedis, type RedisClient } from "../kernel/relay/redis-connection.ts";
import type { Relay } from "../kernel/relay/relay.ts";
import type { Logger } from "../kernel/telemetry/log.ts";
import { OperatorError } from "./operator-error.ts";

/** The rate limiter gives Redis this long, then the process counts for itself. */
const rateCommandTimeoutMs = 500;
/** The longest pause between two attempts to reconnect. */
const reconnectMsMax = 1_000;
/** While the relay's Redis fails, which may be reported with every write, one warning is logged in this time. */
const warnEveryMs = 30_000;

/** A Redis that does not respond within this is away, which is no reason not to start. */
const checkMs = 2_000;

/** Throws `OperatorError` when the Redis that is reached is none to work with: one that takes no writes, or of another kind than REDIS_URL says. */
export async function checkRedis(redisUrl: string | null): Promise<void> {
  if (redisUrl === null) return;
  const address = parseRedisUrl(redisUrl);
  const once = { lazyConnect: true, retryStrategy: () => null, connectTimeout: checkMs };
  const asked =
    address.kind === "single"
      ? [new Redis(redisUrl, once)]
      : address.hosts.map((host) => {
          const { username, password } = address;
          const isLogin = address.kind === "cluster" && password !== null;
          return new Redis({
            ...once,
            ...host,
            ...(isLogin ? { password } : {}),
            ...(isLogin && username !== null ? { username } : {}),
          });
        });
  try {
    // All at once: one that is away costs the start what all of them do.
    const said = await Promise.all(asked.map((redis) => within(readInfo(redis), checkMs, () => "")));
    const fault = said.map((info) => faultOf(info, address.kind)).find((found) => found !== null);
    if (fault !== undefined) throw new OperatorError(fault);
  } finally {
    for (const redis of asked) redis.disconnect();
  }
}

/** Returns what a Redis says of itself; nothing when it is away, or may not be asked. */
async function readInfo(redis: Redis): Promise<string> {
  redis.on("error", () => {});
  try {
    await redis.connect();
    return `${await redis.info("server")}\n${await redis.info("cluster")}\n${await redis.info("replication")}`;
  } catch {
    return "";
  }
}

function faultOf(info: string, kind: RedisAddress["kind"]): string | null {
  if (!/^redis_mode:/m.test(info)) return null;
  if (kind === "sentinel")
    return /^redis_mode:sentinel/m.test(info)
      ? null
      : "REDIS_URL leads to a Redis that is no Sentinel. Write redis:// and its address, or those of the Sentinels.";
  if (kind === "cluster")
    return /^cluster_enabled:1/m.test(info)
      ? null
      : "REDIS_URL leads to a Redis that is no member of a cluster. Write redis:// and its address.";
  if (/^redis_mode:sentinel/m.test(info))
    return "REDIS_URL leads to a Sentinel. Write redis+sentinel://, the Sentinels' addresses and the master's name.";
  if (/^cluster_enabled:1/m.test(info))
    return "REDIS_URL leads to a member of a Redis Cluster. Write redis+cluster:// and the members' addresses.";
  if (/^role:slave/m.test(info) && !/^slave_read_only:0/m.test(info))
    return "REDIS_URL leads to a replica, which takes no writes. Name the master.";
  return null;
}

/** Returns the relay on Redis, which keeps a log for `keepMs` after its end, closed with `opened`. Redis may be away: losing it costs live tokens, never a turn. */
export function openRelay(
  { redisUrl, keepMs }: { readonly redisUrl: string; readonly keepMs: number },
  log: Logger,
  opened: AsyncDisposableStack,
): Relay {
  let warnedAtMs = Number.NEGATIVE_INFINITY;
  const report = (err: Error) => {
    const isDue = performance.now() - warnedAtMs >= warnEveryMs;
    if (isDue) warnedAtMs = performance.now();
    log[isDue ? "warn" : "debug"]({ err }, "the Redis of REDIS_URL fails: turns run, but nobody sees them live");
  };
  const relay = new RedisRelay({ url: redisUrl, keepMs, onError: report });
  opened.defer(() => relay.close());
  // It connects at its first use. A ping now reports a wrong address at the start and not at the first turn.
  relay.ping().catch(report);
  return relay;
}

/** Returns the rate limiter's connection to Redis, closed with `opened`. While Redis is away, each process counts for itself. */
export function openRateRedis(redisUrl: string, log: Logger, opened: AsyncDisposableStack): RedisClient {
  const redis = openRedis(redisUrl, {
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
