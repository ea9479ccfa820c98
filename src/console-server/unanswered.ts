import type { UnansweredTurn } from "../console-shapes/words.ts";
import { type AgentIds, andOf } from "../kernel/auth/agent-scope.ts";
import type { AnySql } from "../kernel/database/client.ts";
import type { IdOf } from "../kernel/ids.ts";
import type { UiMessage } from "../messages/ui-message.ts";
import { readBytesMax } from "./questions.ts";

interface UnansweredRow extends Omit<UnansweredTurn<UiMessage>, "acceptedAt"> {
  readonly acceptedAt: Date;
}

/** What is shown of a transcript, to whom. */
export interface TranscriptPart {
  readonly sessionId: string;
  /** The first message that is shown; undefined: all are. */
  readonly fromMessageId: string | undefined;
  readonly agentIds: AgentIds;
}

/** Turns without an answer that are shown beside one part of a transcript. */
const unansweredMax = 100;

/**
 * Returns the turns of a session that failed or were canceled, the oldest first, with their places among the messages
 * from `fromMessageId` on, which bounds what is read; without it, among all. Of many, the newest.
 */
export async function listUnanswered(
  sql: AnySql,
  tenantId: IdOf<"tenant">,
  { sessionId, fromMessageId, agentIds }: TranscriptPart,
): Promise<UnansweredTurn<UiMessage>[]> {
  const rows = await sql<UnansweredRow[]>`
    with since as (
      select seq, created_at from messages where session_id = ${sessionId} and id = ${fromMessageId ?? ""} limit 1
    ), unanswered as (
      select t.id, t.status, t.error, t.accepted_at, coalesce(t.queued_at, t.accepted_at) as began,
        case when pg_column_size(t.input) <= ${readBytesMax} then t.input end as input,
        (select max(m.seq) from messages m where m.turn_id = t.id and m.session_id = ${sessionId}) as own_seq
      from turns t
      where t.session_id = ${sessionId} and t.tenant_id = ${tenantId} and t.status in ('failed', 'canceled')
        ${andOf(sql, sql`t.agent_id`, agentIds)}
        and (select deleted_at is null from sessions where id = ${sessionId})
        and coalesce(t.finished_at >= (select created_at from since), true)
      order by t.accepted_at desc limit ${unansweredMax}
    )
    select u.id as turn_id, u.status, u.error, u.accepted_at, case when u.own_seq is null then u.input end as message,
      (select m.id from messages m
        where m.session_id = ${sessionId} and m.seq >= coalesce((select seq from since), 0)
          and (m.seq = u.own_seq or (u.own_seq is null and m.created_at <= u.began))
        order by m.seq desc limit 1) as after_message_id
    from unanswered u order by u.accepted_at, u.id`;
  return rows.map(({ acceptedAt, error, ...row }) => ({
    ...row,
    error: error && { code: error.code, message: error.message },
    acceptedAt: acceptedAt.toISOString(),
  }));
}
