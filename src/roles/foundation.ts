/**
 * `serve`, `work` and `start` open the same things in the same order, each with the
 * same function:
 *
 * 1. what the installation's processes share: read (`requireShared`), or made (`start`);
 * 2. the port (`openPort`), which is only checked to be free, and listened on at the end of step 6;
 * 3. the database, checked (`checkDatabase`) or migrated (`start`);
 * 4. the foundation (`openFoundation`), which is the relay;
 * 5. a context with a pool of connections for each tier that the process runs;
 * 6. the worker pool (`startWorkerPool`), the app, or both.
 *
 * `start` makes what is shared and migrates after it has the port. What is opened is
 * put on `opened` and closed in reverse order.
 */

import { reportsMax } from "../kernel/admission/reports.ts";
import type { Config } from "../kernel/config.ts";
import { type Ctx, createContext, type Resources } from "../kernel/context.ts";
import { openDatabase, type PoolOptions, type Sql } from "../kernel/database/client.ts";
import { MemoryRelay } from "../kernel/relay/memory.ts";
import type { Relay } from "../kernel/relay/relay.ts";
import type { Logger } from "../kernel/telemetry/log.ts";
import { openRateRedis, openRelay } from "./redis.ts";
import type { Shared } from "./shared.ts";

/** What the contexts of a process are made of. */
export interface Foundation extends Shared {
  readonly config: Config;
  readonly log: Logger;
  readonly relay: Relay;
  readonly publicUrl: string;
  /** The base URL of the simulated model that this process runs; null when it runs none. */
  readonly simulatedModelUrl: string | null;
}

/** Connections on which an HTTP process looks credentials up, so that these never wait behind the statements of a request. */
const authConnectionsMax = 2;
/** Connections on which a worker looks for lost and parked work. */
const lookConnectionsMax = 2;
/** A closing pool waits this long for its last statements. */
const poolCloseSeconds = 5;

/** Returns the foundation of a process, with its relay: on Redis, or in memory where the installation has no Redis. */
export function openFoundation(parts: Omit<Foundation, "relay">, opened: AsyncDisposableStack): Foundation {
  const { redisUrl, log, config } = parts;
  const keepMs = config.relayKeepSeconds * 1000;
  const relay = redisUrl === null ? openMemoryRelay(keepMs, opened) : openRelay({ redisUrl, keepMs }, log, opened);
  return { ...parts, relay };
}

function openMemoryRelay(keepMs: number, opened: AsyncDisposableStack): Relay {
  const relay = new MemoryRelay({ keepMs });
  opened.defer(() => relay.close());
  return relay;
}

/** Returns the context of the HTTP tier, with its own pool and, where the installation has a Redis, the shared rate limit. */
export function openHttpContext(foundation: Foundation, opened: AsyncDisposableStack): Ctx {
  const { redisUrl, log } = foundation;
  const redis = redisUrl === null ? null : openRateRedis(redisUrl, log, opened);
  const reportSql = openPool(foundation, "parley-http-reports", reportsMax, opened);
  const authSql = openPool(foundation, "parley-http-auth", authConnectionsMax, opened);
  const { databaseReadUrl: url, pools } = foundation.config;
  const reads =
    url === null ? {} : { readSql: openAt({ url, max: pools.http, applicationName: "parley-http-replica" }, opened) };
  return openContext({ ...foundation, redis, reportSql, authSql, ...reads }, "parley-http", pools.http, opened);
}

/** Returns the context of a worker pool, with its own pool. No requests are counted there, so it needs no Redis for that. */
export function openWorkerContext(foundation: Foundation, opened: AsyncDisposableStack): Ctx {
  const lookSql = openPool(foundation, "parley-worker-looks", lookConnectionsMax, opened);
  return openContext({ ...foundation, redis: null, lookSql }, "parley-worker", foundation.config.pools.worker, opened);
}

function openContext(
  resources: Foundation & Pick<Resources, "redis" | "reportSql" | "authSql" | "lookSql" | "readSql">,
  name: string,
  max: number,
  opened: AsyncDisposableStack,
): Ctx {
  const sql = openPool(resources, name, max, opened);
  return createContext({ ...resources, sql, probeSql: openPool(resources, `${name}-probe`, 1, opened) });
}

/** Returns a pool on the database, through its pooler where it has one. */
function openPool(
  { databaseUrl, config: { databasePoolUrl } }: Foundation,
  applicationName: string,
  max: number,
  opened: AsyncDisposableStack,
): Sql {
  const url = databasePoolUrl ?? databaseUrl;
  return openAt({ url, max, applicationName, isPooled: databasePoolUrl !== null }, opened);
}

/** Returns a pool, which connects at its first statement and is closed with `opened`. */
function openAt(options: PoolOptions, opened: AsyncDisposableStack): Sql {
  const pool = openDatabase(options);
  opened.defer(() => pool.end({ timeout: poolCloseSeconds }));
  return pool;
}
