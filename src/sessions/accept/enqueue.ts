import type { Principal } from "../../kernel/auth/authenticator.ts";
import type { Ctx } from "../../kernel/context.ts";
import { byKeyOnly } from "../../kernel/database/by-key-only.ts";
import type { AnySql, Tx } from "../../kernel/database/client.ts";
import { unavailable } from "../../kernel/database/failure.ts";
import { ApiError } from "../../kernel/errors.ts";
import type { IdempotencyKey } from "../../kernel/http/idempotency.ts";
import { lineTurnsMax } from "../../kernel/limits.ts";
import { announceCancel, type CanceledTurn, cancelActive } from "../cancel/cancel.ts";
import { shownOfQueued } from "../end/progress.ts";
import { enqueueMove, type NewLineTurn, ringLine } from "../state/line.ts";
import { type AcceptedTurn, acceptedOf } from "./accepted.ts";
import { andHasPlace, type TenantQueue, tooManyTurns } from "./queued-turns.ts";
import { writeAccepted } from "./write.ts";

/** What a turn does that comes while another one of its session is unfinished. */
export type OnBusy = "reject" | "enqueue" | "interrupt";

/** A turn that waits in the line of its session, and how it is written. */
export interface LineTurn extends NewLineTurn, TenantQueue {
  readonly writeBefore: Date;
}

/** Returns whether a turn of the session is unfinished, or waits in its line. */
export async function isBusy(sql: AnySql, sessionId: string): Promise<boolean> {
  const [busy] = await sql`
    select /* session.is_busy */ 1 from turns where session_id = ${sessionId} and status in ('queued', 'running', 'waiting')
    union all select 1 from sessions where id = ${sessionId} and line > 0 limit 1`;
  return busy !== undefined;
}

/**
 * Writes a turn into the line of its session: `enqueue` at its end, `interrupt` at its
 * beginning, and the turn that holds the line is cancelled, keeping what it said. The gates
 * (credit, quota, the agent's state) are asked when the turn starts. Returns it, or the turn
 * that its Idempotency-Key joins.
 *
 * Throws 404, 409 `session_busy` when `lineTurnsMax` wait, 422, 429 `too_many_turns`, 503.
 */
export async function enqueueTurn(
  ctx: Ctx,
  request: {
    readonly principal: Principal;
    readonly key: IdempotencyKey | null;
    readonly alongside?: ((inner: Tx, accepted: AcceptedTurn) => Promise<void>) | undefined;
  },
  turn: LineTurn,
  onBusy: Exclude<OnBusy, "reject">,
): Promise<AcceptedTurn> {
  let canceled: CanceledTurn | null = null;
  const accepted = acceptedOf(turn);
  const shown = onBusy === "interrupt" ? await shownOfQueued(ctx, turn) : null;
  const joined = await writeAccepted(ctx, request, { ...turn, keepsKeyFor: null }, async (inner) => {
    canceled = null;
    await takePlace(inner, turn);
    const isHeld = await enqueueMove(inner, turn, onBusy === "interrupt" ? "first" : "last");
    // The end of the turn that holds the line starts the next one.
    if (!isHeld) await ringLine(inner, turn.sessionId, turn.tenantId);
    else if (onBusy === "interrupt")
      canceled = await cancelActive(inner, { session: turn }, { keep: "partial", shown });
    await request.alongside?.(inner, accepted);
    return accepted;
  });
  if (canceled !== null) announceCancel(ctx, canceled);
  return joined;
}

/** Locks the session, so that its line changes for nobody else. Throws where it cannot take one more turn. */
async function takePlace(inner: Tx, turn: LineTurn): Promise<void> {
  const [session] = await inner<{ line: number; isLate: boolean; hasPlace: boolean }[]>`
    select /* session.lock_line */ line, clock_timestamp() >= ${turn.writeBefore} as is_late, true ${andHasPlace(inner, turn)} as has_place from sessions
    where id = ${turn.sessionId} and ${byKeyOnly(inner, inner`tenant_id`)} = ${turn.tenantId}
      and ${byKeyOnly(inner, inner`agent_id`)} = ${turn.agentId} and deleted_at is null
    for no key update`;
  if (session === undefined) throw new ApiError("not_found");
  if (session.isLate) throw unavailable();
  if (!session.hasPlace) throw tooManyTurns();
  if (session.line >= lineTurnsMax) throw new ApiError("session_busy");
}
