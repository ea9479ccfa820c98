import type { Ctx } from "../../kernel/context.ts";
import type { AnySql, Sql } from "../../kernel/database/client.ts";
import type { IdOf } from "../../kernel/ids.ts";
import { queuedTurnStaleMs, reapBatchRows, reapEveryMs, workerDeadMs, workerFrozenMs } from "../../kernel/limits.ts";
import { hasLiveJobSql } from "../../kernel/queue/add-job.ts";
import { forgetWorkers } from "../../kernel/queue/recover.ts";
import type { LogKey } from "../../kernel/relay/relay.ts";
import { reaperActions } from "../../kernel/telemetry/metrics.ts";
import { type CallDecision, withDecisions } from "../../messages/tool-calls.ts";
import { finishTurn } from "../run/finish.ts";
import { keepOf, keptOutcome, readKeptTurn, storedKeptOutcome } from "../run/kept.ts";
import { lostOutcome, storedLostOutcome, workerLost } from "../run/lost-outcome.ts";
import { canceledOutcome } from "../run/outcome.ts";
import { readProgress } from "../run/progress.ts";
import { readCheckpoints } from "../state/checkpoint.ts";
import { ringLostLines } from "../state/line.ts";
import { type Fence, requeueTurn } from "../state/turn.ts";
import { noUsage, type TurnError, type TurnUsage } from "../state/turn-end.ts";
import { addTurnJob } from "../state/turn-job.ts";
import { lostAnswer } from "./lost-answer.ts";
import { lostUsage } from "./lost-usage.ts";

/**
 * Recovers turns whose worker is lost (docs/architecture.md, "The reaper"). One worker
 * process at a time runs it (`kernel/queue/lease.ts`); all its updates are guarded, so any
 * number may. Each scan has six parts:
 *
 * 1. Frozen workers: their connections are ended, which frees their locks.
 * 2. Dead workers: forgotten, and their jobs are given back to the queue.
 * 3. Turns marked running whose session lock nobody holds: they go on when they have
 *    completed a step, or are run again when they have shown nothing; else they are ended as
 *    failed, or as canceled when that was asked for.
 * 4. Canceled turns that no worker has: ended.
 * 5. Lines of sessions that nothing holds and whose job is gone: a job is enqueued again.
 * 6. Queued turns that are not parked and whose job is gone: a job is enqueued again.
 */
export class Reaper {
  readonly #ctx: Ctx;
  readonly #frozenMs: number;
  readonly #steady = new Steadiness();
  /** When a running turn was first seen without its lock, by turn and attempt. */
  #suspects = new Map<string, number>();

  /** A worker whose beat is `frozenMs` old is frozen. */
  constructor(ctx: Ctx, frozenMs: number = workerFrozenMs) {
    this.#ctx = ctx;
    this.#frozenMs = frozenMs;
  }

  /** Notes that Postgres has replied to this worker, which another one spares the scan. */
  standBy(): void {
    this.#steady.note(Date.now());
  }

  /** Makes one scan. Throws only what the database throws. */
  async scan(): Promise<void> {
    await this.#ctx.sql`select 1`;
    if (!this.#steady.note(Date.now())) return;
    await this.#endFrozenWorkers();
    await this.#forgetDeadWorkers();
    await this.#endOrphans();
    await this.#endCanceled();
    await this.#ringLines();
    await this.#enqueueAgain();
    this.#steady.extend(Date.now());
  }

  async #endFrozenWorkers(): Promise<void> {
    const { sql, log } = this.#ctx;
    const frozen = await sql<{ id: IdOf<"worker">; ended: number }[]>`
      select w.id, count(pg_terminate_backend(a.pid))::int as ended
      from workers w join pg_stat_activity a on a.application_name = w.application_name and a.datname = current_database()
      where w.beat_at < now() - ${this.#frozenMs} * interval '1 millisecond'
      group by w.id`;
    for (const worker of frozen) {
      reaperActions.inc({ action: "frozen_worker_ended" });
      log.warn({ workerId: worker.id, connections: worker.ended }, "a frozen worker's connections were ended");
    }
  }

