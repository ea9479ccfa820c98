import type postgres from "postgres";
import { byKeyOnly } from "../../kernel/database/by-key-only.ts";
import type { AnySql, Tx } from "../../kernel/database/client.ts";
import { isDivisionByZero } from "../../kernel/database/failure.ts";
import type { IdOf } from "../../kernel/ids.ts";
import { turnAttemptsMax, turnCrashesMax } from "../../kernel/limits.ts";
import { type ClaimKey, runsBy } from "./claim-key.ts";
import { hasOlderParkedSql } from "./parked.ts";
import { addUsage, spendUsage } from "./spending.ts";
import { addRunTime, recordSteps, waitingTime } from "./turn-columns.ts";
import type { TurnUsage } from "./turn-end.ts";
import { addTurnJob } from "./turn-job.ts";
import type { TurnRecord } from "./turn-step.ts";

/**
 * The states of a turn, and every statement that moves one.
 *
 *    accept           claim                      end
 *   ────────► queued ────────────────► running ──────────► succeeded, failed, canceled
 *              ▲ │ ▲  requeue, unclaim  │  │                  ▲      ▲
 *              │ │ └────────────────────┘  │ ask              │      │
 *              │ │                         ▼                  │      │
 *              │ │      resume          waiting ──── end ─────┘      │
 *              └─┼─────────────────────────┘                         │
 *                └─────────────────── end ───────────────────────────┘
 *
 * A turn that is accepted while its session is busy waits in the session's line first;
 * `line.ts` has these moves, and `sessions.line` counts who is in it:
 *
 *    enqueue              start
 *   ─────────► enqueued ─────────► queued
 *                  └────── end ────► failed (refused at its start), canceled
 *
 * A turn that is accepted in the process of a worker with room is claimed by the same statement (*take*): none → running.
 *
 * A queued turn is one of two: with a job, which the next worker takes, or *parked*
 * (`parked_at`), without one, until a worker has a slot for its tenant:
 *
 *    accept, resume, requeue              park                         claim
 *   ─────────────────────────► with a job ─────► parked ────────────────────► running
 *                                                  ▲      (with a job too)
 *                                  accept ─────────┘
 *                        (behind parked turns of its tenant)
 *
 * A running turn that has completed a step (a model call with its tool calls, which another
 * model call follows) has a *checkpoint* (`checkpoint.ts`), and goes on from there:
 *
 *               step                     lost: requeue, claim
 *   running ──────────► running ──────────────────────────────► running, with the same turn log
 *   (first step)        (a later step)
 *
 * A turn that stops to ask (`waiting`), a person for an approval or its caller for the result of
 * a client tool, is continued by a *continuation*, which has a turn log of its own; the moves of
 * continuations, approvals and calls of client tools are in `continuation.ts`.
 *
 * Every move is one update that names the state it leaves (its guard). Zero rows
 * mean that another process moved the turn first.
 *
 * | move    | from → to                  | made by                                   | guard beside the state |
 * |---------|----------------------------|-------------------------------------------|------------------------|
 * | accept  | none → queued              | `accept/accept-statement.ts`              | the index `turns_one_active`: a session has one unfinished turn; its line is empty |
 * | take    | none → running             | `accept/accept-statement.ts`: `takenColumns` | those of accept and of claim |
 * | enqueue | none → enqueued            | `accept/enqueue.ts`: `insertIntoLine` | the lock on the session's row; fewer than `lineTurnsMax` are in the line |
 * | start   | enqueued → queued          | `accept/start-next.ts`: `startMove` in `line.ts` | the lock on the session's row; no unfinished turn of it; it is the first; no cancellation was asked for |
 * | park    | queued → queued            | `run/dispatch.ts`: `parkTurns` in `parked.ts` | it is not parked |
 * | claim   | queued → running           | `run/claim.ts`: `claimMove`               | the session's advisory lock is held; no cancellation was asked for; with a job: no older turn of its tenant is parked, and its tenant's running turns have no limit; else that limit |
 * | end     | running → succeeded, failed, canceled; enqueued, queued, waiting → canceled; enqueued → failed (refused); queued → failed (discarded by the operator) | `end/end.ts`: `endTurn`; of several plain claims at once `endPlain` | the claim (`claim-key.ts`); for a good end also that no cancellation was asked for |
 * | ask     | running → waiting          | `end/ask.ts`: `askTurn`                   | as a good end |
 * | resume  | waiting → queued           | `pause/pause.ts`: `resumeTurn`            | it waits for this very continuation |
 * | requeue | running → queued           | a draining worker, the reaper: `requeueTurn` | the claim; nothing was shown or a step is complete, no cancellation was asked for, its worker's event loop does not stand in it (`stopped-worker.ts`), runs are left (`RequeueCause`) |
 * | step    | running → running          | `run/checkpoints.ts`: `writeCheckpoint` in `checkpoint.ts` | the claim, the steps before it |
 * | unclaim | running → queued           | `run/running-turns.ts`: `unclaimTurn`             | claimed by this very worker; nothing was shown |
 *
 * Two columns of a turn's row prevent moves: `cancel_requested_at` (`cancel-request.ts`;
 * for all turns of an agent `cancelTurns` in `src/agents/store.ts`), and `shown_at`
 * (`markShown`).
 *
 * The end of a turn adds the job `session.next` where the session has a line, and `turn.after` where anybody but
 * its readers is told of it.
 */

