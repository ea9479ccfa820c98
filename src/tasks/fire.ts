import type { Ctx } from "../kernel/context.ts";
import type { Tx } from "../kernel/database/client.ts";
import { databaseNow } from "../kernel/database/now.ts";
import { tx } from "../kernel/database/transaction.ts";
import { type IdOf, newId } from "../kernel/ids.ts";
import type { JobPayloads } from "../kernel/queue/catalogue.ts";
import type { ResponseFormat } from "../model/response-format.ts";
import { setNextFire } from "./next-fire.ts";
import { insertRun } from "./run-states.ts";
import { hasActiveRun, hasRun, runIdOf } from "./runs.ts";
import { nextFire, type Schedule } from "./schedule.ts";
import { readTaskAgent } from "./task-agent.ts";

/** A fire: the task, and the scheduled time by which its fires are told apart. */
type Fire = Pick<JobPayloads["task.fire"], "taskId" | "fireAt">;

interface FiringTask {
  readonly id: IdOf<"task">;
  readonly tenantId: string;
  readonly agentId: IdOf<"agent">;
  readonly agentVersion: number | null;
  readonly prompt: string;
  readonly schedule: Schedule;
  readonly userId: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly responseFormat: ResponseFormat | null;
}

/**
 * The job `task.fire`: starts the run that a schedule calls for, and arms the
 * next fire, in one transaction. A fire happens once however often its job is
 * run, because it happens only while the row still has its time. A late fire (after
 * downtime) replaces all that were missed: the next one is the first after now. A
 * fire while a run is active, while the agent is disabled or the subscription
 * inactive is skipped (docs/decisions/tasks.md).
 */
export async function fireTask(
  { sql }: Pick<Ctx, "sql">,
  payload: Fire,
  clock: (inner: Tx) => Promise<Date> | Date = databaseNow,
): Promise<void> {
  const fireAt = new Date(payload.fireAt);
  if (Number.isNaN(fireAt.getTime())) return;
  await tx(sql, async (inner) => {
    const task = await takeFire(inner, payload.taskId, fireAt);
    if (task === null) return;
    const [tenant] = await inner<{ subscription: "active" | "inactive" }[]>`
      select subscription from tenants where id = ${task.tenantId} and deleting_at is null and deleted_at is null`;
    const agent = await readTaskAgent(inner, task.agentId, task.agentVersion);
    if (tenant === undefined || agent === null) return setNextFire(inner, task.id, null);

    const now = await clock(inner);
    // A clock that was set back must not find the same fire again.
    await setNextFire(inner, task.id, nextFire(task.schedule, now > fireAt ? now : fireAt, fireAt));

    if (tenant.subscription !== "active" || agent.status === "disabled" || agent.managed) return;
    if (await hasActiveRun(inner, task.id)) return;
    const runId = runIdOf(task.id, `fire:${fireAt.toISOString()}`, fireAt);
    // The same schedule, set again after a clock was set back, may name a time that has fired.
    if (await hasRun(inner, task.id, runId)) return;
    await insertRun(inner, {
      ...task,
      id: runId,
      taskId: task.id,
      agentVersion: agent.version,
      pinned: task.agentVersion !== null,
      requestId: newId("request"),
    });
  });
}

/** Skips a fire that an operator discards, and arms the next one in its place. Returns false when the fire has happened or was canceled. */
export async function skipFire(inner: Tx, payload: Fire, now: Date): Promise<boolean> {
  const fireAt = new Date(payload.fireAt);
  const task = Number.isNaN(fireAt.getTime()) ? null : await takeFire(inner, payload.taskId, fireAt);
  if (task === null) return false;
  await setNextFire(inner, task.id, nextFire(task.schedule, now > fireAt ? now : fireAt, fireAt));
  return true;
}

/** Locks the task if this fire is still to come; null when it has happened or was canceled. */
async function takeFire(inner: Tx, taskId: string, fireAt: Date): Promise<FiringTask | null> {
  const [task] = await inner<FiringTask[]>`
    select id, tenant_id, agent_id, agent_version, prompt, schedule,
      user_id, metadata, response_format
    from tasks where id = ${taskId} and next_fire_at = ${fireAt} and enabled and deleted_at is null for no key update`;
  return task ?? null;
}
