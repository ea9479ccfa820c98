import type postgres from "postgres";
import type { ListedSession } from "../console-shapes/sessions.ts";
import { andOf } from "../kernel/auth/agent-scope.ts";
import type { Sql } from "../kernel/database/client.ts";
import type { IdOf } from "../kernel/ids.ts";
import { readListedSessions, type SessionListQuestion } from "./session-list.ts";

/** Sessions whose words are searched: those that were used last. */
const searchedSessionsMax = 2_000;
/** Turns without an answer whose questions are searched, of each kind and end: the newest. */
const searchedTurnsMax = 500;
/** Of a session, the newest messages are searched; longer ones than this are not read. */
const searchedMessagesMax = 50;
const searchedBytesMax = 32_768;
const foundMax = 50;
/** Where what became of the last turn counts, this many of those found are looked at. */
const filteredMax = 500;

/** What is searched for, and where. */
export interface SearchQuestion extends Omit<SessionListQuestion, "cursor" | "limit"> {
  /** Said or asked within the question's time. */
  readonly words: string;
}

/**
 * Returns the sessions of a tenant, of those used last, in which these words were said by anybody or asked without an
 * answer, or the one with this id, the one used last first. Case counts for nothing.
 */
export async function searchSessions(
  sql: Sql,
  tenantId: IdOf<"tenant">,
  { words, agentIds, agentId, userId, status, from, to }: SearchQuestion,
): Promise<ListedSession[]> {
  // As they stand within the JSON of a message.
  const pattern = `%${JSON.stringify(words)
    .slice(1, -1)
    .replaceAll(/[\\%_]/g, (sign) => `\\${sign}`)}%`;
  const ofOwner = (row: postgres.Fragment) => sql`${andOf(sql, sql`${row}.agent_id`, agentIds)}
    ${agentId === undefined ? sql`` : sql`and ${row}.agent_id = ${agentId}`}
    ${userId === undefined ? sql`` : sql`and ${row}.user_id = ${userId}`}`;
  const since = (at: postgres.Fragment) => (from === undefined ? sql`` : sql`and ${at} >= ${from}`);
  const until = (at: postgres.Fragment) => (to === undefined ? sql`` : sql`and ${at} < ${to}`);
  const rows = await sql<{ id: string }[]>`
    with latest as (
      select id from sessions s
      where tenant_id = ${tenantId} and visible and deleted_at is null and message_count > 0 ${ofOwner(sql`s`)}
        ${since(sql`s.updated_at`)} ${until(sql`s.created_at`)}
      order by updated_at desc, id desc limit ${searchedSessionsMax}
    ), unanswered as (
      select t.session_id as id from unnest(array['session', 'task', 'chat']) kinds (kind), unnest(array['failed', 'canceled']) ends (status)
      cross join lateral (
        select session_id, case when pg_column_size(input) <= ${searchedBytesMax} then input::text end as asked from turns t
        where tenant_id = ${tenantId} and t.kind = kinds.kind and t.status = ends.status
          and t.status in ('waiting', 'succeeded', 'failed', 'canceled') ${ofOwner(sql`t`)}
          ${since(sql`t.accepted_at`)} ${until(sql`t.accepted_at`)}
        order by accepted_at desc limit ${searchedTurnsMax}
      ) t where t.asked ilike ${pattern}
    ), found as (
      select ${words} as id union select id from unanswered union
      select l.id from latest l where exists (
        select 1 from (
          select case when bytes <= ${searchedBytesMax} then content::text end as said
          from messages m where session_id = l.id ${since(sql`m.created_at`)} ${until(sql`m.created_at`)}
          order by seq desc limit ${searchedMessagesMax}) newest
        where said ilike ${pattern})
    )
    select id from found`;
  const sessionIds = rows.map(({ id }) => id);
  const limit = status === undefined ? foundMax : filteredMax;
  const found = await readListedSessions(sql, tenantId, { sessionIds, agentIds, limit });
  return found.filter(({ mark }) => status === undefined || mark?.status === status).slice(0, foundMax);
}
