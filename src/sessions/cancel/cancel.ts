import type { Ctx } from "../../kernel/context.ts";
import type { Tx } from "../../kernel/database/client.ts";
import { tx } from "../../kernel/database/transaction.ts";
import { ApiError } from "../../kernel/errors.ts";
import type { IdOf } from "../../kernel/ids.ts";
import { endIdleLog, type IdleLog } from "../end/idle-log.ts";
import { endIdleTurn, type IdleEnd } from "../end/idle-turn.ts";
import { type ShownAnswer, shownOfQueued } from "../end/progress.ts";
import { type CancelKeep, cancelChannel, requestCancel, type StoppingTurn } from "../state/cancel-request.ts";
import { requestCancelOfLine } from "../state/line.ts";
import { findSession } from "../state/store.ts";

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
  ids: { readonly tenantId: string; readonly agentId: string; readonly sessionId: string },
  { keep = "nothing", queued = false }: CancelBody,
): Promise<{ canceled: number }> {
  const { tenantId, agentId, sessionId } = ids;
  const session = await findSession(ctx.sql, tenantId, agentId, sessionId);
  if (session === null) throw new ApiError("not_found");
  const shown = keep === "partial" ? await shownOfQueued(ctx, sessionId) : null;
  const canceled = await tx(ctx.sql, async (inner) => {
    await inner`select /* session.lock */ 1 from sessions where id = ${sessionId} for no key update`;
    const dropped = queued ? await dropLine(inner, sessionId) : [];
    const active = await cancelActive(inner, sessionId, { keep, shown, orFirst: true });
    return active === null ? dropped : [...dropped, active];
  });
  if (canceled.length === 0) throw new ApiError(session.visible ? "session_idle" : "not_found");
  for (const turn of canceled) announceCancel(ctx, turn);
  return { canceled: canceled.length };
}

/**
 * Cancels one turn of a session, of which nothing is kept; one that waits for a person or in the
 * line of its session ends at once. Returns false when it has ended before.
 */
export async function cancelTurn(ctx: Ctx, sessionId: string, turnId: string): Promise<boolean> {
  const canceled = await tx(ctx.sql, (inner) => cancelActive(inner, sessionId, { turnId }));
  if (canceled !== null) announceCancel(ctx, canceled);
  return canceled !== null;
}

/** A turn that was cancelled. */
export interface CanceledTurn {
  readonly turnId: IdOf<"turn">;
  /** The log that ended with it; null when a worker has the turn and ends it. */
  readonly endedLog: IdleLog | null;
}

/** Which turn of a session `cancelActive` cancels, and what is kept of it. */
interface ActiveCancel {
  /** Only this one; left out: the unfinished one. */
  readonly turnId?: string;
  /** `nothing` when left out. */
  readonly keep?: CancelKeep;
  /** What `shownOfQueued` said, for what is kept; what completed steps did when left out. */
  readonly shown?: ShownAnswer | null;
  /** Between two turns of a line, the one that is about to start counts as the unfinished one. */
  readonly orFirst?: boolean;
}

/**
 * Cancels the session's unfinished turn; returns null when there is none. After the commit
 * the caller calls `announceCancel` for the turn's followers.
 */
export async function cancelActive(
  inner: Tx,
  sessionId: string,
  { turnId, keep = "nothing", shown = null, orFirst = false }: ActiveCancel = {},
): Promise<CanceledTurn | null> {
  // The session first, then the turn: the order in which turns are accepted and ended.
  await inner`select /* session.lock */ 1 from sessions where id = ${sessionId} for no key update`;
  const active = await requestCancel(inner, { sessionId, turnId: turnId ?? null, keep });
  const turn =
    active ?? (orFirst ? ((await requestCancelOfLine(inner, sessionId, { keep, limit: 1 }))[0] ?? null) : null);
  if (turn === null) return null;
  if (turn.status !== "running") return endIdle(inner, turn, shown);
  await inner`select /* turn.tell_cancel */ pg_notify(${cancelChannel}, ${turn.id})`;
  return { turnId: turn.id, endedLog: null };
}

/** Ends every turn in the line of a session, which the caller has locked. Nothing of them is kept. */
async function dropLine(inner: Tx, sessionId: string): Promise<CanceledTurn[]> {
  const ended: CanceledTurn[] = [];
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
