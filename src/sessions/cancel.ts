import type { Ctx } from "../kernel/context.ts";
import type { Tx } from "../kernel/database/client.ts";
import { tx } from "../kernel/database/transaction.ts";
import { ApiError } from "../kernel/errors.ts";
import type { IdOf } from "../kernel/ids.ts";
import { formatEvent } from "../kernel/relay/relay.ts";
import { cancelChannel } from "./run/actor.ts";
import { finishTurn } from "./run/finish.ts";
import { canceledOutcome } from "./run/outcome.ts";
import { findSession } from "./state/store.ts";
import { requestCancel } from "./state/turn.ts";

/**
 * Cancels the session's turn (docs/decisions.md, "Cancel"). The request is stored in the
 * turn's row, so that it also works while Redis is down and when the worker dies: a
 * cancelled turn is never run again. A turn that no worker has claimed yet, or that waits
 * for a person, ends at once; what waits for a person is denied.
 *
 * Returns the turn's id. Throws 404, or 409 `session_idle` when nothing runs.
 */
export async function cancelTurn(
  ctx: Ctx,
  tenantId: string,
  agentId: string,
  sessionId: string,
): Promise<{ turnId: IdOf<"turn"> }> {
  const session = await findSession(ctx.sql, tenantId, agentId, sessionId);
  if (session === null) throw new ApiError("not_found");
  const canceled = await tx(ctx.sql, (inner) => cancelActive(inner, sessionId));
  if (canceled === null) throw new ApiError(session.visible ? "session_idle" : "not_found");
  announceCancel(ctx, canceled);
  return { turnId: canceled.turnId };
}

/** A turn that was cancelled. */
export interface CanceledTurn {
  readonly turnId: IdOf<"turn">;
  /** The log that ended with it; null when a worker has the turn and ends it. */
  readonly endedLog: { readonly id: string; readonly attempt: number } | null;
}

/**
 * Cancels the session's unfinished turn (only if it is `turnId`, where one is given);
 * returns null when there is none. After the commit the caller calls `announceCancel` for
 * the turn's followers.
 */
export async function cancelActive(
  inner: Tx,
  sessionId: string,
  turnId: string | null = null,
): Promise<CanceledTurn | null> {
  // The session first, then the turn: the order in which turns are accepted and ended.
  await inner`select 1 from sessions where id = ${sessionId} for no key update`;
  const turn = await requestCancel(inner, sessionId, turnId);
  if (turn === null) return null;
  if (turn.status === "running") {
    await inner`select pg_notify(${cancelChannel}, ${turn.id})`;
    return { turnId: turn.id, endedLog: null };
  }
  const fence = { turnId: turn.id, attempt: turn.attempt, statuses: [turn.status] };
  const canceled = await canceledOutcome(inner, turn.id, turn.continuationId !== null);
  const outcome = { ...canceled, error: { code: "turn_canceled", message: "The turn was canceled." }, relayEvents: 1 };
  const endedHere = await finishTurn(inner, fence, outcome);
  const log = { id: turn.continuationId ?? turn.id, attempt: turn.attempt + 1 };
  return { turnId: turn.id, endedLog: endedHere ? log : null };
}

/** Ends the turn's log in the relay. This is not awaited and may fail, because followers also read the turn's row. */
export function announceCancel(ctx: Ctx, { endedLog }: CanceledTurn): void {
  if (endedLog === null) return;
  const { id: logId, attempt } = endedLog;
  const sse = formatEvent(logId, 1, { type: "abort" });
  ctx.relay.end({ logId, attempt }, { first: 1, count: 1, sse }).catch((error) => {
    ctx.log.debug({ err: error, logId }, "the relay was not told of a cancellation");
  });
}