export type TurnStatus = "enqueued" | "queued" | "running" | "waiting" | "succeeded" | "failed" | "canceled";

/** How a turn was asked for: a session over HTTP, a stateless generation, a task's run, a chat app. */
export const turnKinds = ["session", "generate", "task", "chat"] as const;
export type TurnKind = (typeof turnKinds)[number];

/**
 * How a turn is claimed. `job`: it was fetched, or announced before that. It has not waited in its tenant's line, so older
 * parked turns go first (but a continuation's go-ahead was given already), and it is not claimed when its
 * tenant has a limit of running turns. `parked`: it is the one that a worker picked.
 * `counted`: the same, of a tenant with such a limit, which the caller has counted.
 */
export type ClaimWay = "job" | "parked" | "counted";

/** Returns whether a turn that is claimed in this way has a job, and has not waited in its tenant's line. */
export function hasJob(way: ClaimWay): boolean {
  return way === "job";
}

/** Who claims turns, and how. */
interface Claimant {
  readonly workerId: postgres.Fragment;
  readonly way: ClaimWay;
}

/**
 * Returns the move *claim* of some turns, to be used as a CTE after a CTE `held` with the columns `turn_id`, `lock_key`,
 * `tenant_id`, `locked` (whether this connection holds the session's lock) and `is_free` (whether it has locked the turn's row).
 */
export function claimMove(sql: AnySql, { workerId, way }: Claimant) {
  // Scalar subqueries: each is one probe of an index for each row that is claimed.
  const isFirst = sql`(continuation_id is not null or not ${hasOlderParkedSql(sql)})
          and (select true from tenants n where n.id = turns.tenant_id and n.running_turns is not null) is null`;
  return sql`
      update turns set status = 'running', attempt = attempt + 1, worker_id = ${workerId}, claimed_at = date_trunc('milliseconds', now()), parked_at = null,
        started_at = coalesce(started_at, now()), calls_before = model_calls,
        log_attempt = case when continuation_id is null and steps_done = 0 then attempt + 1 else log_attempt end
      from held where held.is_free and id = held.turn_id and coalesce(session_id, id) = held.lock_key
        and ${byKeyOnly(sql, sql`turns.tenant_id`)} = held.tenant_id and ${byKeyOnly(sql, sql`status`)} = 'queued' and cancel_requested_at is null
        and case when ${hasJob(way)} then ${isFirst} else true end
      returning turns.*`;
}

