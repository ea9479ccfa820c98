import type { Tx } from "../../kernel/database/client.ts";
import { ApiError } from "../../kernel/errors.ts";
import type { TurnBody } from "../schema.ts";
import { isBusy } from "../state/busy.ts";

interface Place {
  seq: number;
  role: "user" | "assistant";
}

/**
 * Returns the place that a regeneration keeps the transcript up to
 * (docs/decisions/regeneration.md): before an assistant's message, after a user's. Null when it came with a
 * user's message that the transcript does not hold, because its turn failed or was
 * cancelled: that is to be sent as any other. The caller has locked the session, so that the
 * transcript cannot change before the turn is written.
 *
 * Throws 404 `message_not_found` when there is nothing to regenerate.
 */
export async function findKeepSeq(
  inner: Tx,
  { sessionId }: { readonly sessionId: string | null },
  { message, messageId }: TurnBody,
): Promise<number | null> {
  if (message?.role === "user" && !(await holds(inner, sessionId, message.id))) return null;
  const target = await findTarget(inner, sessionId, messageId);
  if (target === undefined) throw new ApiError("message_not_found");
  const keepSeq = target.role === "user" ? target.seq : target.seq - 1;
  const [last] = await inner<Pick<Place, "role">[]>`
    select /* message.last */ role from messages where session_id = ${sessionId} and seq <= ${keepSeq} order by seq desc limit 1`;
  if (last?.role !== "user") throw new ApiError("message_not_found");
  return keepSeq;
}

async function holds(inner: Tx, sessionId: string | null, messageId: string): Promise<boolean> {
  const [held] = await inner`
    select /* message.exists */ 1 from messages where session_id = ${sessionId} and id = ${messageId} and role = 'user' limit 1`;
  return held !== undefined;
}

/**
 * Locks a session that is to take a turn. Throws 404 where the agent has no such session, before anything of its transcript
 * is read; 409 `session_busy` while a turn of it is unfinished, because that may still change the transcript.
 */
export async function lockIdle(
  inner: Tx,
  {
    tenantId,
    agentId,
    sessionId,
  }: { readonly tenantId: string; readonly agentId: string; readonly sessionId: string | null },
): Promise<void> {
  const [session] = await inner`
    select /* session.lock */ 1 from sessions
    where id = ${sessionId} and tenant_id = ${tenantId} and agent_id = ${agentId} and deleted_at is null for no key update`;
  if (session === undefined || sessionId === null) throw new ApiError("not_found");
  if (await isBusy(inner, sessionId)) throw new ApiError("session_busy");
}

/** Returns the message that is named; else the last answer, or the last question where nobody has answered it. */
async function findTarget(
  inner: Tx,
  sessionId: string | null,
  messageId: string | undefined,
): Promise<Place | undefined> {
  const [target] =
    messageId === undefined
      ? await inner<Place[]>`
          select /* message.last */ seq, role from messages where session_id = ${sessionId} order by seq desc limit 1`
      : await inner<Place[]>`
          select /* message.find */ seq, role from messages where session_id = ${sessionId} and id = ${messageId} order by seq desc limit 1`;
  return target;
}
