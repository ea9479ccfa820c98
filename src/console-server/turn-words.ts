import type postgres from "postgres";
import type { SaidBefore } from "../console-shapes/marks.ts";
import type { TurnWords } from "../console-shapes/words.ts";
import { type AgentIds, andOf } from "../kernel/auth/agent-scope.ts";
import type { AnySql } from "../kernel/database/client.ts";
import type { IdOf } from "../kernel/ids.ts";
import type { UiMessage } from "../messages/ui-message.ts";

/** Longer words are left to the session's own page. */
const wordsBytesMax = 1_048_576;

/** Returns the words of a turn of a tenant; nulls where it has none, or none any more. */
export async function readTurnWords(
  sql: AnySql,
  tenantId: IdOf<"tenant">,
  { turnId, agentIds }: { readonly turnId: string; readonly agentIds: AgentIds },
): Promise<TurnWords<UiMessage>> {
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

/** Characters of what was said that a list shows: the last ones. */
const saidCharactersMax = 600;

/**
 * Returns what turns of a tenant that wait said last, before they asked: the last text of the answer so far. Those
 * that said nothing are left out.
 */
export function readSaidBefore(
  sql: AnySql,
  tenantId: IdOf<"tenant">,
  { turnIds, agentIds }: { readonly turnIds: readonly string[]; readonly agentIds: AgentIds },
): Promise<SaidBefore[]> {
  return sql<SaidBefore[]>`
    select t.id as turn_id, right(said.text, ${saidCharactersMax}) as text
    from turns t cross join lateral (
      select part ->> 'text' as text
      from (
        select case when m.bytes <= ${wordsBytesMax} then m.content end as content
        from messages m where m.turn_id = t.id and m.session_id = t.session_id and m.role = 'assistant'
        order by m.seq desc limit 1
      ) answer, json_array_elements(answer.content -> 'parts') with ordinality as parts (part, place)
      where part ->> 'type' = 'text' and part ->> 'text' <> '' order by place desc limit 1) said
    where t.tenant_id = ${tenantId} and t.id = any(${turnIds as string[]}::text[]) and t.status = 'waiting'
      ${andOf(sql, sql`t.agent_id`, agentIds)}
      and (select deleted_at is null from sessions where id = t.session_id)`;
}

function isSmall(sql: AnySql, column: postgres.Fragment): postgres.Fragment {
  return sql`coalesce(pg_column_size(${column}) <= ${wordsBytesMax}, true)`;
}
