import type postgres from "postgres";
import type { Question } from "../console-shapes/marks.ts";
import { type AgentIds, andOf } from "../kernel/auth/agent-scope.ts";
import type { AnySql } from "../kernel/database/client.ts";
import type { IdOf } from "../kernel/ids.ts";

/** Characters of a question that a list shows. */
const questionCharactersMax = 200;
/** What was asked with more bytes, as they are stored, has pictures, and is not read for a list. */
export const readBytesMax = 65_536;

/** Returns the beginnings of what turns of a tenant were asked. Those that it does not have are left out. */
export function readQuestions(
  sql: AnySql,
  tenantId: IdOf<"tenant">,
  { turnIds, agentIds }: { readonly turnIds: readonly string[]; readonly agentIds: AgentIds },
): Promise<Question[]> {
  return sql<Question[]>`
    select t.id as turn_id, coalesce(${textOf(sql)}, '') as text
    from turns t
    where t.tenant_id = ${tenantId} and t.id = any(${turnIds as string[]}::text[]) ${andOf(sql, sql`t.agent_id`, agentIds)}`;
}

/** The text of a turn's own message, or of the last one of a stateless generation. */
function textOf(sql: AnySql): postgres.Fragment {
  return sql`case when pg_column_size(t.input) <= ${readBytesMax} then (
    select left(string_agg(part ->> 'text', ' '), ${questionCharactersMax})
    from json_array_elements((case json_typeof(t.input) when 'array' then t.input -> -1 else t.input end) -> 'parts') part
    where part ->> 'type' = 'text') end`;
}
