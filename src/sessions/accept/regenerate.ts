import type { Tx } from "../../kernel/database/client.ts";
import { ApiError, invalid } from "../../kernel/errors.ts";
import type { TurnBody } from "../schema.ts";

interface Place {
  seq: number;
  id: string;
  role: "user" | "assistant";
}

/**
 * Returns the place that a regeneration keeps the transcript up to (docs/decisions.md,
 * "Regeneration"): before an assistant's message, after a user's. The caller has locked the
 * session, so that the transcript cannot change before the turn is written.
 *
 * Throws 404 `message_not_found` when there is nothing to regenerate; 400
 * when a message is sent along that is not the last user message that stays.
 */
export async function findKeepSeq(
  inner: Tx,
  turn: { readonly sessionId: string | null },
  body: TurnBody,
): Promise<number> {
  const target = await findTarget(inner, turn.sessionId, body.messageId);
  if (target === undefined) throw new ApiError("message_not_found");
  const keepSeq = target.role === "user" ? target.seq : target.seq - 1;
  const [last] = await inner<Place[]>`
    select seq, id, role from messages where session_id = ${turn.sessionId} and seq <= ${keepSeq} order by seq desc limit 1`;
  if (last?.role !== "user") throw new ApiError("message_not_found");
  if (body.message !== undefined && body.message.id !== last.id) {
    throw invalid("/message", "a regeneration takes no message but the last user message that stays");
  }
  return keepSeq;
}

/**
 * Locks a session that is to take a turn. Throws 409 `session_busy` while a turn of it is
 * unfinished, because that may still change the transcript.
 */
export async function lockIdle(inner: Tx, sessionId: string | null): Promise<void> {
  const [session] = await inner<{ line: number }[]>`
    select line from sessions where id = ${sessionId} and deleted_at is null for no key update`;
  const [active] = await inner`
    select 1 from turns where session_id = ${sessionId} and status in ('queued', 'running', 'waiting')`;
  if (active !== undefined || (session?.line ?? 0) > 0) throw new ApiError("session_busy");
}

async function findTarget(
  inner: Tx,
  sessionId: string | null,
  messageId: string | undefined,
): Promise<Place | undefined> {
  const [target] =
    messageId === undefined
      ? await inner<Place[]>`
          select seq, id, role from messages where session_id = ${sessionId} and role = 'assistant' order by seq desc limit 1`
      : await inner<Place[]>`
          select seq, id, role from messages where session_id = ${sessionId} and id = ${messageId} order by seq desc limit 1`;
  return target;
}
