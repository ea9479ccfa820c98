import { type AnySql, json, type Tx } from "../kernel/database/client.ts";
import type { ErrorCause } from "../kernel/errors.ts";
import { type Page, readTimeCursor, type TimePlace, timePage } from "../kernel/http/page.ts";
import { derivedId, newId } from "../kernel/ids.ts";
import { enqueue } from "../kernel/queue/catalogue.ts";

/**
 * The state machine of a run: every move is a guarded update.
 *
 *     queued → running → succeeded | failed | canceled
 *        ↓ refused, or canceled before it began
 *     blocked | failed | canceled
 *
 * Here are the beginning and the refusal. Two moves are part of a turn's own
 * statements, so that neither can happen without the other: queued → running of
 * the turn's acceptance (`sessions/accept.ts`), the end of the turn's end
 * (`sessions/turns.ts`).
 */
export type RunStatus = "queued" | "running" | "blocked" | "succeeded" | "failed" | "canceled";

/** Why a run did not succeed. */
export interface RunError {
  /** A cause; each form spells it its own way. */
  readonly code: string;
  readonly message: string;
}

/** A run as the database holds it. */
export interface RunRow {
  readonly id: string;
  readonly taskId: string;
  readonly tenantId: string;
  readonly agentId: string;
  readonly agentVersion: number;
  /** Whether the task named that version. */
  readonly pinned: boolean;
  readonly prompt: string;
  readonly userId: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly status: RunStatus;
  readonly error: RunError | null;
  readonly sessionId: string | null;
  readonly turnId: string | null;
  readonly requestId: string;
  readonly startedAt: Date | null;
  readonly finishedAt: Date | null;
  readonly cancelRequestedAt: Date | null;
  readonly canceledAt: Date | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

function columns(sql: AnySql) {
  return sql`r.id, r.task_id, r.tenant_id, r.agent_id,
    r.agent_version, r.pinned, r.prompt, r.user_id, r.metadata, r.status, r.error,
    r.session_id, r.turn_id, r.request_id, r.started_at,
    r.finished_at, r.cancel_requested_at, r.canceled_at,
    r.created_at, r.updated_at`;
}

/** What a run is made of: the task's settings as they are at its start. */
export type NewRun = Pick<
  RunRow,
  "id" | "taskId" | "tenantId" | "agentId" | "agentVersion" | "pinned" | "prompt" | "userId" | "metadata" | "requestId"
>;

/** The id of a run that nothing names; or the one that `name` stands for, the same each time. */
export function runIdOf(taskId: string, name: string | null, at: Date | null = null): string {
  return name === null ? newId("taskRun") : derivedId("taskRun", `${taskId}\n${name}`, at);
}

/** Writes a queued run and its job. The caller holds the task's lock and has seen that no run is active. */
export async function insertRun(inner: Tx, run: NewRun): Promise<void> {
  await inner`
    insert into task_runs (id, task_id, tenant_id, agent_id, agent_version, pinned, prompt, user_id, metadata, request_id)
    values (${run.id}, ${run.taskId}, ${run.tenantId}, ${run.agentId}, ${run.agentVersion}, ${run.pinned}, ${run.prompt},
      ${run.userId}, ${json(inner, run.metadata)}, ${run.requestId})`;
  await enqueue(inner, "task.run", { runId: run.id }, { key: runJobKey(run.id) });
}

/** One job a run waits at a time. */
export function runJobKey(runId: string): string {
  return `task.run:${runId}`;
}

/** Whether a run of the task is queued or running. */
export async function hasActiveRun(sql: AnySql, taskId: string): Promise<boolean> {
  const [active] = await sql`
    select 1 from task_runs where task_id = ${taskId} and status in ('queued', 'running')`;
  return active !== undefined;
}

/** Whether the task has a run of this id already. */
export async function hasRun(sql: AnySql, taskId: string, runId: string): Promise<boolean> {
  const [run] = await sql`select 1 from task_runs where id = ${runId} and task_id = ${taskId}`;
  return run !== undefined;
}

/** Ends a run that has not begun, because it may not. False when it is not queued any more. */
export async function refuseRun(
  sql: AnySql,
  runId: string,
  status: "blocked" | "failed",
  error: { readonly code: ErrorCause; readonly message: string },
): Promise<boolean> {
  const { count } = await sql`
    update task_runs set status = ${status}, error = ${json(sql, error)}, finished_at = now(), updated_at = now()
    where id = ${runId} and status = 'queued'`;
  return count > 0;
}

/** A run by its id alone, for its job; null when it is gone. */
export async function findRun(sql: AnySql, runId: string): Promise<RunRow | null> {
  const [row] = await sql<RunRow[]>`select ${columns(sql)} from task_runs r where r.id = ${runId}`;
  return row ?? null;
}

/** A run of a task; null when the task has none of this id. Whether the task can be seen is the caller's question. */
export async function findRunOf(sql: AnySql, taskId: string, runId: string): Promise<RunRow | null> {
  const [row] = await sql<RunRow[]>`
    select ${columns(sql)} from task_runs r where r.id = ${runId} and r.task_id = ${taskId}`;
  return row ?? null;
}

/** A page of a task's runs, newest first. */
export async function listRuns<T>(
  sql: AnySql,
  taskId: string,
  { cursor, limit }: { cursor: string | undefined; limit: number },
  show: (run: RunRow) => T,
): Promise<Page<T>> {
  const list = `runs:${taskId}`;
  const place = readTimeCursor(list, cursor);
  const before =
    place === null
      ? sql``
      : sql`and (r.created_at, r.id) < ('epoch'::timestamptz + ${place.at}::bigint * interval '1 microsecond', ${place.id})`;
  const rows = await sql<(RunRow & TimePlace)[]>`
    select ${columns(sql)}, (extract(epoch from r.created_at) * 1000000)::bigint::text as at
    from task_runs r where r.task_id = ${taskId} ${before}
    order by r.created_at desc, r.id desc limit ${limit + 1}`;
  return timePage(list, rows, limit, show);
}
