import type { Ctx } from "../kernel/context.ts";
import { tx } from "../kernel/database/transaction.ts";
import { announceCancel, cancelActive } from "../sessions/cancel/cancel.ts";
import { cancelQueuedRun, endRunOfTurn, markCancelRequested } from "./run-states.ts";
import { findRunOf } from "./runs.ts";
import { getTask } from "./store.ts";

/**
 * Cancels a run: one that is queued ends at once, one that runs is asked to stop,
 * and ends with its turn. The result does not show whether there was such a run:
 * `POST /v1/tasks/:taskId/runs/:runId/cancel`. Throws 404 when the task is missing.
 */
export async function cancelRun(ctx: Ctx, tenantId: string, taskId: string, runId: string): Promise<void> {
  await getTask(ctx.sql, tenantId, taskId);
  if (await cancelQueuedRun(ctx.sql, taskId, runId)) return;
  const run = await findRunOf(ctx.sql, taskId, runId);
  if (run?.status !== "running" || run.sessionId === null || run.turnId === null) return;
  const { sessionId, turnId } = run;
  const canceled = await tx(ctx.sql, async (inner) => {
    // The turn first, then the run: the end of a turn locks them in this order too.
    const stopped = await cancelActive(inner, { turn: { sessionId, turnId } });
    if (stopped === null) return null;
    await markCancelRequested(inner, runId);
    // No worker had the turn, so it has ended: its run need not wait for the job `turn.after`.
    if (stopped.endedLog !== null) await endRunOfTurn(inner, turnId);
    return stopped;
  });
  if (canceled !== null) announceCancel(ctx, canceled);
}