  async #forgetDeadWorkers(): Promise<void> {
    const { sql, log } = this.#ctx;
    const dead = await forgetWorkers(
      sql,
      sql`w.beat_at < now() - ${workerDeadMs} * interval '1 millisecond'
        and not exists (select 1 from pg_stat_activity a where a.application_name = w.application_name and a.datname = current_database())`,
    );
    for (const worker of dead) {
      reaperActions.inc({ action: "dead_worker_forgotten" });
      log.warn({ workerId: worker.id }, "a dead worker's jobs were given back to the queue");
    }
  }

  async #endOrphans(): Promise<void> {
    const orphans = await findOrphans(this.#ctx.sql);
    const seen = new Map<string, number>();
    const lost: { orphan: OrphanRow; since: number }[] = [];
    for (const orphan of orphans) {
      const key = `${orphan.id}:${orphan.attempt}`;
      const since = this.#suspects.get(key) ?? Date.now();
      seen.set(key, since);
      // A living worker that has lost its lock connection takes the locks again within a beat.
      if (!orphan.workerLives || Date.now() - since >= workerDeadMs) lost.push({ orphan, since });
    }
    this.#suspects = seen;
    // In parallel, because a relay that does not reply would delay all that come after.
    for (let start = 0; start < lost.length; start += orphansAtOnce) {
      const some = lost.slice(start, start + orphansAtOnce);
      await Promise.all(some.map(({ orphan, since }) => this.#endOrphan(orphan, since)));
    }
  }

  /** Ends a lost turn, or has it run again; `since` is when it was first seen so. */
  async #endOrphan(orphan: OrphanRow, since: number): Promise<void> {
    const { sql, relay, log } = this.#ctx;
    const { id, attempt, continuationId, shown, cancelRequested } = orphan;
    if (orphan.stepsDone > 0 && !cancelRequested) return this.#goOn(orphan, since);
    // Sealed first: what its worker still writes has no effect any more, and whether it has shown anything is final.
    const key = logOf(orphan);
    const sealed = await relay.seal(key).catch(() => "unknown" as const);
    const mayRunAgain = !shown && !cancelRequested;
    const cause = orphan.workerLives ? "handed_back" : "crashed";
    // The row was read some time ago, so a relay that does not reply is asked once more.
    if (mayRunAgain && sealed === "unknown" && Date.now() - since < sealPatienceMs) return;
    const showedNothing = sealed === "empty" || sealed === "unknown";
    const usage = await lostUsage(this.#ctx, id, { ...key, hasShown: !showedNothing, from: orphan.stepEvents + 1 });
    if (mayRunAgain && showedNothing && (await requeueTurn(sql, { turnId: id, attempt }, cause, { usage }))) {
      reaperActions.inc({ action: "turn_requeued" });
      log.warn({ turnId: id, attempt }, "a turn whose worker is lost will be run again");
      return;
    }
    const status = cancelRequested ? "canceled" : "failed";
    const fence = { turnId: id, attempt, statuses: ["running" as const] };
    const ended =
      cancelRequested && (await keepOf(sql, id)) === "partial"
        ? await this.#endKept(orphan, usage)
        : await endLostTurn(sql, fence, status, continuationId !== null, { usage });
    if (!ended) return;
    reaperActions.inc({ action: "turn_ended" });
    log.warn({ turnId: id, attempt, status }, "a turn whose worker is lost was ended");
  }

  /** Ends a lost turn that was cancelled, with what it is known to have said; its log is sealed. */
  async #endKept(orphan: OrphanRow, usage: TurnUsage): Promise<boolean> {
    const { sql } = this.#ctx;
    const { id: turnId, attempt } = orphan;
    const turn = await readKeptTurn(sql, turnId);
    if (turn === null) return false;
    const { assistantMessageId } = turn;
    const extended = turn.reached === null ? null : withDecisions(turn.reached, await readDecisions(sql, turnId));
    const log = { ...logOf(orphan), assistantMessageId, extended };
    const reached = await lostAnswer(this.#ctx, log, orphan.stepsDone > 0 ? await readCheckpoints(sql, turnId) : []);
    const statuses = ["running" as const];
    return finishTurn(sql, { turnId, attempt, statuses }, { ...keptOutcome(turn, reached, usage), usageKnown: false });
  }

  /** Has a lost turn go on from its last completed step, or ends it with what its steps did. */
  async #goOn(orphan: OrphanRow, since: number): Promise<void> {
    const { sql, relay, log } = this.#ctx;
    const { id, attempt, stepEvents, toolEvents } = orphan;
    const key = { ...logOf(orphan), claim: attempt + 1 };
    // First: what its worker still writes has no effect any more, and what readers have is final.
    const fenced = await relay.fence(key, key.claim).catch(() => null);
    if (fenced === null && Date.now() - since < sealPatienceMs) return;
    const shown = { from: stepEvents + 1, upTo: fenced?.tail ?? 0 };
    const usage = await lostUsage(this.#ctx, id, { ...key, hasShown: fenced !== null, ...shown });
    if (await requeueTurn(sql, { turnId: id, attempt }, orphan.workerLives ? "handed_back" : "crashed", { usage })) {
      reaperActions.inc({ action: "turn_requeued" });
      log.warn({ turnId: id, attempt }, "a turn whose worker is lost will go on from its last completed step");
      return;
    }
    const progress = await readProgress(this.#ctx, { id, log: key, stepEvents, toolEvents });
    await relay.seal(key).catch(() => {});
    const outcome = await lostOutcome(sql, id, { progress, usage });
    const fence = { turnId: id, attempt, statuses: ["running" as const] };
    if (!(await finishTurn(sql, fence, { ...outcome, usageKnown: false }))) return;
    reaperActions.inc({ action: "turn_ended" });
    log.warn({ turnId: id, attempt, status: "failed" }, "a turn whose worker is lost was ended");
  }

  /** Turns that were cancelled while no worker had them, by an operation that could not end them itself (the deletion of their agent or tenant). */
  async #endCanceled(): Promise<void> {
    const { sql } = this.#ctx;
    const canceled = await sql<{ id: IdOf<"turn">; attempt: number; continuationId: IdOf<"continuation"> | null }[]>`
      select id, attempt, continuation_id from turns
      where status in ('enqueued', 'queued', 'waiting') and cancel_requested_at is not null limit ${reapBatchRows}`;
    for (const { id, attempt, continuationId } of canceled) {
      const fence = { turnId: id, attempt, statuses: ["enqueued", "queued", "waiting"] as const };
      if (await endLostTurn(sql, fence, "canceled", continuationId !== null))
        reaperActions.inc({ action: "turn_canceled" });
    }
  }

  async #ringLines(): Promise<void> {
    const { sql, log } = this.#ctx;
    for (const { id } of await ringLostLines(sql, reapBatchRows)) {
      reaperActions.inc({ action: "line_rung" });
      log.warn({ sessionId: id }, "the line of a session whose job was gone was rung again");
    }
  }

  async #enqueueAgain(): Promise<void> {
    const { sql, log } = this.#ctx;
    const enqueued = await sql<{ id: IdOf<"turn"> }[]>`
      with silent as (
        select id, session_id, tenant_id from (
          select id, session_id, tenant_id from turns where status = 'queued' and cancel_requested_at is null and parked_at is null
            and accepted_at < now() - ${queuedTurnStaleMs} * interval '1 millisecond'
          order by accepted_at limit ${reapBatchRows}
        ) oldest
        where not ${hasLiveJobSql(sql, sql`oldest.id`)}
      )
      select id, (${addTurnJob(sql)}).id as job from silent`;
    for (const turn of enqueued) {
      reaperActions.inc({ action: "turn_rung" });
      log.warn({ turnId: turn.id }, "a queued turn whose job was gone was enqueued again");
    }
  }
}

