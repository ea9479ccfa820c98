import type { Ctx } from "../context.ts";
import { tx } from "../db.ts";
import { ApiError } from "../errors.ts";
import { formatEvent } from "../relay/relay.ts";
import { cancelChannel } from "./actor.ts";
import { findSession } from "./store.ts";
import { finishTurn } from "./turns.ts";

/**
 * Cancels the session's turn (design section 3, "Stop a turn"). The request is a
 * row, so that it holds with Redis down and when the worker dies: a cancelled
 * turn is never run again. A turn that no worker has claimed yet ends at once.
 *
 * Throws 404, or 409 `session_idle` when nothing runs.
 */
export async function cancelTurn(
  ctx: Ctx,
  tenantId: string,
  agentId: string,
  sessionId: string,
): Promise<{ turnId: string }> {
  const session = await findSession(ctx.sql, tenantId, agentId, sessionId);
  if (session === null) throw new ApiError("not_found");
  const canceled = await tx(ctx.sql, async (inner) => {
    const [turn] = await inner<{ id: string; status: string; attempt: number }[]>`
      update turns set cancel_requested_at = coalesce(cancel_requested_at, now())
      where session_id = ${sessionId} and status in ('queued', 'running', 'waiting')
      returning id, status, attempt`;
    if (turn === undefined) {
      if (!session.visible) throw new ApiError("not_found");
      throw new ApiError("session_idle");
    }
    const endedHere =
      turn.status === "queued" &&
      (await finishTurn(inner, { turnId: turn.id, attempt: turn.attempt, statuses: ["queued"] }, canceledOutcome));
    if (!endedHere) await inner`select pg_notify(${cancelChannel}, ${turn.id})`;
    return { ...turn, endedHere };
  });
  if (canceled.endedHere) announce(ctx, canceled.id, canceled.attempt + 1);
  return { turnId: canceled.id };
}

/** A turn that is cancelled before it ran used nothing. */
const canceledOutcome = {
  status: "canceled",
  error: null,
  usage: { provider: null, model: null, inputTokens: 0, outputTokens: 0 },
  messages: [],
  preview: "",
  answer: null,
  relayEvents: 1,
} as const;

/** Tells the followers. Not awaited and allowed to fail: they also look at the row. */
function announce(ctx: Ctx, turnId: string, attempt: number): void {
  const sse = formatEvent(turnId, 1, { type: "abort" });
  ctx.relay.end({ turnId, attempt }, { first: 1, count: 1, sse }).catch((error) => {
    ctx.log.debug({ err: error, turnId }, "the relay was not told of a cancellation");
  });
}
