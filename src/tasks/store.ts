import { type AgentIds, andOf } from "../kernel/auth/agent-scope.ts";
import { type AnySql, json, type Tx } from "../kernel/database/client.ts";
import { olderThan, placeInTime, type TimePlace } from "../kernel/database/keyset.ts";
import { tx } from "../kernel/database/transaction.ts";
import { ApiError } from "../kernel/errors.ts";
import { type Page, readTimeCursor, timePage } from "../kernel/http/page.ts";
import { type IdOf, newId } from "../kernel/ids.ts";
import { addJob } from "../kernel/queue/add-job.ts";
import type { ResponseFormat } from "../model/response-format.ts";
import { checkResponseFormat } from "../sessions/response-format.ts";
import { setNextFire } from "./next-fire.ts";
import type { RunStatus } from "./run-states.ts";
import { hasActiveRun } from "./runs.ts";
import { firstFire, nextFire, readSchedule, type Schedule } from "./schedule.ts";
import { type TaskChanges, type TaskFields, tasksPerTenantMax } from "./schema.ts";
import { readTaskAgent, runnableTaskAgent } from "./task-agent.ts";

/** A task as the database holds it, with its newest run. */
export interface TaskRow {
  readonly id: IdOf<"task">;
  readonly tenantId: string;
  readonly agentId: IdOf<"agent">;
  readonly agentVersion: number | null;
  readonly name: string;
  readonly prompt: string;
  readonly schedule: Schedule | null;
  readonly enabled: boolean;
  readonly nextFireAt: Date | null;
  readonly userId: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly responseFormat: ResponseFormat | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  /** Only the newest run of a task can be active. */
  readonly latestRunId: IdOf<"taskRun"> | null;
  readonly latestRunStatus: RunStatus | null;
  readonly latestRunFinishedAt: Date | null;
}

/** The query of tasks that exist for the interface: not deleted, and with their agent. */
function visibleTasks(sql: AnySql) {
  return sql`
    select t.id, t.tenant_id, t.agent_id, t.agent_version, t.name, t.prompt,
      t.schedule, t.enabled, t.next_fire_at, t.user_id, t.metadata, t.response_format,
      t.created_at, t.updated_at, run.id as latest_run_id, run.status as latest_run_status,
      run.finished_at as latest_run_finished_at, ${placeInTime(sql, "t.updated_at")}
    from tasks t join agents a on a.id = t.agent_id left join lateral (
      select id, status, finished_at from task_runs where task_id = t.id order by created_at desc, id desc limit 1
    ) run on true
    where t.deleted_at is null`;
}

/** Reads a tenant's task. Throws 404. */
export async function getTask(sql: AnySql, tenantId: string, id: string): Promise<TaskRow> {
  const [row] = await sql<TaskRow[]>`${visibleTasks(sql)} and t.id = ${id} and t.tenant_id = ${tenantId}`;
  if (row === undefined) throw new ApiError("not_found");
  return row;
}

/**
 * Reads a tenant's task and keeps others from changing it, from starting or
 * firing it, and from deleting its agent until the transaction ends. Throws 404.
 */
export async function lockTask(inner: Tx, tenantId: string, id: string): Promise<TaskRow> {
  const [row] = await inner`
    select 1 from tasks t join agents a on a.id = t.agent_id
    where t.id = ${id} and t.tenant_id = ${tenantId} and t.deleted_at is null for no key update of t for key share of a`;
  if (row === undefined) throw new ApiError("not_found");
  // A second statement, because the first one's snapshot may be older than its lock.
  return getTask(inner, tenantId, id);
}

export interface TaskFilter {
  readonly agentId: IdOf<"agent"> | undefined;
  /** Null: of all agents. */
  readonly agentIds: AgentIds;
  /** Undefined: all; the empty string: the tenant's own. */
  readonly userId: string | undefined;
  readonly cursor: string | undefined;
  readonly limit: number;
}

/** Returns a page of a tenant's tasks, most recently updated first. */
export async function listTasks<T>(
  sql: AnySql,
  tenantId: string,
  { agentId, agentIds, userId, cursor, limit }: TaskFilter,
  show: (task: TaskRow) => T,
): Promise<Page<T>> {
  const list = `tasks:${agentId ?? "*"}:${userId ?? "*"}`;
  const place = readTimeCursor(list, cursor);
  const rows = await sql<(TaskRow & TimePlace)[]>`
    ${visibleTasks(sql)} and t.tenant_id = ${tenantId}
      ${agentId === undefined ? sql`` : sql`and t.agent_id = ${agentId}`} ${andOf(sql, sql`t.agent_id`, agentIds)}
      ${userId === undefined ? sql`` : sql`and t.user_id = ${userId}`} ${olderThan(sql, place, "t.updated_at", "t.id")}
    order by t.updated_at desc, t.id desc limit ${limit + 1}`;
  return timePage(list, rows, limit, show);
}

/**
 * Creates a task and arms its schedule. Throws 400 for a schedule that is not
 * valid, 400 `invalid_request` when the tenant may have no further task, 404 `not_found` or `agent_version_not_found`, 409 `agent_disabled` or
 * `admin_agent_managed`.
 */
