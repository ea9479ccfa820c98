import type { MessageTurn } from "../console-shapes/words.ts";
import { andOf } from "../kernel/auth/agent-scope.ts";
import type { AnySql } from "../kernel/database/client.ts";
import type { IdOf } from "../kernel/ids.ts";
import type { TranscriptPart } from "./unanswered.ts";

interface MessageTurnRow extends Omit<MessageTurn, "at"> {
  readonly at: Date;
}

/** The newest messages of a transcript whose turns are said at once. */
const messagesMax = 1_000;

/**
 * Returns the turns of a session's messages from `fromMessageId` on (without it, of all; of many, the newest), and when each
 * message was sent. A fork's messages are of the turns of the session that they were copied from.
 */
export async function listMessageTurns(
  sql: AnySql,
  tenantId: IdOf<"tenant">,
  { sessionId, fromMessageId, agentIds }: TranscriptPart,
): Promise<MessageTurn[]> {
  const rows = await sql<MessageTurnRow[]>`
    select m.id as message_id, t.id as turn_id,
      case when m.role = 'user' then coalesce(t.accepted_at, m.created_at) else m.created_at end as at
    from messages m
    join sessions s on s.id = m.session_id and s.tenant_id = ${tenantId} and s.deleted_at is null ${andOf(sql, sql`s.agent_id`, agentIds)}
    left join turns t on t.id = m.turn_id and t.tenant_id = ${tenantId}
    where m.session_id = ${sessionId}
      and m.seq >= coalesce((select seq from messages where session_id = ${sessionId} and id = ${fromMessageId ?? ""} limit 1), 0)
    order by m.seq desc limit ${messagesMax}`;
  return rows.map(({ at, ...row }) => ({ ...row, at: at.toISOString() }));
}
