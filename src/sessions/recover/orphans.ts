import type { Ctx } from "../../kernel/context.ts";
import type { Sql } from "../../kernel/database/client.ts";
import type { IdOf } from "../../kernel/ids.ts";
import { reapBatchRows, workerDeadMs } from "../../kernel/limits.ts";
import type { LogKey } from "../../kernel/relay/relay.ts";
import { reaperActions } from "../../kernel/telemetry/metrics.ts";
import { type CallDecision, withDecisions } from "../../messages/tool-calls.ts";
import { finishTurn } from "../run/finish.ts";
import { keepOf, keptOutcome, readKeptTurn } from "../run/kept.ts";
import { lostOutcome, workerLetGo, workerLost, workerStopped } from "../run/lost-outcome.ts";
import { readProgress } from "../run/progress.ts";
import { readCheckpoints } from "../state/checkpoint.ts";
import { requeueTurn } from "../state/turn.ts";
import type { TurnError, TurnUsage } from "../state/turn-end.ts";
import { endLostTurn } from "./end-lost-turn.ts";
import { lostAnswer } from "./lost-answer.ts";
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
        select c.log_attempt from continuations c where c.id = t.continuation_id) end, t.attempt) as log_attempt, t.shown_at is not null as shown, t.cancel_requested_at is not null as cancel_requested, t.stopped_worker_at is not null as stopped_worker,
      exists (select 1 from workers w where w.id = t.worker_id and w.beat_at > now() - ${workerDeadMs} * interval '1 millisecond') as worker_lives
    from turns t
    where t.status = 'running'
      and not exists (select 1 from held where held.key = hashtextextended(coalesce(t.session_id, t.id), 0))
    order by t.accepted_at limit ${reapBatchRows} for update of t skip locked`;
}

/** Has a lost turn go on or run again, or ends it; `since` is when it was first seen so. */
export async function recoverOrphan(ctx: ReaperCtx, orphan: OrphanRow, since: number): Promise<void> {
  const { sql, relay, log } = ctx;
  const { id, attempt, continuationId, shown, cancelRequested } = orphan;
  if (orphan.stepsDone > 0 && !cancelRequested) return goOn(ctx, orphan, since);
  // Sealed first: what its worker still writes has no effect any more, and whether it has shown anything is final.
  const key = logOf(orphan);
  const sealed = await relay.seal(key).catch(() => "unknown" as const);
  const mayRunAgain = !shown && !cancelRequested;
  const cause = orphan.workerLives ? "handed_back" : "crashed";
  // The row was read some time ago, so a relay that does not reply is asked once more.
  if (mayRunAgain && sealed === "unknown" && Date.now() - since < sealPatienceMs) return;
  const showedNothing = sealed === "empty" || sealed === "unknown";
  const usage = await lostUsage(ctx, id, { ...key, hasShown: !showedNothing, from: orphan.stepEvents + 1 });
  if (mayRunAgain && showedNothing && (await requeueTurn(sql, { turnId: id, attempt }, cause, { usage }))) {
    reaperActions.inc({ action: "turn_requeued" });
    log.warn({ turnId: id, attempt }, "a turn whose worker is lost will be run again");
    return;
  }
  const status = cancelRequested ? "canceled" : "failed";
  const lost = { turnId: id, attempt, statuses: ["running" as const], continuationId };
  const ended =
    cancelRequested && (await keepOf(sql, id)) === "partial"
      ? await endKept(ctx, orphan, usage)
      : await endLostTurn(sql, lost, status, { usage, error: errorOf(orphan) });
  if (!ended) return;
  reaperActions.inc({ action: "turn_ended" });
  log.warn({ turnId: id, attempt, status }, "a turn whose worker is lost was ended");
}

/** Ends a lost turn that was cancelled, with what it is known to have said; its log is sealed. */
async function endKept(ctx: ReaperCtx, orphan: OrphanRow, usage: TurnUsage): Promise<boolean> {
  const { sql } = ctx;
  const { id: turnId, attempt } = orphan;
  const turn = await readKeptTurn(sql, turnId);
  if (turn === null) return false;
  const { assistantMessageId } = turn;
  const extended = turn.reached === null ? null : withDecisions(turn.reached, await readDecisions(sql, turnId));
  const log = { ...logOf(orphan), assistantMessageId, extended };
  const reached = await lostAnswer(ctx, log, orphan.stepsDone > 0 ? await readCheckpoints(sql, turnId) : []);
  const statuses = ["running" as const];
  return finishTurn(sql, { turnId, attempt, statuses }, { ...keptOutcome(turn, reached, usage), usageKnown: false });
}

/** Has a lost turn go on from its last completed step, or ends it with what its steps did. */
async function goOn(ctx: ReaperCtx, orphan: OrphanRow, since: number): Promise<void> {
  const { sql, relay, log } = ctx;
  const { id, attempt, stepEvents, toolEvents } = orphan;
  const key = { ...logOf(orphan), claim: attempt + 1 };
  // First: what its worker still writes has no effect any more, and what readers have is final.
  const fenced = await relay.fence(key, key.claim).catch(() => null);
  if (fenced === null && Date.now() - since < sealPatienceMs) return;
  const shown = { from: stepEvents + 1, upTo: fenced?.tail ?? 0 };
  const usage = await lostUsage(ctx, id, { ...key, hasShown: fenced !== null, ...shown });
  if (await requeueTurn(sql, { turnId: id, attempt }, orphan.workerLives ? "handed_back" : "crashed", { usage })) {
    reaperActions.inc({ action: "turn_requeued" });
    log.warn({ turnId: id, attempt }, "a turn whose worker is lost will go on from its last completed step");
    return;
  }
  const progress = await readProgress(ctx, { id, log: key, stepEvents, toolEvents });
  await relay.seal(key).catch(() => {});
  const outcome = await lostOutcome(sql, id, { progress, usage, error: errorOf(orphan) });
  const fence = { turnId: id, attempt, statuses: ["running" as const] };
  if (!(await finishTurn(sql, fence, { ...outcome, usageKnown: false }))) return;
  reaperActions.inc({ action: "turn_ended" });
  log.warn({ turnId: id, attempt, status: "failed" }, "a turn whose worker is lost was ended");
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

/** Returns the decisions on the calls that this turn's last continuation waited for. */
async function readDecisions(sql: Sql, turnId: string): Promise<CallDecision[]> {
  return sql<CallDecision[]>`
    select /* approval.read_decided */ tool_call_id, a.status = 'approved' as approved, reason
    from turns t join approvals a on a.continuation_id = t.continuation_id and a.status <> 'pending'
    where t.id = ${turnId}`;
}
