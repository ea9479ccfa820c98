import type postgres from "postgres";
import { type AnySql, json, type Tx } from "../kernel/database/client.ts";
import { ApiError, type ErrorCause } from "../kernel/errors.ts";
import type { IdOf } from "../kernel/ids.ts";
import { addJob } from "../kernel/queue/add-job.ts";
import type { ResponseFormat } from "../model/response-format.ts";
import { type EventRows, tellWebhooks } from "../webhooks/events.ts";

/**
 * The state machine of a run. Every move is a guarded update, and every move is here:
 *
 *     queued ──its turn is accepted──▶ running ──its turn ends──▶ succeeded | failed | blocked | canceled
 *        │
 *        ├─refuse─▶ blocked | failed
 *        └─cancel─▶ canceled
 *
 * A run starts in the transaction that accepts its turn, so that neither can happen without the other. The end of a
 * running run is made by the job `turn.after`, which the end of its turn adds.
 */
export type RunStatus = "queued" | "running" | "blocked" | "succeeded" | "failed" | "canceled";

/** Why a run did not succeed. */
export interface RunError {
  /** A cause; each form has its own code for it. */
  readonly code: string;
  readonly message: string;
}

/** The columns of a new run: the task's settings as they are at its start. */
export interface NewRun {
  readonly id: IdOf<"taskRun">;
  readonly taskId: IdOf<"task">;
  readonly tenantId: string;
  readonly agentId: IdOf<"agent">;
  readonly agentVersion: number;
  /** Whether the task names that version. */
  readonly pinned: boolean;
  readonly prompt: string;
  readonly userId: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly requestId: string;
  readonly responseFormat: ResponseFormat | null;
}

/** Writes a queued run and its job. The caller holds the task's lock and has checked that no run is active. */
export async function insertRun(inner: Tx, run: NewRun): Promise<void> {
  await inner`
    insert into task_runs (id, task_id, tenant_id, agent_id, agent_version, pinned, prompt, user_id, metadata, request_id, response_format)
    values (${run.id}, ${run.taskId}, ${run.tenantId}, ${run.agentId}, ${run.agentVersion}, ${run.pinned}, ${run.prompt},
      ${run.userId}, ${json(inner, run.metadata)}, ${run.requestId},
      ${run.responseFormat === null ? null : json(inner, run.responseFormat)})`;
  await addJob(inner, "task.run", { runId: run.id, tenantId: run.tenantId });
}

/**
 * Starts a run, in the transaction that accepts its turn, so that there is never a started run without its turn, nor a turn of a run that was canceled
 * or started before. Throws 404 when it is not queued any more.
 */
export async function startRun(
  inner: Tx,
  runId: string,
  { sessionId, turnId }: { readonly sessionId: string | null; readonly turnId: string },
): Promise<void> {
  const { count } = await inner`
    update task_runs set status = 'running', session_id = ${sessionId}, turn_id = ${turnId}, started_at = now(), updated_at = now()
    where id = ${runId} and status = 'queued'`;
  if (count === 0) throw new ApiError("not_found");
}

/** Ends a run that may not begin. Returns false when it is not queued any more. */
export async function refuseRun(
  sql: AnySql,
  runId: string,
  status: "blocked" | "failed",
  error: { readonly code: ErrorCause; readonly message: string },
): Promise<boolean> {
  const ended = await endRuns(
    sql,
    sql`
    update task_runs set status = ${status}, error = ${json(sql, error)}, finished_at = now(), updated_at = now()
    where id = ${runId} and status = 'queued'`,
  );
  return ended > 0;
}

/** Ends a run that has not begun. Returns false when it is not queued any more. */
export async function cancelQueuedRun(sql: AnySql, taskId: string, runId: string): Promise<boolean> {
  const ended = await endRuns(
    sql,
    sql`
    update task_runs set status = 'canceled', cancel_requested_at = now(), canceled_at = now(), finished_at = now(),
      updated_at = now()
    where id = ${runId} and task_id = ${taskId} and status = 'queued'`,
  );
  return ended > 0;
}

/** One statement ends at most this many runs. */
const stepRows = 500;

/** Ends all runs of a tenant (only of one agent, where one is given) that have not begun, in steps. Returns how many. */
export async function cancelQueuedRuns(sql: AnySql, tenantId: string, agentId: string | null): Promise<number> {
  for (let total = 0; ; ) {
    const ended = await endRuns(
      sql,
      sql`
      update task_runs set status = 'canceled', cancel_requested_at = now(), canceled_at = now(), finished_at = now(),
        updated_at = now()
      where id in (
        select id from task_runs where tenant_id = ${tenantId} and status = 'queued'
          ${agentId === null ? sql`` : sql`and agent_id = ${agentId}`}
        limit ${stepRows} for update skip locked)`,
    );
    total += ended;
    if (ended < stepRows) return total;
  }
}

/** Ends the run whose turn has ended. Part of the job `turn.after`; safe to repeat. A turn that is erased by then was cancelled with what it belonged to. */
export async function endRunOfTurn(sql: AnySql, turnId: string): Promise<void> {
  await endRuns(
    sql,
    sql`
    update task_runs r set updated_at = now(), (finished_at, status, error, canceled_at) = (
      select ended_at, case when canceled then 'canceled' when error ->> 'code' = 'budget_exceeded' then 'blocked' else status end, case when not canceled then error end,
        case when canceled then ended_at end
      from (
        select coalesce(t.finished_at, now()) as ended_at, t.status, t.error,
          r.cancel_requested_at is not null or coalesce(t.status = 'canceled', true) as canceled
        from (select 1) one left join turns t on t.id = r.turn_id
      ) turn)
    where turn_id = ${turnId} and status = 'running'
      and not exists (select 1 from turns t where t.id = r.turn_id and t.finished_at is null)`,
  );
}

/** Runs an update that ends runs, and tells webhooks of their ends in the same statement. Returns how many ended. */
async function endRuns(sql: AnySql, update: postgres.Fragment): Promise<number> {
  // `jobs` is selected so that Postgres adds them (`tellWebhooks`).
  const [row] = await sql<{ runs: number }[]>`
    with ended as (${update} returning *), ${tellWebhooks(sql, [runsEnded(sql, "ended")])}
    select (select count(*)::int from ended) as runs, (select count(*) from webhook_enqueued) as jobs`;
  return row?.runs ?? 0;
}

/** Marks that a running run is asked to stop; it ends with its turn. */
export async function markCancelRequested(inner: Tx, runId: string): Promise<void> {
  await inner`
    update task_runs set cancel_requested_at = coalesce(cancel_requested_at, now()), updated_at = now() where id = ${runId}`;
}

/** Returns the events of runs that have ended; `rows` is a CTE with their rows as they are now. */
function runsEnded(sql: AnySql, rows: string): EventRows {
  return {
    type: "run.ended",
    from: sql`${sql(rows)} r`,
    tenantId: sql`r.tenant_id`,
    ids: {
      runId: sql`r.id`,
      taskId: sql`r.task_id`,
      agentId: sql`r.agent_id`,
      sessionId: sql`r.session_id`,
      turnId: sql`r.turn_id`,
    },
    status: sql`r.status`,
  };
}
