import type postgres from "postgres";
import { json, type Tx } from "../kernel/database/client.ts";
import { ApiError } from "../kernel/errors.ts";
import { newId } from "../kernel/ids.ts";
import { previewOf } from "../messages/text.ts";
import { closeCalls, isOpenCall } from "../messages/tool-calls.ts";
import type { UiMessage } from "../messages/ui-message.ts";
import { findSession, readSummary, type SessionSummary } from "./state/store.ts";

/** Which session to fork, and what differs in the new one. */
export interface ForkRequest {
  readonly tenantId: string;
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

/**
 * Makes a session that begins with the transcript of another one, and returns it. The
 * source is read as it is stored at one moment and not locked, so its turns go on
 * meanwhile. The new session waits for nobody: calls of the source's turn that have not
 * ended are closed. Throws 404 `not_found` and `message_not_found`.
 */
export async function forkSession(inner: Tx, request: ForkRequest): Promise<SessionSummary> {
  const id = newId("session");
  if (!(await copySession(inner, id, request))) await refuse(inner, request);
  await closeLast(inner, id);
  return readSummary(inner, id);
}

/**
 * Copies session, transcript and summary in one statement, so that all of it is of one
 * moment. Places stay, because the summary names one. Returns false, having written
 * nothing, when there is no such session or message. The agent's row is locked, so that
 * its deletion, which looks for its sessions afterwards, finds this one.
 */
async function copySession(inner: Tx, id: string, request: ForkRequest): Promise<boolean> {
  const { tenantId, agentId, sessionId, throughMessageId: throughId, userId, metadata } = request;
  const upTo = (place: postgres.Fragment) =>
    throughId === undefined ? inner`` : inner`and ${place} <= (select seq from through)`;
  const { count } = await inner`
    with agent as materialized (
      select id from agents where id = ${agentId} and tenant_id = ${tenantId} for key share
    ), through as materialized (
      select max(seq) as seq from messages where session_id = ${sessionId} and id = ${throughId ?? null}
    ), source as materialized (
      select s.* from sessions s join agent on agent.id = s.agent_id
      where s.id = ${sessionId} and s.tenant_id = ${tenantId} and s.visible and s.deleted_at is null
        ${throughId === undefined ? inner`` : inner`and (select seq from through) is not null`}
    ), copied as (
      insert into messages (session_id, seq, id, role, turn_id, content)
      select ${id}, m.seq, m.id, m.role, m.turn_id, m.content
      from source join messages m on m.session_id = source.id ${upTo(inner`m.seq`)}
      returning 1
    ), summarised as (
      insert into session_summaries (session_id, upto_seq, text)
      select ${id}, z.upto_seq, z.text
      from source join session_summaries z on z.session_id = source.id ${upTo(inner`z.upto_seq`)}
    )
    insert into sessions (id, tenant_id, agent_id, pinned_version, user_id, metadata, visible, message_count)
    select ${id}, tenant_id, agent_id, pinned_version, ${userId ?? inner`user_id`},
      ${metadata === undefined ? inner`metadata` : json(inner, metadata)}, true, (select count(*) from copied)
    from source`;
  return count > 0;
}

/** Closes the calls of the last message that have not ended, and gives the session the preview of that message. */
async function closeLast(inner: Tx, id: string): Promise<void> {
  const [last] = await inner<{ seq: number; content: UiMessage }[]>`
    select seq, content from messages where session_id = ${id} order by seq desc limit 1`;
  if (last === undefined) return;
  const { seq, content } = last;
  if (content.parts.some(isOpenCall)) {
    const closed = json(inner, closeCalls(content, unendedText));
    await inner`update messages set content = ${closed} where session_id = ${id} and seq = ${seq}`;
  }
  await inner`update sessions set last_message_preview = ${previewOf(content)} where id = ${id}`;
}

async function refuse(inner: Tx, { tenantId, agentId, sessionId, throughMessageId }: ForkRequest): Promise<never> {
  const source = await findSession(inner, tenantId, agentId, sessionId);
  throw new ApiError(source?.visible && throughMessageId !== undefined ? "fork_message_not_found" : "not_found");
}