export function createTask(sql: AnySql, tenantId: string, fields: TaskFields, now: Date): Promise<TaskRow> {
  checkResponseFormat(fields.responseFormat);
  const schedule = readSchedule(fields.schedule ?? null);
  const fire = schedule === null ? null : firstFire(schedule, now);
  const enabled = fields.enabled ?? true;
  const version = fields.agentVersion ?? null;
  return tx(sql, async (inner) => {
    // The lock on the tenant's row makes creations wait for each other, so that the limit holds.
    await inner`select 1 from tenants where id = ${tenantId} for no key update`;
    const [own] = await inner`
      select 1 from agents where id = ${fields.agentId} and tenant_id = ${tenantId} for key share`;
    if (own === undefined) throw new ApiError("not_found");
    runnableTaskAgent(await readTaskAgent(inner, fields.agentId, version));
    await checkTaskLimit(inner, tenantId);
    const id = newId("task");
    await inner`
      insert into tasks (id, tenant_id, agent_id, agent_version, name, prompt, schedule, enabled, user_id, metadata, response_format)
      values (${id}, ${tenantId}, ${fields.agentId}, ${version}, ${fields.name}, ${fields.prompt},
        ${schedule === null ? null : json(inner, schedule)}, ${enabled}, ${fields.userId ?? ""},
        ${json(inner, fields.metadata ?? {})}, ${formatOf(inner, fields.responseFormat ?? null)})`;
    if (enabled && fire !== null) await setNextFire(inner, id, fire);
    return getTask(inner, tenantId, id);
  });
}

function formatOf(inner: Tx, format: ResponseFormat | null) {
  return format === null ? null : json(inner, format);
}

async function checkTaskLimit(inner: Tx, tenantId: string): Promise<void> {
  const [count] = await inner<{ tasks: number }[]>`
    select count(*)::int as tasks from tasks t where tenant_id = ${tenantId} and deleted_at is null
      and exists (select 1 from agents a where a.id = t.agent_id)`;
  if ((count?.tasks ?? 0) < tasksPerTenantMax) return;
  throw new ApiError("invalid_request", {
    message: `A tenant has at most ${tasksPerTenantMax} tasks; delete one first.`,
  });
}

/**
 * Changes a task. A run in progress keeps the settings it was started with. A
 * schedule that is changed or enabled is armed anew from now on; one that is sent
 * again unchanged keeps its next fire. Throws 400, 404 `not_found` or
 * `agent_version_not_found`.
 */
export function updateTask(
  sql: AnySql,
  tenantId: string,
  id: string,
  changes: TaskChanges,
  now: Date,
): Promise<TaskRow> {
  checkResponseFormat(changes.responseFormat);
  return tx(sql, async (inner) => {
    const was = await lockTask(inner, tenantId, id);
    const version = changes.agentVersion === undefined ? was.agentVersion : changes.agentVersion;
    if (version !== was.agentVersion) await checkVersion(inner, was.agentId, version);
    const schedule = scheduleAfter(was, changes);
    const enabled = changes.enabled ?? was.enabled;
    const format = changes.responseFormat === undefined ? was.responseFormat : changes.responseFormat;
    await inner`
      update tasks set agent_version = ${version}, name = ${changes.name ?? was.name},
        prompt = ${changes.prompt ?? was.prompt}, schedule = ${schedule === null ? null : json(inner, schedule)},
        enabled = ${enabled}, metadata = ${json(inner, changes.metadata ?? was.metadata)},
        response_format = ${formatOf(inner, format)}, updated_at = clock_timestamp()
      where id = ${id}`;
    const isNew = schedule !== was.schedule;
    // Checked even while disabled: a schedule is refused when it is set, not when it is enabled.
    const first = isNew && schedule !== null ? firstFire(schedule, now) : null;
    if (isNew || enabled !== was.enabled) {
      const fire = schedule === null || !enabled ? null : (first ?? nextFire(schedule, now, now));
      await setNextFire(inner, id, fire);
    }
    return getTask(inner, tenantId, id);
  });
}

/** Returns the schedule as the changes leave it; the same object when they do not change it. Throws 400. */
function scheduleAfter({ schedule: was }: TaskRow, { schedule }: TaskChanges): Schedule | null {
  if (schedule === undefined) return was;
  const read = readSchedule(schedule);
  return read !== null && was !== null && meaningOf(read) === meaningOf(was) ? was : read;
}

/** Returns a text that is equal for equal schedules, whatever the order of their fields. */
function meaningOf({ kind, config }: Schedule): string {
  return JSON.stringify([kind, Object.entries(config).sort()]);
}

/** Throws 404 `agent_version_not_found` unless the agent has this version; null is its current one. */
async function checkVersion(sql: AnySql, agentId: string, version: number | null): Promise<void> {
  if (version === null) return;
  const [row] = await sql`select 1 from agent_versions where agent_id = ${agentId} and version = ${version}`;
  if (row === undefined) throw new ApiError("version_missing_for_run");
}

/**
 * Deletes a task: its schedule stops, its id is 404 everywhere, and the job `task.purge`
 * erases it with its runs; the runs' sessions stay. Throws 404, 409 `task_active_run_exists`.
 */
export function deleteTask(sql: AnySql, tenantId: string, id: string): Promise<void> {
  return tx(sql, async (inner) => {
    await lockTask(inner, tenantId, id);
    if (await hasActiveRun(inner, id)) throw new ApiError("task_active_run_exists");
    await inner`update tasks set deleted_at = now(), updated_at = now() where id = ${id}`;
    await setNextFire(inner, id, null);
    await addJob(inner, "task.purge", { taskId: id, tenantId });
  });
}
