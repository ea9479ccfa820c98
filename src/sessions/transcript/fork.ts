import { json, type Tx } from "../../kernel/database/client.ts";
import { ApiError } from "../../kernel/errors.ts";
import { previewOf } from "../../messages/text.ts";
import { closeCalls, isOpenCall } from "../../messages/tool-calls.ts";
import type { UiMessage } from "../../messages/ui-message.ts";
import { findFirstPreview } from "../state/first-message.ts";
import { readSummary, type SessionSummary } from "../state/store.ts";
import { type CopySource, type TranscriptCopy, takeCopy } from "./copy.ts";

/** Which session to fork, and what differs in the new one. */
export interface ForkRequest {
  readonly tenant: CopySource["tenant"];
  readonly agentId: string;
  readonly sessionId: string;
  /** The last message that the new session has; left out: all that are stored. */
  readonly throughMessageId?: string | undefined;
  /** Left out: the source's. */
  readonly userId?: string | undefined;
  readonly metadata?: Readonly<Record<string, unknown>> | undefined;
}

/** What a call says in the new session that the source's turn was still waiting for, or making. */
const unendedText = "The session was forked before this call had ended.";

/** Returns what of a session a fork copies. */
export function forkSource({ throughMessageId: messageId, tenant, agentId, sessionId }: ForkRequest): CopySource {
  const through = messageId === undefined ? null : { messageId };
  return { tenant, agentId, sessionId, through, missing: "fork_message_not_found" };
}

/**
 * Makes the session of a copied transcript, and returns it. The new session waits for nobody: calls of the
 * source's turn that have not ended are closed. The agent's row is locked, so that its deletion, which looks for its
 * sessions afterwards, finds this one. Throws 404, and as `takeCopy`.
 */
export async function forkSession(inner: Tx, copy: TranscriptCopy, request: ForkRequest): Promise<SessionSummary> {
  const { tenant, agentId, sessionId, userId, metadata } = request;
  const { sessionId: id, messages, bytes } = copy;
  const { count } = await inner`
    with /* session.fork */ agent as materialized (
      select id from agents where id = ${agentId} and tenant_id = ${tenant.id} for key share
    )
    insert into sessions (id, tenant_id, agent_id, pinned_version, user_id, metadata, visible, message_count, bytes)
    select ${id}, s.tenant_id, s.agent_id, s.pinned_version, ${userId ?? inner`s.user_id`},
      ${metadata === undefined ? inner`s.metadata` : json(inner, metadata)}, true, ${messages}, ${bytes}
    from sessions s join agent on agent.id = s.agent_id where s.id = ${sessionId} and s.deleted_at is null`;
  if (count === 0) throw new ApiError("not_found");
  await takeCopy(inner, copy);
  await closeLast(inner, id);
  return readSummary(inner, id);
}

/** Closes the calls of the last message that have not ended, and gives the session the previews of that message and of its first. */
async function closeLast(inner: Tx, id: string): Promise<void> {
  const [last] = await inner<{ seq: number; content: UiMessage }[]>`
    select /* message.last */ seq, content from messages where session_id = ${id} order by seq desc limit 1`;
  if (last === undefined) return;
  const { seq, content } = last;
  if (content.parts.some(isOpenCall)) {
    const closed = json(inner, closeCalls(content, unendedText));
    await inner`update /* message.close */ messages set content = ${closed} where session_id = ${id} and seq = ${seq}`;
  }
  await inner`
    update /* session.set_preview */ sessions set last_message_preview = ${previewOf(content)},
      first_message_preview = ${await findFirstPreview(inner, id)}
    where id = ${id}`;
}
