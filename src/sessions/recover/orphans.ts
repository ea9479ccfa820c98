import type { Ctx } from "../../kernel/context.ts";
import type { Sql } from "../../kernel/database/client.ts";
import type { IdOf } from "../../kernel/ids.ts";
import { reapBatchRows, workerDeadMs } from "../../kernel/limits.ts";
import type { LogKey } from "../../kernel/relay/relay.ts";
import { reaperActions } from "../../kernel/telemetry/metrics.ts";
import { endIdleLog } from "../end/idle-log.ts";
import { endIdleTurn } from "../end/idle-turn.ts";
import { readProgress, shownChunks } from "../end/progress.ts";
import type { CancelKeep } from "../state/cancel-request.ts";
import { requeueTurn } from "../state/turn.ts";
import { type TurnError, type TurnUsage, workerLetGo, workerLost, workerStopped } from "../state/turn-end.ts";
import { lostUsage } from "./lost-usage.ts";

/** What the recovery of lost turns needs of a process. */
type ReaperCtx = Pick<Ctx, "sql" | "relay" | "log">;

/** A running turn whose lock nobody holds. */
export interface OrphanRow {
  id: IdOf<"turn">;
  attempt: number;
  continuationId: IdOf<"continuation"> | null;
  shown: boolean;
  cancelRequested: boolean;
  /** What whoever asked for that wants to keep. */
  cancelKeep: CancelKeep | null;
  workerLives: boolean;
  /** Its worker's event loop stood in it. */
  stoppedWorker: boolean;
  /** The claim that began its turn log. */
  logAttempt: number;
  stepsDone: number;
  stepEvents: number;
  toolEvents: number | null;
}

/**
 * For this long a relay that does not reply is asked again whether a lost turn has shown
 * anything. That makes two attempts, and a lost connection to the relay is restored by
 * then.
 */
const sealPatienceMs = 7_000;

/**
 * Returns the running turns whose lock nobody holds. `pg_locks` shows a 64-bit advisory key
 * as two halves. A turn whose row is locked is left to the transaction that moves it:
 * a commit may outlive its worker, and waiting for it would delay all the others.
 */
export function findOrphans(sql: Sql): PromiseLike<OrphanRow[]> {
  return sql<OrphanRow[]>`
    with /* recover.find_orphans */ held as materialized (
      select (classid::bigint << 32) | objid::bigint as key from pg_locks
      where locktype = 'advisory' and objsubid = 1 and granted
        and database = (select oid from pg_database where datname = current_database())
    )
    select t.id, t.attempt, t.continuation_id, t.steps_done, t.step_events, t.tool_events,
      coalesce(case when t.continuation_id is null then t.log_attempt else (
        select c.log_attempt from continuations c where c.id = t.continuation_id) end, t.attempt) as log_attempt, t.shown_at is not null as shown, t.cancel_requested_at is not null as cancel_requested, t.cancel_keep, t.stopped_worker_at is not null as stopped_worker,
      exists (select 1 from workers w where w.id = t.worker_id and w.beat_at > now() - ${workerDeadMs} * interval '1 millisecond') as worker_lives
    from turns t
    where t.status = 'running'
      and not exists (select 1 from held where held.key = hashtextextended(coalesce(t.session_id, t.id), 0))
    order by t.accepted_at limit ${reapBatchRows} for update of t skip locked`;
}

/** Has a lost turn go on or run again, or ends it; `since` is when it was first seen so. */
export async function recoverOrphan(ctx: ReaperCtx, orphan: OrphanRow, since: number): Promise<void> {
  const { sql, relay, log } = ctx;
  const { id, attempt, stepEvents } = orphan;
  const key = { ...logOf(orphan), claim: attempt + 1 };
  const hasStep = orphan.stepsDone > 0;
  const mayGoOn = !orphan.cancelRequested && (hasStep || !orphan.shown);
  // First: what its worker still writes has no effect any more, and what readers have is final.
  const fenced = await relay.fence(key, key.claim).catch(() => null);
  // The row was read some time ago, so a relay that does not reply is asked once more.
  if (mayGoOn && fenced === null && Date.now() - since < sealPatienceMs) return;
  const tail = fenced?.tail ?? 0;
  // Those who follow a log without events turn to that of the next claim.
  if (!hasStep && tail === 0) await relay.seal(key).catch(() => {});
  const usage = await lostUsage(ctx, id, { ...key, hasShown: tail > 0, from: stepEvents + 1, upTo: tail });
  const cause = orphan.workerLives ? "handed_back" : "crashed";
  if (mayGoOn && (hasStep || tail === 0) && (await requeueTurn(sql, { turnId: id, attempt }, cause, { usage }))) {
    reaperActions.inc({ action: "turn_requeued" });
    log.warn(
      { turnId: id, attempt },
      hasStep
        ? "a turn whose worker is lost will go on from its last completed step"
        : "a turn whose worker is lost will be run again",
    );
    return;
  }
  await endOrphan(ctx, orphan, usage);
}

/** Ends a lost turn, with what its readers have of it where that is kept. */
async function endOrphan(ctx: ReaperCtx, orphan: OrphanRow, usage: TurnUsage): Promise<void> {
  const { id: turnId, attempt, stepEvents, toolEvents, cancelRequested } = orphan;
  const why = cancelRequested ? "canceled" : "lost";
  const end = cancelRequested ? ({ why, usage } as const) : ({ why, usage, error: errorOf(orphan) } as const);
  const keepsShown = cancelRequested ? orphan.cancelKeep === "partial" : orphan.stepsDone > 0;
  const log = { ...logOf(orphan), claim: attempt + 1 };
  const progress = keepsShown ? await readProgress(ctx, { id: turnId, log, stepEvents, toolEvents }) : null;
  const shown = progress === null ? null : shownChunks(progress);
  const ended = await endIdleTurn(ctx.sql, { turnId, attempt, statuses: ["running"] }, { ...end, shown });
  if (ended === null) return;
  endIdleLog(ctx, ended);
  reaperActions.inc({ action: "turn_ended" });
  const status = cancelRequested ? "canceled" : "failed";
  ctx.log.warn({ turnId, attempt, status }, "a turn whose worker is lost was ended");
}

/** Returns why a lost turn fails. */
function errorOf({ stoppedWorker, workerLives }: OrphanRow): TurnError {
  if (stoppedWorker) return workerStopped;
  return workerLives ? workerLetGo : workerLost;
}

/** Returns the turn log of a lost turn, which is that of its continuation. */
function logOf({ id, continuationId, logAttempt }: OrphanRow): LogKey {
  return { logId: continuationId ?? id, attempt: logAttempt };
}
