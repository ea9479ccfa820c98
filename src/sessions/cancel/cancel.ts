import type { Ctx } from "../../kernel/context.ts";
import type { Tx } from "../../kernel/database/client.ts";
import { tx } from "../../kernel/database/transaction.ts";
import { ApiError } from "../../kernel/errors.ts";
import type { IdOf } from "../../kernel/ids.ts";
import { endIdleLog, type IdleLog } from "../end/idle-log.ts";
import { endIdleTurn, type IdleEnd } from "../end/idle-turn.ts";
import { type ShownAnswer, shownOfQueued } from "../end/progress.ts";
import {
  type CancelKeep,
  type CancelTarget,
  type NamedSession,
  requestCancel,
  type StoppingTurn,
} from "../state/cancel-request.ts";
import { requestCancelOfLine } from "../state/line.ts";

/** What a client asks for with a cancellation. */
export interface CancelBody {
  readonly keep?: CancelKeep;
  /** Whether the turns in the session's line are dropped too. */
  readonly queued?: boolean;
}

/**
 * Cancels the session's turn, and with `queued` its line (docs/decisions/cancel.md). The
 * request is stored in the turn's row, so that it also works while Redis is down and when the
 * worker dies: a cancelled turn is never run again. A turn that no worker has claimed yet, or
 * that waits for a person, ends at once; what waits for a person is denied.
 *
 * Returns how many turns it was. Throws 404, or 409 `session_idle` when there is none.
 */
export async function cancelInSession(
  ctx: Ctx,
  named: NamedSession,
  { keep = "nothing", queued = false }: CancelBody,
): Promise<{ canceled: number }> {
  const shown = keep === "partial" ? await shownOfQueued(ctx, named) : null;
  const canceled = await tx(ctx.sql, async (inner) => {
    const dropped = queued ? await dropLine(inner, named) : [];
    const session = await requestCancel(inner, { session: named }, keep);
    if (session === null) throw new ApiError("not_found");
    // Between two turns of a line, the one that is about to start counts as the unfinished one.
    const turn = session.turn ?? (await requestCancelOfLine(inner, named.sessionId, { keep, limit: 1 }))[0];
    if (turn !== undefined) return [...dropped, await stop(inner, turn, shown)];
    if (dropped.length === 0) throw new ApiError(session.visible ? "session_idle" : "not_found");
    return dropped;
  });
  for (const turn of canceled) announceCancel(ctx, turn);
  return { canceled: canceled.length };
}

/**
 * Cancels one turn of a session, of which nothing is kept; one that waits for a person or in the
 * line of its session ends at once. Returns false when it has ended before.
 */
export async function cancelTurn(ctx: Ctx, sessionId: string, turnId: string): Promise<boolean> {
  const canceled = await tx(ctx.sql, (inner) => cancelActive(inner, { turn: { sessionId, turnId } }));
  if (canceled !== null) announceCancel(ctx, canceled);
  return canceled !== null;
}

/** A turn that was cancelled. */
export interface CanceledTurn {
  readonly turnId: IdOf<"turn">;
  /** The log that ended with it; null when a worker has the turn and ends it. */
  readonly endedLog: IdleLog | null;
}

/** What `cancelActive` keeps of a turn. */
interface Kept {
  /** `nothing` when left out. */
  readonly keep?: CancelKeep;
  /** What `shownOfQueued` said, for what is kept; what completed steps did when left out. */
  readonly shown?: ShownAnswer | null;
}

/**
 * Cancels an unfinished turn; returns null when there is none. After the commit
 * the caller calls `announceCancel` for the turn's followers.
 */
export async function cancelActive(
  inner: Tx,
  target: CancelTarget,
  { keep = "nothing", shown = null }: Kept = {},
): Promise<CanceledTurn | null> {
  const turn = (await requestCancel(inner, target, keep))?.turn ?? null;
  return turn === null ? null : stop(inner, turn, shown);
}

/** Ends a turn that was asked to stop, unless a worker has it, which ends it. */
async function stop(inner: Tx, turn: StoppingTurn, shown: ShownAnswer | null): Promise<CanceledTurn> {
  return turn.status === "running" ? { turnId: turn.id, endedLog: null } : endIdle(inner, turn, shown);
}

/** Locks a session, and ends every turn in its line. Nothing of them is kept. */
async function dropLine(inner: Tx, { tenantId, agentId, sessionId }: NamedSession): Promise<CanceledTurn[]> {
  const ended: CanceledTurn[] = [];
  const [session] = await inner`
    select /* session.lock */ 1 from sessions where id = ${sessionId} and tenant_id = ${tenantId} and agent_id = ${agentId} for no key update`;
  if (session === undefined) return ended;
  for (const turn of await requestCancelOfLine(inner, sessionId, { keep: "nothing", limit: null }))
    ended.push(await endIdle(inner, turn));
  return ended;
}

/** Ends a turn that no worker has. */
async function endIdle(inner: Tx, turn: StoppingTurn, shown: ShownAnswer | null = null): Promise<CanceledTurn> {
  const { id: turnId, attempt, status } = turn;
  const isShown = shown !== null && shown.turnId === turnId && shown.attempt === attempt;
  const end = { why: "canceled", shown: isShown ? shown.chunks : null } as const;
  return { turnId, endedLog: await endIdleTurn(inner, { turnId, attempt, statuses: [status] }, end) };
}

/** Ends the turn's log in the relay (`endIdleLog`). */
export function announceCancel(ctx: Ctx, { endedLog }: CanceledTurn): void {
  if (endedLog !== null) endIdleLog(ctx, endedLog);
}

/** Ends a turn that waits in the line of its session, and its log. Does nothing when it has left the line. */
export async function endUnclaimed(ctx: Ctx, turnId: IdOf<"turn">, end: IdleEnd): Promise<void> {
  const log = await endIdleTurn(ctx.sql, { turnId, attempt: 0, statuses: ["enqueued"] }, end);
  if (log !== null) endIdleLog(ctx, log);
}