interface OrphanRow {
  id: IdOf<"turn">;
  attempt: number;
  continuationId: IdOf<"continuation"> | null;
  shown: boolean;
  cancelRequested: boolean;
  workerLives: boolean;
  /** The claim that began its turn log. */
  logAttempt: number;
  stepsDone: number;
  stepEvents: number;
  toolEvents: number | null;
}

/** Returns the turn log of a lost turn, which is that of its continuation. */
function logOf({ id, continuationId, logAttempt }: OrphanRow): LogKey {
  return { logId: continuationId ?? id, attempt: logAttempt };
}

/**
 * For this long a relay that does not reply is asked again whether a lost turn has shown
 * anything. That makes two attempts, and a lost connection to the relay is restored by
 * then.
 */
const sealPatienceMs = 7_000;
/** This many lost turns are ended in parallel. */
const orphansAtOnce = 50;

/**
 * Running turns whose lock nobody holds. `pg_locks` shows a 64-bit advisory key
 * as two halves. A turn whose row is locked is left to the transaction that moves it:
 * a commit may outlive its worker, and waiting for it would delay all the others.
 */
function findOrphans(sql: Sql): PromiseLike<OrphanRow[]> {
  return sql<OrphanRow[]>`
    with held as materialized (
      select (classid::bigint << 32) | objid::bigint as key from pg_locks
      where locktype = 'advisory' and objsubid = 1 and granted
        and database = (select oid from pg_database where datname = current_database())
    )
    select t.id, t.attempt, t.continuation_id, t.steps_done, t.step_events, t.tool_events,
      coalesce(case when t.continuation_id is null then t.log_attempt else (
        select c.log_attempt from continuations c where c.id = t.continuation_id) end, t.attempt) as log_attempt, t.shown_at is not null as shown, t.cancel_requested_at is not null as cancel_requested,
      exists (select 1 from workers w where w.id = t.worker_id and w.beat_at > now() - ${workerDeadMs} * interval '1 millisecond') as worker_lives
    from turns t
    where t.status = 'running'
      and not exists (select 1 from held where held.key = hashtextextended(coalesce(t.session_id, t.id), 0))
    order by t.accepted_at limit ${reapBatchRows} for update of t skip locked`;
}

