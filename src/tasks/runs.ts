import type { AnySql } from "../kernel/database/client.ts";
import { olderThan, placeInTime, type TimePlace } from "../kernel/database/keyset.ts";
import { type Page, readTimeCursor, timePage } from "../kernel/http/page.ts";
import { derivedId, type IdOf, newId } from "../kernel/ids.ts";
import type { NewRun, RunError, RunStatus } from "./run-states.ts";

/** A run as the database holds it. */
export interface RunRow extends NewRun {
  readonly status: RunStatus;
  readonly error: RunError | null;
  readonly sessionId: IdOf<"session"> | null;
  readonly turnId: IdOf<"turn"> | null;
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
    r.session_id, r.turn_id, r.request_id, r.response_format, r.started_at,
    r.finished_at, r.cancel_requested_at, r.canceled_at,
    r.created_at, r.updated_at`;
}

/** Returns a new id of a run; or, with a `name`, the id derived from it, the same each time. */
export function runIdOf(taskId: string, name: string | null, at: Date | null = null): IdOf<"taskRun"> {
  return name === null ? newId("taskRun") : derivedId("taskRun", `${taskId}\n${name}`, at);
}

/** Returns whether a run of the task is queued or running. */
export async function hasActiveRun(sql: AnySql, taskId: string): Promise<boolean> {
  const [active] = await sql`
    select 1 from task_runs where task_id = ${taskId} and status in ('queued', 'running')`;
  return active !== undefined;
}

/** Returns whether the task has a run of this id already. */
export async function hasRun(sql: AnySql, taskId: string, runId: string): Promise<boolean> {
  const [run] = await sql`select 1 from task_runs where id = ${runId} and task_id = ${taskId}`;
  return run !== undefined;
}

/** Reads a run by its id alone, for its job; null when it was deleted. */
export async function findRun(sql: AnySql, runId: string): Promise<RunRow | null> {
  const [row] = await sql<RunRow[]>`select ${columns(sql)} from task_runs r where r.id = ${runId}`;
  return row ?? null;
}

/** Reads a run of a task; null when the task has none of this id. The caller checks that the task exists for the tenant. */
export async function findRunOf(sql: AnySql, taskId: string, runId: string): Promise<RunRow | null> {
  const [row] = await sql<RunRow[]>`
    select ${columns(sql)} from task_runs r where r.id = ${runId} and r.task_id = ${taskId}`;
  return row ?? null;
}

/** Returns a page of a task's runs, newest first. */
export async function listRuns<T>(
  sql: AnySql,
  taskId: string,
  { cursor, limit }: { cursor: string | undefined; limit: number },
  show: (run: RunRow) => T,
): Promise<Page<T>> {
  const list = `runs:${taskId}`;
  const place = readTimeCursor(list, cursor);
  const rows = await sql<(RunRow & TimePlace)[]>`
    select ${columns(sql)}, ${placeInTime(sql, "r.created_at")}
    from task_runs r where r.task_id = ${taskId} ${olderThan(sql, place, "r.created_at", "r.id")}
    order by r.created_at desc, r.id desc limit ${limit + 1}`;
  return timePage(list, rows, limit, show);
}
