import { Batcher } from "../../kernel/async/batcher.ts";
import type { AnySql, Sql } from "../../kernel/database/client.ts";
import { statement } from "../../kernel/database/statement.ts";
import { tx } from "../../kernel/database/transaction.ts";
import type { IdOf } from "../../kernel/ids.ts";
import { claimGroupMax, groupPauseMs } from "../../kernel/limits.ts";
import { type ClaimedRow, claimedColumns, claimedJoins, toClaimedTurn } from "../state/claimed-row.ts";
import type { ClaimedTurn } from "../state/claimed-turn.ts";
import { startContinuation } from "../state/continuation.ts";
import { historyOfTurn } from "../state/history.ts";
import { runningTurns } from "../state/parked.ts";
import { releaseLock, sendReleases, tryLock } from "../state/session-lock.ts";
import { type ClaimWay, claimMove, hasJob } from "../state/turn.ts";
import { removeTurnJobs } from "../state/turn-job.ts";

interface ClaimRow extends ClaimedRow {
  /** The turn that was asked for. */
  askedId: string;
  locked: boolean;
  isFree: boolean;
}

/** A turn that is to be claimed. */
export interface AskedClaim {
  readonly turnId: string;
  /** Its session, or the turn itself when it has none. */
  readonly lockKey: string;
  readonly tenantId: string;
  readonly way: ClaimWay;
  /** Whether an earlier claim of this worker may have been committed, of which nothing came back. */
  readonly isUnsure?: boolean;
}

/** Why a turn was not claimed; the session's lock is not kept. */
export type ClaimRefusal =
  /** It is queued, and another connection holds the session's lock, or the turn's row. */
  | "busy"
  /** The turn is not queued any more. */
  | "gone"
  /** It may not run now: older turns of its tenant are parked, or the tenant's limit of running turns is reached or has to be counted. */
  | "waits";

type Claim = ClaimedTurn | ClaimRefusal;
/** Where turns are claimed. */
export interface ClaimConnections {
  /** The worker's lock connection. */
  readonly lockSql: Sql;
  /** The pool, where it leads through a pooler in transaction mode. */
  readonly pooled: Sql | null;
}

type Claims = Batcher<AskedClaim, Claim>;
/** Claims of turns that have jobs, one after another on the lock connection: those that come while one is under way share the next. */
const batchers = new WeakMap<Sql, Claims>();

/**
 * Takes the session's lock, claims the turn and reads what it runs on, in one
 * statement on the worker's lock connection. Turns that have jobs and are to be claimed at once share a statement.
 *
 * The statement's snapshot is older than the lock, but it has everything the turn needs:
 * what precedes the turn was committed before the turn was queued.
 *
 * Where it is given a pool that leads through a pooler, the turn is claimed there: the lock is taken first, in another
 * statement, so that only locks need a session of the server.
 */
export function claimTurn(on: ClaimConnections, workerId: IdOf<"worker">, asked: AskedClaim): Promise<Claim> {
  if (!hasJob(asked.way)) return claimAll(on, workerId, [asked]).then(([claim]) => claim as Claim);
  const { lockSql } = on;
  const known = batchers.get(lockSql);
  if (known !== undefined) return known.add(asked);
  const batcher: Claims = new Batcher((all) => claimAll(on, workerId, all), {
    countMax: claimGroupMax,
    gathers: true,
    pauseMs: groupPauseMs,
  });
  batchers.set(lockSql, batcher);
  return batcher.add(asked);
}

async function claimAll(
  { lockSql, pooled }: ClaimConnections,
  workerId: IdOf<"worker">,
  all: readonly AskedClaim[],
): Promise<Claim[]> {
  sendReleases(lockSql);
  const rows =
    pooled === null
      ? await readClaims(lockSql, workerId, all, "free")
      : await claimLocked(pooled, workerId, await lockFree(lockSql, all));
  const byTurn = new Map(rows.map((row) => [row.askedId, row]));
  return Promise.all(all.map((asked) => toClaim(lockSql, asked, byTurn.get(asked.turnId))));
}

/** Takes the locks that are free. Returns the claims whose sessions are locked for them. */
async function lockFree(lockSql: Sql, all: readonly AskedClaim[]): Promise<readonly AskedClaim[]> {
  const keys = all.map(({ lockKey }) => lockKey);
  const rows = await lockSql<{ place: number; locked: boolean }[]>`
    select /* turn.lock */ place::int, ${tryLock(lockSql, lockSql`key`)} as locked
    from unnest(${keys}::text[]) with ordinality as asked (key, place)`;
  return rows.filter(({ locked }) => locked).map(({ place }) => all[place - 1] as AskedClaim);
}

async function claimLocked(sql: Sql, workerId: IdOf<"worker">, all: readonly AskedClaim[]): Promise<ClaimRow[]> {
  return all.length === 0 ? [] : readClaims(sql, workerId, all, "locked");
}

