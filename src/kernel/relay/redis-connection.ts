import { Cluster, type ClusterOptions, Redis, type RedisOptions } from "ioredis";
import { parseRedisUrl } from "./redis-address.ts";

/** What connections to all kinds of address have. */
export type ConnectionOptions = Omit<RedisOptions, "replyMapping">;

/** A client of one Redis, of the master behind Sentinels, or of a Redis Cluster. */
export type RedisClient = Redis | Cluster;

/** A cluster is asked this often which of its nodes has which slots, in milliseconds. */
const slotsEveryMs = 2_000;

/** Returns a client of what the URL names. Throws `RedisUrlFault`. */
export function openRedis(url: string, options: ConnectionOptions): RedisClient {
  const address = parseRedisUrl(url);
  if (address.kind === "single") return new Redis(url, { ...reconnecting, ...options });
  const { hosts, username, password, db } = address;
  const login = { ...(username === null ? {} : { username }), ...(password === null ? {} : { password }) };
  if (address.kind === "sentinel") {
    const watched: ConnectionOptions = {
      ...reconnecting,
      ...options,
      ...login,
      db,
      sentinels: [...hosts],
      name: address.name,
      // Without one the client (6.0.0) gives up for good when no Sentinel knows a master, as in a fail-over.
      ...(options.retryStrategy == null ? {} : { sentinelRetryStrategy: options.retryStrategy }),
      failoverDetector: true,
      ...(options.commandTimeout === undefined ? {} : { sentinelCommandTimeout: options.commandTimeout }),
    };
    return new Redis(watched);
  }
  const { lazyConnect = false, scripts, retryStrategy, enableOfflineQueue = true, ...redisOptions } = options;
  const clustered = {
    lazyConnect,
    enableOfflineQueue,
    slotsRefreshInterval: slotsEveryMs,
    redisOptions: { ...redisOptions, ...login },
    ...(scripts === undefined ? {} : { scripts: scripts as NonNullable<ClusterOptions["scripts"]> }),
    ...(retryStrategy == null ? {} : { clusterRetryStrategy: retryStrategy }),
  };
  return new Cluster([...hosts], clustered);
}

/** A server that has become a replica is left: its name, or its Sentinels, may lead to another one. */
const reconnecting = { reconnectOnError: (error: Error) => error.message.startsWith("READONLY") };