/**
 * Returns the columns that are written of a turn which is claimed while it is accepted, and their values, where the
 * expression `isTaken` is true: what `claimMove` would make of a turn that was just queued.
 */
export function takenColumns(sql: AnySql, workerId: postgres.Fragment, isTaken: postgres.Fragment) {
  const taken = (value: postgres.Fragment) => sql`case when ${isTaken} then ${value} end`;
  return {
    names: sql`, status, attempt, worker_id, claimed_at, started_at, log_attempt`,
    values: sql`, case when ${isTaken} then 'running' else 'queued' end, case when ${isTaken} then 1 else 0 end, ${taken(workerId)},
        ${taken(sql`date_trunc('milliseconds', now())`)}, ${taken(sql`now()`)}, ${taken(sql`1`)}`,
  };
}

/**
 * Returns the SQL of: nothing but the lock of its session keeps a turn of `asked` from being claimed while it is accepted.
 * Parked turns of its tenant go first, and one whose tenant has a limit of running turns is counted when it is claimed.
 */
export function mayBeTaken(sql: AnySql): postgres.Fragment {
  return sql`not asked.is_parked and (select true from tenants n where n.id = asked.tenant_id and n.running_turns is not null) is null`;
}

/** The move *resume*: queues a turn whose approvals are decided and whose client tools have their results, with a job. Does nothing when it waits for another continuation. */
export async function resumeTurn(sql: AnySql, turnId: string, continuationId: string): Promise<void> {
  await sql`
    with /* turn.resume */ queued as (
      update turns set status = 'queued', waited_ms = waited_ms + ${waitingTime(sql, "turns")}
      where id = ${turnId} and status = 'waiting' and continuation_id = ${continuationId}
      returning id, session_id, tenant_id
    )
    select ${addTurnJob(sql)} from queued`;
}

/**
 * Why a turn goes back into the queue. `drained`: its worker stops, which is no fault of the turn, so it may
 * happen any number of times; `turnRunMsMax` bounds all claims together. `handed_back`: its worker has lost its hold, which may happen
 * `turnAttemptsMax` times. `crashed`: its worker died, perhaps of this very turn, which may happen `turnCrashesMax` times.
 * Each is counted apart, so that what kills workers does not kill more of them, and restarts do not count as crashes.
 */
export type RequeueCause = "drained" | "handed_back" | "crashed";

/** What each cause asks of the turn, null being no bound, and what it counts. */
const causes = {
  drained: { attemptsMax: null, crashesMax: null, attempts: 1, crashes: 0 },
  handed_back: { attemptsMax: turnAttemptsMax, crashesMax: null, attempts: 0, crashes: 0 },
  crashed: { attemptsMax: null, crashesMax: turnCrashesMax, attempts: 0, crashes: 1 },
} as const satisfies Record<RequeueCause, object>;

/**
 * The move *requeue*: puts a turn that has shown nothing, or has completed a step, back
 * into the queue, with a new job: a worker that wakes up later deletes its old job by
 * number, and must not delete this one. What the claim used is added to the turn. Returns
 * false when the claim is gone, the turn may not be run again, or its runs (those of the
 * step under way) are used up.
 */
export async function requeueTurn(
  sql: AnySql,
  claim: ClaimKey,
  cause: RequeueCause,
  { usage, record = null }: { readonly usage: TurnUsage; readonly record?: TurnRecord | null },
): Promise<boolean> {
  const { attemptsMax, crashesMax, attempts, crashes } = causes[cause];
  const rows = await sql`
    with /* turn.requeue */ requeued as (
      update turns set status = 'queued', worker_id = null, claimed_at = null, shown_at = null, ${addRunTime(sql)},
        ${recordSteps(sql, record)} ${addUsage(sql, usage)}, attempts_before = attempts_before + ${attempts}, crashes = crashes + ${crashes}
      where ${runsBy(sql, claim)} and (shown_at is null or steps_done > 0)
        and cancel_requested_at is null and stopped_worker_at is null
        and coalesce(attempt - attempts_before - crashes < ${attemptsMax}::int, true) and coalesce(crashes < ${crashesMax}::int, true)
      returning id, session_id, tenant_id, agent_id, user_id
    ), ${spendUsage(sql, usage, "requeued")}
    select ${addTurnJob(sql)} from requeued`;
  return rows.length > 0;
}

