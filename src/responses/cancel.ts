import { sleep } from "../kernel/async/wait.ts";
import type { Ctx } from "../kernel/context.ts";
import type { AnySql } from "../kernel/database/client.ts";
import { ApiError } from "../kernel/errors.ts";
import type { IdOf } from "../kernel/ids.ts";
import { cancelTurn } from "../sessions/cancel/cancel.ts";
import { requireResponse, type StoredTurnResponse } from "./read.ts";

/** A cancellation waits for the end of its turn for so long; after that the response is returned as it is. */
const endMsMax = 5_000;
/** Pause between two looks at a turn that is about to end. */
const lookMs = 50;

/**
 * Cancels the turn of a response, of which nothing is kept, and returns the response once it has ended. One
 * that was cancelled before is returned as it is. Throws 404, and 409 `session_idle` when it is over.
 */
export async function cancelResponse(ctx: Ctx, tenantId: string, id: IdOf<"response">): Promise<StoredTurnResponse> {
  const found = await requireResponse(ctx.sql, tenantId, id);
  if (found.turnStatus === "canceled") return found;
  if (!(await cancelTurn(ctx, found.sessionId, found.turnId))) {
    const over = await requireResponse(ctx.sql, tenantId, id);
    if (over.turnStatus === "canceled") return over;
    throw new ApiError("session_idle", { message: "The response is over: there is nothing to cancel." });
  }
  for (const until = Date.now() + endMsMax; ; await sleep(lookMs)) {
    const now = await requireResponse(ctx.sql, tenantId, id);
    if (isOver(now.turnStatus) || Date.now() > until) return now;
  }
}

/** Ends a turn that waits for somebody: what it said so far is a response that is over. */
export async function endIfWaiting(ctx: Ctx, { turnStatus, sessionId, turnId }: StoredTurnResponse): Promise<void> {
  if (turnStatus === "waiting") await cancelTurn(ctx, sessionId, turnId);
}

/** Throws 409 `session_busy` while a turn is unfinished. */
export async function requireEnded(sql: AnySql, turnId: IdOf<"turn">): Promise<void> {
  const [turn] = await sql<{ status: string }[]>`select status from turns where id = ${turnId}`;
  if (turn !== undefined && !isOver(turn.status)) throw new ApiError("session_busy");
}

function isOver(status: string): boolean {
  return status === "succeeded" || status === "failed" || status === "canceled";
}
