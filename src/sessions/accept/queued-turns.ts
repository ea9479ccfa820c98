import type postgres from "postgres";
import { SharedSlots } from "../../kernel/async/shared-slots.ts";
import type { Tenant } from "../../kernel/auth/tenant.ts";
import type { AnySql, Sql, Tx } from "../../kernel/database/client.ts";
import { unavailable } from "../../kernel/database/failure.ts";
import { ApiError, limitHeaders } from "../../kernel/errors.ts";
import { databaseWaitMs, queuedTurnsDefault } from "../../kernel/limits.ts";

/**
 * How many turns a tenant may have that are accepted and do not run yet, those in the lines of
 * their sessions too. A limit that the
 * operator set is exact: turns are accepted one after another then. The limit that every
 * tenant has without that is looked at by each statement that accepts turns, and those that
 * run at the same time do not see one another's.
 */

/** A tenant's id and its limit; null is no limit. */
export interface QueueLimit {
  readonly tenantId: string;
  readonly queuedTurnsMax: number | null;
}

/** How the turns of a tenant queue. */
export interface TenantQueue extends QueueLimit {
  /** The tenant has a limit of running turns, so each of its turns is parked and counted when it is picked. */
  readonly isCounted: boolean;
  /** The tenant has budgets, which are asked when the turn is written. */
  readonly hasBudgets: boolean;
}

/** Returns how the turns of a tenant queue. */
export function queueOf({ id, queuedTurns, runningTurns, hasBudgets }: Tenant): TenantQueue {
  return { tenantId: id, queuedTurnsMax: queuedTurns, isCounted: runningTurns !== null, hasBudgets };
}

/** After so many seconds a place may be free again: `Retry-After` of a 429 `too_many_turns`. */
const retryAfterSeconds = 1;
/** A tenant that reached the limit which every tenant has is refused this long without asking Postgres, which would count thousands of turns for each request of a flood. */
const refuseMs = 1_000;
/** At most this many tenants are remembered so. */
const rememberedMax = 1_000;

const fullUntilMs = new WeakMap<Sql, Map<string, number>>();

/** Returns whether the operator set this limit for the tenant. */
export function isOwnLimit({ queuedTurns }: Pick<Tenant, "queuedTurns">): boolean {
  return queuedTurns !== null && queuedTurns !== queuedTurnsDefault;
}

/** Returns a condition, beginning with `and`, that the tenant may have one more queued turn; nothing for a tenant without a limit. */
export function andHasPlace(sql: AnySql, { tenantId, queuedTurnsMax }: QueueLimit): postgres.Fragment {
  if (queuedTurnsMax === null) return sql``;
  return sql`and ${countQueued(sql, sql`${tenantId}`, sql`${queuedTurnsMax}`)} < ${queuedTurnsMax}`;
}

/** Returns the SQL of the number of queued turns of a tenant, counted up to `max`. */
export function countQueued(sql: AnySql, tenantId: postgres.Fragment, max: postgres.Fragment): postgres.Fragment {
  return sql`(select count(*) from (
    select 1 from turns q where q.tenant_id = ${tenantId} and q.status in ('enqueued', 'queued') limit ${max}) counted)`;
}

/** Accepts the turns of each tenant with a limit of its own: one connection of the pool is enough to wait for those of other processes. */
const oneByOne = new SharedSlots(Number.POSITIVE_INFINITY, 1);

/** Runs `write` when all that this process wrote before it of a tenant with a limit of its own has ended. Throws 503 after `databaseWaitMs`. */
export async function inQueueOf<T>(tenantId: string, write: () => Promise<T>): Promise<T> {
  const release = await oneByOne.take(tenantId, AbortSignal.timeout(databaseWaitMs)).catch(() => {
    throw unavailable();
  });
  try {
    return await write();
  } finally {
    release();
  }
}

/** From here on until the end of the transaction, no other one accepts a turn of a tenant with a limit of its own. */
export async function lockQueueOf(inner: Tx, tenantId: string): Promise<void> {
  await inner`select /* tenant.lock_queued */ pg_advisory_xact_lock(hashtextextended(${`queued-turns:${tenantId}`}, 0))`;
}

/** Throws 429 `too_many_turns` while it is known that the tenant has reached the limit which every tenant has. */
export function refuseWhileFull(sql: Sql, { id, queuedTurns }: Tenant): void {
  const until = fullUntilMs.get(sql)?.get(id);
  if (until !== undefined && queuedTurns === queuedTurnsDefault && Date.now() < until) throw tooManyTurns(queuedTurns);
}

/** Notes that a tenant has reached its limit, where that is the one which every tenant has. */
export function noteFull(sql: Sql, { tenantId, queuedTurnsMax }: QueueLimit): void {
  if (queuedTurnsMax === queuedTurnsDefault) remember(sql, tenantId);
}

function remember(sql: Sql, tenantId: string): void {
  const known = fullUntilMs.get(sql) ?? new Map<string, number>();
  fullUntilMs.set(sql, known);
  if (known.size >= rememberedMax) known.clear();
  known.set(tenantId, Date.now() + refuseMs);
}

/** Returns the error 429 `too_many_turns`. */
export function tooManyTurns(queuedTurnsMax: number | null): ApiError {
  const limit = queuedTurnsMax ?? queuedTurnsDefault;
  return new ApiError("too_many_turns", {
    message: `Too many turns of the tenant wait to run: at most ${limit}.`,
    headers: limitHeaders(limit, retryAfterSeconds),
  });
}
