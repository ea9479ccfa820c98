import { Reports } from "./admission/reports.ts";
import { RequestSlots } from "./admission/request-slots.ts";
import { type Authenticator, createAuthenticator } from "./auth/authenticator.ts";
import { createGuessLimiter, type GuessLimiter } from "./auth/guess-limit.ts";
import { KeyUses } from "./auth/key-uses.ts";
import { createRateLimiter, type RateLimiter } from "./auth/rate-limit.ts";
import type { Config } from "./config.ts";
import type { Sql } from "./database/client.ts";
import { Replica } from "./database/replica.ts";
import type { RedisClient } from "./relay/redis-connection.ts";
import type { Relay } from "./relay/relay.ts";
import { createSealer, type Sealer } from "./seal.ts";
import type { Logger } from "./telemetry/log.ts";

/** What every slice is given: the process's resources, made once. */
export interface Ctx {
  readonly config: Config;
  readonly log: Logger;
  /** The pool. The HTTP tier and a worker each have their own. */
  readonly sql: Sql;
  /** A connection for the readiness probe alone, so that slow statements do not make the process unready. */
  readonly probeSql: Sql;
  /** Connections for looking credentials up. */
  readonly authSql: Sql;
  /** Connections for what a worker looks for again and again, so that those of its turns and jobs are given back at rest. */
  readonly lookSql: Sql;
  /** Where operations with `reads: "replica"` read; null: from the pool. */
  readonly replica: Replica | null;
  /** What adds up many rows, on separate connections. */
  readonly reports: Reports;
  /** How many requests and streams each tenant has open in this process. */
  readonly slots: RequestSlots;
  readonly relay: Relay;
  readonly sealer: Sealer;
  readonly authenticator: Authenticator;
  readonly keyUses: KeyUses;
  readonly rateLimiter: RateLimiter;
  readonly guesses: GuessLimiter;
  /** The address clients reach the service at, without a trailing slash. */
  readonly publicUrl: string;
  /** The base URL of the simulated model that this process runs; null when it runs none. The rule that addresses must be https and public does not apply to it. */
  readonly simulatedModelUrl: string | null;
}

/** What a context is made of. */
export interface Resources {
  readonly config: Config;
  readonly log: Logger;
  readonly sql: Sql;
  readonly relay: Relay;
  readonly redis: RedisClient | null;
  readonly encryptionKey: Buffer;
  readonly publicUrl: string;
  readonly simulatedModelUrl?: string | null;
  /** Connections for the readiness probe and for reports; the pool's where they are left out. */
  readonly probeSql?: Sql;
  readonly reportSql?: Sql;
  /** Connections for what a worker looks for; the pool's where they are left out. */
  readonly lookSql?: Sql;
  /** Connections for looking credentials up; the pool's where they are left out. */
  readonly authSql?: Sql;
  /** Connections to a replica; where they are left out, everything is read from the primary. */
  readonly readSql?: Sql;
}

/** Returns the context of a process, or of one tier of it. */
export function createContext(resources: Resources): Ctx {
  const { config, log, sql, relay, redis, encryptionKey, publicUrl, readSql } = resources;
  const replica = readSql === undefined ? null : new Replica(readSql, log);
  return {
    config,
    log,
    sql,
    probeSql: resources.probeSql ?? sql,
    lookSql: resources.lookSql ?? sql,
    replica,
    reports: new Reports(resources.reportSql ?? sql, undefined, replica),
    slots: new RequestSlots(),
    relay,
    sealer: createSealer({ current: encryptionKey, previous: config.previousEncryptionKeys }, (sealedFor) =>
      log.error({ sealedFor }, "a sealed value opens with none of ENCRYPTION_KEY and ENCRYPTION_KEY_PREVIOUS"),
    ),
    authSql: resources.authSql ?? sql,
    authenticator: createAuthenticator(resources.authSql ?? sql, config),
    keyUses: new KeyUses(sql),
    rateLimiter: createRateLimiter(redis),
    guesses: createGuessLimiter(redis),
    publicUrl,
    simulatedModelUrl: resources.simulatedModelUrl ?? null,
  };
}
