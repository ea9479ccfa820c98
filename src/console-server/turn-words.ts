import type postgres from "postgres";
import { type AgentIds, andOf } from "../kernel/auth/agent-scope.ts";
import type { AnySql } from "../kernel/database/client.ts";
import type { IdOf } from "../kernel/ids.ts";
import type { UiMessage } from "../messages/ui-message.ts";

/** What a turn was asked and what it said, as its page shows it. */
interface TurnWords {
  readonly question: UiMessage | null;
  readonly answer: UiMessage | null;
  /** More of it is only in the session. */
  readonly isLeftOut: boolean;
}

/** Longer words are left to the session's own page. */
const wordsBytesMax = 1_048_576;

/** Returns the words of a turn of a tenant; nulls where it has none, or none any more. */
export async function readTurnWords(
  sql: AnySql,
  tenantId: IdOf<"tenant">,
  { turnId, agentIds }: { readonly turnId: string; readonly agentIds: AgentIds },
): Promise<TurnWords> {
  const [turn] = await sql<
    {
      input: UiMessage | readonly UiMessage[] | null;
      answer: UiMessage | null;
      said: UiMessage | null;
      isLeftOut: boolean;
    }[]
  >`
    select case when ${isSmall(sql, sql`t.input`)} then t.input end as input,
      case when ${isSmall(sql, sql`t.answer`)} then t.answer end as answer,
      said.content as said, coalesce(said.is_large, false) or not ${isSmall(sql, sql`t.input`)} as is_left_out
    from turns t left join lateral (
      select case when m.bytes <= ${wordsBytesMax} then m.content end as content, m.bytes > ${wordsBytesMax} as is_large
      from messages m where m.turn_id = t.id and m.session_id = t.session_id and m.role = 'assistant'
      order by m.seq desc limit 1) said on true
    where t.id = ${turnId} and t.tenant_id = ${tenantId} ${andOf(sql, sql`t.agent_id`, agentIds)}
      and (t.session_id is null or (select deleted_at is null from sessions where id = t.session_id))`;
  if (turn === undefined) return { question: null, answer: null, isLeftOut: false };
  const question = (Array.isArray(turn.input) ? turn.input.at(-1) : turn.input) ?? null;
  return { question, answer: turn.said ?? turn.answer, isLeftOut: turn.isLeftOut };
}

function isSmall(sql: AnySql, column: postgres.Fragment): postgres.Fragment {
  return sql`coalesce(pg_column_size(${column}) <= ${wordsBytesMax}, true)`;
}
