/**
 * `serve`, `work` and `start` open the same things in the same order, each with the
 * same function:
 *
 * 1. what the installation's processes share: read (`requireShared`), or made (`start`);
 * 2. the port (`openPort`), which responds 503 until step 6;
 * 3. the database, checked (`checkDatabase`) or migrated (`start`);
 * 4. the foundation (`openFoundation`), which is the relay;
 * 5. a context with a pool of connections for each tier that the process runs;
 * 6. the worker pool (`startWorkerPool`), the app, or both.
 *
 * `start` makes what is shared and migrates after it has the port. What is opened is
 * put on `opened` and closed in reverse order.
 */

import type { Redis } from "ioredis";
import type { Config } from "../kernel/config.ts";
import { type Ctx, createContext } from "../kernel/context.ts";
import { openDatabase } from "../kernel/database/client.ts";
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

/** Connections of an HTTP process: enough to keep a Postgres of a few cores busy, few enough for many processes. */
const httpConnectionsMax = 20;
/** Connections of a worker process: its turns wait for the model, not for Postgres. */
const workerConnectionsMax = 20;
/** A closing pool waits this long for its last statements. */
const poolCloseSeconds = 5;

/** Returns the foundation of a process, with its relay: on Redis, or in memory where the installation has no Redis. */
export function openFoundation(parts: Omit<Foundation, "relay">, opened: AsyncDisposableStack): Foundation {
  const { redisUrl, log } = parts;
  return { ...parts, relay: redisUrl === null ? openMemoryRelay(opened) : openRelay(redisUrl, log, opened) };
}

function openMemoryRelay(opened: AsyncDisposableStack): Relay {
  const relay = new MemoryRelay();
  opened.defer(() => relay.close());
  return relay;
}

/** Returns the context of the HTTP tier, with a pool of its own and, where the installation has a Redis, the shared rate limit. */
export function openHttpContext(foundation: Foundation, opened: AsyncDisposableStack): Ctx {
  const { redisUrl, log } = foundation;
  const redis = redisUrl === null ? null : openRateRedis(redisUrl, log, opened);
  return openContext(foundation, redis, "parley-http", httpConnectionsMax, opened);
}

/** Returns the context of a worker pool, with a pool of its own. No requests are counted there, so it needs no Redis for that. */
export function openWorkerContext(foundation: Foundation, opened: AsyncDisposableStack): Ctx {
  return openContext(foundation, null, "parley-worker", workerConnectionsMax, opened);
}

function openContext(
  { databaseUrl, ...resources }: Foundation,
  redis: Redis | null,
  applicationName: string,
  max: number,
  opened: AsyncDisposableStack,
): Ctx {
  const sql = openDatabase({ url: databaseUrl, max, applicationName });
  opened.defer(() => sql.end({ timeout: poolCloseSeconds }));
  return createContext({ ...resources, redis, sql });
}