async function toClaim(lockSql: Sql, { turnId, lockKey, way }: AskedClaim, row: ClaimRow | undefined): Promise<Claim> {
  if (row === undefined || !row.locked) return busyOrGone(lockSql, turnId);
  if (row.id !== null) return toClaimedTurn(row, { isFirst: false });
  await releaseLock(lockSql, lockKey);
  // Nothing waits on the lock connection, where the beat would wait too: so not for a row that another transaction holds.
  if (!row.isFree) return busyOrGone(lockSql, turnId);
  return hasJob(way) && (await isQueued(lockSql, turnId)) ? "waits" : "gone";
}

/**
 * Does what `claimTurn` does for a turn whose tenant has a limit of running turns. Claims of
 * one tenant come one after another over all workers, each counting what the one before it
 * committed. That waits, so it is not done on the lock connection, but for the session's lock.
 */
export async function claimCounted(
  { lockSql, sql }: { readonly lockSql: Sql; readonly sql: Sql },
  workerId: IdOf<"worker">,
  asked: AskedClaim,
): Promise<Claim> {
  sendReleases(lockSql);
  const [held] = await lockSql<{ locked: boolean }[]>`
    select /* turn.lock */ ${tryLock(lockSql, lockSql`${asked.lockKey}::text`)} as locked`;
  if (held?.locked !== true) return busyOrGone(lockSql, asked.turnId);
  const [row] = await tx(sql, async (inner) => {
    await inner`select /* tenant.lock_running */ pg_advisory_xact_lock(hashtextextended(${`running-turns:${asked.tenantId}`}, 0))`;
    return readClaims(inner, workerId, [asked], "counted");
  });
  if (row !== undefined && row.id !== null) return toClaimedTurn(row, { isFirst: false });
  await releaseLock(lockSql, asked.lockKey);
  if (row?.locked === true && !row.isFree) return busyOrGone(sql, asked.turnId);
  return row?.locked === true ? "gone" : "waits";
}

/** Claims turns, all in the same way, where their sessions' locks are `only` so. */
function readClaims(
  sql: AnySql,
  workerId: IdOf<"worker">,
  all: readonly AskedClaim[],
  only: keyof typeof mayClaim,
): PromiseLike<ClaimRow[]> {
  const [{ way }] = all as [AskedClaim];
  return claimTurns(sql, { way, only }, { workerId, all });
}

/** Which turns are claimed, as expressions over `asked`. */
const mayClaim = {
  /** The lock of whose session is free; it is taken. */
  free: (sql: AnySql) => tryLock(sql, sql`asked.lock_key`),
  /** The lock is taken already. */
  locked: (sql: AnySql) => sql`true`,
  /** The same, and the tenant's limit of running turns is not reached. */
  counted: (sql: AnySql) => sql`(
      select n.running_turns is null or ${runningTurns(sql, sql`n.id`, sql`n.running_turns`)} < n.running_turns
      from tenants n where n.id = asked.tenant_id)`,
};

interface ClaimShape extends Readonly<Record<string, string>> {
  readonly way: ClaimWay;
  readonly only: keyof typeof mayClaim;
}

interface ClaimValues {
  readonly workerId: IdOf<"worker">;
  readonly all: readonly AskedClaim[];
}

/** Postgres assumes that a limit it does not know lets through a tenth of ten rows, and so it finds each row by its key. */
const claimTurns = statement<ClaimShape, ClaimValues, ClaimRow>((sql, given, { way, only }) => {
  const texts = (of: (asked: AskedClaim) => string) => sql`${given(({ all }) => all.map(of))}::text[]`;
  return sql`
    with /* turn.claim */ asked as materialized (
      select * from unnest(${texts(({ turnId }) => turnId)}, ${texts(({ lockKey }) => lockKey)}, ${texts(({ tenantId }) => tenantId)})
        as a (turn_id, lock_key, tenant_id)
      limit ${given(({ all }) => all.length)}
    ), allowed as materialized (select asked.*, ${mayClaim[only](sql)} as locked from asked
    ), held as materialized (
      select allowed.*, free.id is not null as is_free from allowed left join lateral (
        select id from turns where id = allowed.turn_id and allowed.locked for no key update skip locked
      ) free on true
    ), claimed as (${claimMove(sql, { workerId: given(({ workerId }) => workerId), way })}
    ), continued as (${startContinuation(sql)}
    ) , ${removeTurnJobs(sql)}
    select held.turn_id as asked_id, held.locked, held.is_free, ${claimedColumns(sql, { goesOn: true })}, history.*
    from held left join claimed t on t.id = held.turn_id ${claimedJoins(sql)}
    left join lateral (${historyOfTurn(sql)}) history on true`;
});

/**
 * Returns why a turn cannot be claimed whose lock or row somebody else holds. Mostly that is the worker that has just
 * claimed it: then it is not queued any more, and its job is done.
 */
export async function busyOrGone(sql: AnySql, turnId: string): Promise<"busy" | "gone"> {
  return (await isQueued(sql, turnId)) ? "busy" : "gone";
}

async function isQueued(sql: AnySql, turnId: string): Promise<boolean> {
  const rows =
    await sql`select /* turn.is_queued */ 1 from turns where id = ${turnId} and status = 'queued' and cancel_requested_at is null`;
  return rows.length > 0;
}