/**
 * Knows whether Postgres has replied to this process for long enough to treat other
 * workers as dead. After an outage, a fail-over or a sleep of this process itself all
 * beats are old and all locks are gone, and every worker gets some time to come back.
 */
class Steadiness {
  #since: number | null = null;
  #last = 0;

  /** Notes that Postgres replied at this time. Returns whether it has replied for long enough. */
  note(nowMs: number): boolean {
    if (this.#since === null || nowMs - this.#last > steadyGapMs) this.#since = nowMs;
    this.#last = nowMs;
    return nowMs - this.#since >= workerDeadMs;
  }

  /** Notes that Postgres has replied until now: a long scan is no outage. */
  extend(nowMs: number): void {
    this.#last = nowMs;
  }
}

/** Between replies of Postgres that are further apart than this there was an outage. */
const steadyGapMs = 2 * reapEveryMs;

/**
 * Ends a turn that no worker has. What it is known to have said and done in completed steps is
 * kept when it failed; calls without a result are closed. `usage` is what the claim is estimated
 * to have used. Returns false when the turn has moved meanwhile.
 */
export async function endLostTurn(
  sql: AnySql,
  fence: Fence,
  status: "failed" | "canceled",
  isContinuation: boolean,
  { error = workerLost, usage = noUsage }: { readonly error?: TurnError; readonly usage?: TurnUsage } = {},
): Promise<boolean> {
  const usageKnown = !fence.statuses.includes("running");
  if (status === "canceled") {
    const keeps = (await keepOf(sql, fence.turnId)) === "partial";
    const outcome = keeps
      ? await storedKeptOutcome(sql, fence.turnId, usage)
      : await canceledOutcome(sql, fence.turnId, isContinuation, usage);
    return finishTurn(sql, fence, { ...outcome, usageKnown });
  }
  return finishTurn(sql, fence, { ...(await storedLostOutcome(sql, fence.turnId, { error, usage })), usageKnown });
}

/** Returns the decisions on the calls that this turn's last continuation waited for. */
async function readDecisions(sql: AnySql, turnId: string): Promise<CallDecision[]> {
  return sql<CallDecision[]>`
    select tool_call_id, a.status = 'approved' as approved, reason
    from turns t join approvals a on a.continuation_id = t.continuation_id and a.status <> 'pending'
    where t.id = ${turnId}`;
}