/**
 * The move *unclaim*: takes back a claim of this worker whose result was lost with the
 * connection, so that no worker runs the turn. This worker holds the job of that claim, or there is
 * none any more, and claims the turn again. Returns false when there is no such claim.
 */
export async function unclaimTurn(sql: AnySql, turnId: string, workerId: string): Promise<boolean> {
  const { count } = await sql`
    update /* turn.unclaim */ turns set status = 'queued', worker_id = null, claimed_at = null
    where id = ${turnId} and worker_id = ${workerId} and status = 'running' and shown_at is null`;
  return count > 0;
}

/** What a reader may have seen of a claim. */
export interface ShownNote {
  /** When the turn's first text came; null: not yet, in this claim. */
  readonly firstTextAt: Date | null;
  /** Where tools begin to run: the events of the turn log before that, with all calls that run. Null: none begins. */
  readonly toolEvents: number | null;
}

/**
 * Notes that a reader may have seen something of this attempt, or that a tool
 * runs: from now on its first step is not run again, and the calls of a later one are not
 * made again. Returns false when the claim is gone.
 */
export async function markShown(
  sql: AnySql,
  claim: ClaimKey,
  { firstTextAt, toolEvents }: ShownNote,
): Promise<boolean> {
  const tools = toolEvents === null ? sql`` : sql`, tool_events = greatest(tool_events, ${toolEvents})`;
  const { count } = await sql`
    update /* turn.mark_shown */ turns set shown_at = coalesce(shown_at, now()), first_text_at = coalesce(first_text_at, ${firstTextAt}) ${tools}
    where ${runsBy(sql, claim)}`;
  return count > 0;
}

/**
 * Keeps a running turn from being moved until the transaction ends. Where this claim does not run any more, the statement
 * itself fails, and throws: a commit that is sent behind it, before its response is there, rolls the transaction back.
 */
export async function requireClaim(inner: Tx, claim: ClaimKey): Promise<void> {
  try {
    await inner`
      select /* turn.require_claim */ 1 / count(*) from (
        select 1 from turns where ${runsBy(inner, claim)} for share) as claim`;
  } catch (error) {
    if (!isDivisionByZero(error)) throw error;
    throw new Error(`The turn ${claim.turnId} belongs to another worker by now.`);
  }
}

/** Returns whether this attempt of a turn runs, or was lost without anybody having noticed. */
export async function isClaimed(sql: AnySql, turnId: string, attempt: number): Promise<boolean> {
  const [row] = await sql`
    select /* turn.has_claim */ 1 from turns where id = ${turnId} and attempt = ${attempt} and status = 'running'`;
  return row !== undefined;
}

/** The turn of a session that has not ended. */
export interface ActiveTurn {
  readonly id: IdOf<"turn">;
  readonly continuationId: IdOf<"continuation"> | null;
  readonly status: TurnStatus;
}

/** Returns the session's turn that has not ended, or the first of its line while that one is about to start; null when the session is idle. */
export async function activeTurn(sql: AnySql, sessionId: string): Promise<ActiveTurn | null> {
  const [turn] = await sql<ActiveTurn[]>`
    select /* turn.find_active */ id, continuation_id, status from (
      (select id, continuation_id, status, -1 as place from turns
      where session_id = ${sessionId} and status in ('queued', 'running', 'waiting'))
      union all
      (select id, continuation_id, status, 0 as place from turns
      where session_id = ${sessionId} and status = 'enqueued' order by line_place limit 1)
    ) unfinished order by place limit 1`;
  return turn ?? null;
}
