import type { SessionMark } from "../console-shapes/sessions.ts";
import { type AgentIds, andOf } from "../kernel/auth/agent-scope.ts";
import type { AnySql } from "../kernel/database/client.ts";
import type { IdOf } from "../kernel/ids.ts";

/** Turns of a session whose tokens are added up for a list. */
const summedTurnsMax = 200;

interface MarkRow extends SessionMark {
  readonly sessionId: string;
}

/** Returns the marks of sessions of a tenant; those without a turn are left out. */
export function readSessionMarks(
  sql: AnySql,
  tenantId: IdOf<"tenant">,
  { sessionIds, agentIds }: { readonly sessionIds: readonly string[]; readonly agentIds: AgentIds },
): Promise<MarkRow[]> {
  return sql<MarkRow[]>`
    select s.id as session_id, last.status, last.error_code, last.tokens, last.is_partial
    from unnest(${sessionIds as string[]}::text[]) s (id)
    cross join lateral (
      select (array_agg(case status when 'enqueued' then 'queued' else status end))[1] as status,
        (array_agg(error ->> 'code'))[1] as error_code, sum(input_tokens + output_tokens)::float8 as tokens,
        count(*) > ${summedTurnsMax} as is_partial
      from (
        select status, error, input_tokens, output_tokens from turns t
        where t.session_id = s.id and t.tenant_id = ${tenantId} ${andOf(sql, sql`t.agent_id`, agentIds)}
        order by accepted_at desc limit ${summedTurnsMax + 1}) newest
    ) last where last.status is not null`;
}
