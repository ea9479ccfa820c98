import type { AnySql, Tx } from "../kernel/database/client.ts";
import { addJob, removeJob } from "../kernel/queue/add-job.ts";

/**
 * The states of a task's schedule, every move of which is here:
 *
 *     no next fire ──the schedule is set or enabled──▶ armed (`next_fire_at`, and one job that waits for it)
 *     armed ──it fires, or an operator skips it──▶ armed for the next fire, or no next fire
 *     armed ──removed or disabled; the task, its agent or its tenant deleted──▶ no next fire
 *
 * Sets a task's next fire, or with null ends its schedule until it is set again. The
 * row has the time, and one job of the queue waits for it, in place of the job that
 * waited before.
 */
export async function setNextFire(inner: Tx, taskId: string, fireAt: Date | null): Promise<void> {
  const [task] = await inner<{ tenantId: string }[]>`
    update tasks set next_fire_at = ${fireAt} where id = ${taskId} returning tenant_id`;
  if (fireAt === null || task === undefined) await removeJob(inner, "task.fire", taskId);
  else await enqueueFire(inner, { id: taskId, tenantId: task.tenantId }, fireAt);
}

/** Adds the job of the fire that the row has. */
export function enqueueFire(
  sql: AnySql,
  task: { readonly id: string; readonly tenantId: string },
  fireAt: Date,
): Promise<void> {
  const payload = { taskId: task.id, tenantId: task.tenantId, fireAt: fireAt.toISOString() };
  return addJob(sql, "task.fire", payload, { runAt: fireAt });
}
