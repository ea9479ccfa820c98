import type { AnySql, Tx } from "../kernel/database/client.ts";
import { enqueue } from "../kernel/queue/catalogue.ts";

/**
 * Sets a task's next fire: the row has its time, and one job of the queue waits for
 * it, in place of the job that waited before.
 */
export async function arm(inner: Tx, taskId: string, fireAt: Date): Promise<void> {
  await inner`update tasks set next_fire_at = ${fireAt} where id = ${taskId}`;
  await enqueueFire(inner, taskId, fireAt);
}

/** Adds the job of the fire that the row has. */
export function enqueueFire(sql: AnySql, taskId: string, fireAt: Date): Promise<void> {
  const payload = { taskId, fireAt: fireAt.toISOString() };
  return enqueue(sql, "task.fire", payload, { key: fireJobKey(taskId), runAt: fireAt });
}

/** Ends a task's schedule until it is armed again. */
export async function disarm(inner: Tx, taskId: string): Promise<void> {
  await inner`update tasks set next_fire_at = null where id = ${taskId}`;
  await inner`select graphile_worker.remove_job(${fireJobKey(taskId)})`;
}

/** One fire of a task waits at a time. */
function fireJobKey(taskId: string): string {
  return `task.fire:${taskId}`;
}
