import type { Ctx } from "../../kernel/context.ts";
import type { Sql } from "../../kernel/database/client.ts";
import type { IdOf } from "../../kernel/ids.ts";
import { queuedTurnStaleMs, reapBatchRows, reapEveryMs, workerDeadMs, workerFrozenMs } from "../../kernel/limits.ts";
import { hasLiveJobSql } from "../../kernel/queue/add-job.ts";
import { forgetWorkers } from "../../kernel/queue/recover.ts";
import { reaperActions } from "../../kernel/telemetry/metrics.ts";
import { endIdleLog } from "../end/idle-log.ts";
import { endIdleTurn } from "../end/idle-turn.ts";
import { isLostLine, ringLostLines } from "../state/line.ts";
import { addTurnJob, removeSpentJobs, spentTurnJobs } from "../state/turn-job.ts";
import { findOrphans, type OrphanRow, recoverOrphan } from "./orphans.ts";

/**
 * Recovers turns whose worker is lost (docs/workers.md, "The reaper"). One worker
 * process at a time runs it (`kernel/queue/lease.ts`); all its updates are guarded, so any
 * number may. Each scan has seven parts:
 *
 * 1. Frozen workers: their connections are ended, which frees their locks.
 * 2. Dead workers: forgotten, and their jobs are given back to the queue.
 * 3. Turns marked running whose session lock nobody holds: they go on when they have
 *    completed a step, or are run again when they have shown nothing; else they are ended as
 *    failed, or as canceled when that was asked for.
 * 4. Canceled turns that no worker has: ended.
 * 5. Lines of sessions that nothing holds and whose job is gone: a job is enqueued again.
 * 6. Queued turns that are not parked and whose job is gone: a job is enqueued again.
 * 7. Jobs without attempts left of turns that are not queued any more: they are removed.
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

  /** Notes that Postgres has replied to this worker, between its scans or while another one has the right to them. */
  standBy(): void {
    this.#steady.note(Date.now());
  }

  /** Makes one scan, right after Postgres has replied to this worker. Throws only what the database throws. */
  async scan(): Promise<void> {
    if (!this.#steady.note(Date.now())) return;
    const found = await this.#look();
    if (found.frozen) await this.#endFrozenWorkers();
    // A frozen worker may be a dead one as soon as its connections are ended.
    if (found.dead || found.frozen) await this.#forgetDeadWorkers();
    await this.#endOrphans();
    if (found.canceled) await this.#endCanceled();
    if (found.lines) await this.#ringLines();
    if (found.silent) await this.#enqueueAgain();
    if (found.spent) await removeSpentJobs(this.#ctx.sql, reapBatchRows);
    this.#steady.extend(Date.now());
  }

  /**
   * Returns which parts have something to do: nearly always none, so one statement asks in place of five. What it asks of
   * large tables has an order that an index has: while Postgres believes a table to be small, it would read all of it.
   */
  async #look(): Promise<Found> {
    const { sql } = this.#ctx;
    const [found] = await sql<[Found]>`
      select /* recover.look */ exists (select 1 from workers w where ${this.#isFrozen()}) as frozen,
        exists (select 1 from workers w where ${isDead(sql)}) as dead,
        (select true from turns where ${isToCancel(sql)} order by cancel_requested_at limit 1) is not null as canceled,
        (select true from sessions where line > 0 and ${isLostLine(sql)} order by id limit 1) is not null as lines,
        exists (${silentTurns(sql)}) as silent,
        exists (${spentTurnJobs(sql, 1)}) as spent`;
    return found;
  }

  #isFrozen() {
    return this.#ctx.sql`w.beat_at < now() - ${this.#frozenMs} * interval '1 millisecond'`;
  }

  async #endFrozenWorkers(): Promise<void> {
    const { sql, log } = this.#ctx;
    const frozen = await sql<{ id: IdOf<"worker">; ended: number }[]>`
      select /* recover.end_frozen */ w.id, count(pg_terminate_backend(a.pid))::int as ended
      from workers w join pg_stat_activity a on a.application_name = w.application_name and a.datname = current_database()
      where ${this.#isFrozen()}
      group by w.id`;
    for (const worker of frozen) {
      reaperActions.inc({ action: "frozen_worker_ended" });
      log.warn({ workerId: worker.id, connections: worker.ended }, "a frozen worker's connections were ended");
    }
  }

  async #forgetDeadWorkers(): Promise<void> {
    const { sql, log } = this.#ctx;
    const dead = await forgetWorkers(sql, isDead(sql));
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
      await Promise.all(some.map(({ orphan, since }) => recoverOrphan(this.#ctx, orphan, since)));
    }
  }

  /** Turns that were cancelled while no worker had them, by an operation that could not end them itself (the deletion of their agent or tenant). */
  async #endCanceled(): Promise<void> {
    const { sql } = this.#ctx;
    const canceled = await sql<{ id: IdOf<"turn">; attempt: number }[]>`
      select /* recover.find_canceled */ id, attempt from turns
      where ${isToCancel(sql)} limit ${reapBatchRows}`;
    for (const { id, attempt } of canceled) {
      const statuses = ["enqueued", "queued", "waiting"] as const;
      const log = await endIdleTurn(sql, { turnId: id, attempt, statuses }, { why: "canceled" });
      if (log === null) continue;
      reaperActions.inc({ action: "turn_canceled" });
      endIdleLog(this.#ctx, log);
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
      with /* recover.requeue_silent */ silent as (${silentTurns(sql)})
      select id, ${addTurnJob(sql)} from silent`;
    for (const turn of enqueued) {
      reaperActions.inc({ action: "turn_rung" });
      log.warn({ turnId: turn.id }, "a queued turn whose job was gone was enqueued again");
    }
  }
}

/** This many lost turns are ended in parallel. */
const orphansAtOnce = 50;

/** Which parts of a scan have something to do. */
interface Found {
  readonly frozen: boolean;
  readonly dead: boolean;
  readonly canceled: boolean;
  readonly lines: boolean;
  readonly silent: boolean;
  readonly spent: boolean;
}

/** The SQL of: the worker `w` has been silent for long, and has no connection either. */
function isDead(sql: Sql) {
  return sql`w.beat_at < now() - ${workerDeadMs} * interval '1 millisecond'
    and not exists (select 1 from pg_stat_activity a where a.application_name = w.application_name and a.datname = current_database())`;
}

/** The SQL of: a turn was cancelled and no worker has it. */
function isToCancel(sql: Sql) {
  return sql`status in ('enqueued', 'queued', 'waiting') and cancel_requested_at is not null`;
}

/** The SQL of the queued turns, oldest first, that are not parked and whose job is gone. */
function silentTurns(sql: Sql) {
  return sql`
    select id, session_id, tenant_id from (
      select id, session_id, tenant_id from turns where status = 'queued' and cancel_requested_at is null and parked_at is null
        and accepted_at < now() - ${queuedTurnStaleMs} * interval '1 millisecond'
      order by accepted_at limit ${reapBatchRows}
    ) oldest
    where not ${hasLiveJobSql(sql, sql`oldest.id`)}`;
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
