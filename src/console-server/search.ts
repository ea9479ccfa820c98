import { type AgentIds, andOf } from "../kernel/auth/agent-scope.ts";
import type { Sql } from "../kernel/database/client.ts";
import type { IdOf } from "../kernel/ids.ts";

/** A session in which something was said. */
interface Found {
  readonly sessionId: IdOf<"session">;
  readonly agentId: IdOf<"agent">;
  readonly userId: string;
  readonly title: string;
  readonly updatedAt: string;
}

interface FoundRow extends Omit<Found, "updatedAt"> {
  readonly updatedAt: Date;
}

/** Sessions whose words are searched: those that were used last. */
export const searchedSessionsMax = 2_000;
/** Of a session, the newest messages are searched; longer ones than this are not read. */
const searchedMessagesMax = 50;
const searchedBytesMax = 32_768;
const foundMax = 50;

/** Returns the sessions of a tenant, of those used last, in which these words were said by anybody, or the one with this id, the one used last first. Case counts for nothing. */
export async function searchSessions(
  sql: Sql,
  tenantId: IdOf<"tenant">,
  { words, agentIds }: { readonly words: string; readonly agentIds: AgentIds },
): Promise<Found[]> {
  // As they stand within the JSON of a message.
  const pattern = `%${JSON.stringify(words)
    .slice(1, -1)
    .replaceAll(/[\\%_]/g, (sign) => `\\${sign}`)}%`;
  const rows = await sql<FoundRow[]>`
    with latest as (
      select id, agent_id, user_id, coalesce(first_message_preview, last_message_preview) as title, updated_at
      from sessions s
      where tenant_id = ${tenantId} and visible and deleted_at is null and message_count > 0 ${andOf(sql, sql`s.agent_id`, agentIds)}
      order by updated_at desc, id desc limit ${searchedSessionsMax}
    )
    select l.id as session_id, l.agent_id, l.user_id, l.title, l.updated_at from latest l
    where l.id = ${words} or exists (
      select 1 from (
        select case when bytes <= ${searchedBytesMax} then content::text end as said
        from messages where session_id = l.id order by seq desc limit ${searchedMessagesMax}) newest
      where said ilike ${pattern})
    order by l.updated_at desc, l.id desc limit ${foundMax}`;
  return rows.map(({ updatedAt, ...row }) => ({ ...row, updatedAt: updatedAt.toISOString() }));
}
