import type { Ctx } from "../kernel/context.ts";
import { tx } from "../kernel/database/transaction.ts";
import { announceCancel, cancelActive } from "../sessions/cancel.ts";
import { findRunOf } from "./runs.ts";
import { getTask } from "./store.ts";

/**
 * Cancels a run: one that is queued ends at once, one that runs is asked to stop,
 * and ends with its turn. The result does not show whether there was such a run:
 * `POST /v1/tasks/:taskId/runs/:runId/cancel`. Throws 404 when the task is missing.
 */
export async function cancelRun(ctx: Ctx, tenantId: string, taskId: string, runId: string): Promise<void> {
  await getTask(ctx.sql, tenantId, taskId);
  const { count } = await ctx.sql`
    update task_runs set status = 'canceled', cancel_requested_at = now(), canceled_at = now(), finished_at = now(),
      updated_at = now()
    where id = ${runId} and task_id = ${taskId} and status = 'queued'`;
  if (count > 0) return;
  const run = await findRunOf(ctx.sql, taskId, runId);
  if (run?.status !== "running" || run.sessionId === null || run.turnId === null) return;
  const { sessionId, turnId } = run;
  const canceled = await tx(ctx.sql, async (inner) => {
    // The turn first, then the run: the end of a turn locks them in this order too.
    const stopped = await cancelActive(inner, sessionId, turnId);
    if (stopped === null) return null;
    await inner`
      update task_runs set cancel_requested_at = coalesce(cancel_requested_at, now()), updated_at = now() where id = ${runId}`;
    return stopped;
  });
  if (canceled !== null) announceCancel(ctx, canceled);
}
