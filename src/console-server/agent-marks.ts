import { actorName } from "../audit/actor-name.ts";
import type { AgentMark, VersionMark } from "../console-shapes/marks.ts";
import { type AgentIds, andOf } from "../kernel/auth/agent-scope.ts";
import type { Sql } from "../kernel/database/client.ts";
import type { IdOf } from "../kernel/ids.ts";
import { firstTextPercentile } from "./first-text.ts";

/** Returns the marks of the agents of a tenant that had a turn in the last 24 hours: one range of `turns_accepted`. */
export function readAgentMarks(sql: Sql, tenantId: IdOf<"tenant">, agentIds: AgentIds): Promise<AgentMark<Date>[]> {
  return sql<AgentMark<Date>[]>`
    select agent_id, count(*)::int as turns, count(*) filter (where status = 'failed')::int as failed,
      ${firstTextPercentile(sql, 0.5)} as first_text_ms_p50, max(accepted_at) as last_used_at
    from turns
    where tenant_id = ${tenantId} and accepted_at >= now() - interval '24 hours' ${andOf(sql, sql`agent_id`, agentIds)}
    group by agent_id`;
}

/** Turns of an agent that are compared by version: its newest. */
const comparedTurnsMax = 10_000;

/** Returns who made each version and draft of an agent, and what the agent's newest turns came to, by version, the newest first. */
export function readVersionMarks(
  sql: Sql,
  tenantId: IdOf<"tenant">,
  { agentId, agentIds }: { readonly agentId: string; readonly agentIds: AgentIds },
): Promise<VersionMark[]> {
  const author = { type: sql`v.actor_type`, id: sql`v.actor_id`, tenantId: sql`v.tenant_id` };
  return sql<VersionMark[]>`
    select v.version, coalesce(turns, 0) as turns, coalesce(succeeded, 0) as succeeded, coalesce(failed, 0) as failed,
      first_text_ms_p50, run_ms_p50, coalesce(tokens, 0) as tokens,
      coalesce(${actorName(sql, author)}, v.actor_id) as made_by
    from agent_versions v
    left join (
      select agent_version, count(*)::int as turns, count(*) filter (where status = 'succeeded')::int as succeeded,
        count(*) filter (where status = 'failed')::int as failed, ${firstTextPercentile(sql, 0.5)} as first_text_ms_p50,
        percentile_disc(0.5) within group (order by run_ms) filter (where status = 'succeeded')::float8 as run_ms_p50,
        avg(input_tokens + output_tokens) filter (where status = 'succeeded')::float8 as tokens
      from (
        select agent_version, status, first_text_at, queued_at, accepted_at, waited_ms, run_ms, input_tokens, output_tokens from turns
        where tenant_id = ${tenantId} and agent_id = ${agentId} and kind = any(array['session', 'generate', 'task', 'chat'])
          and status in ('succeeded', 'failed', 'canceled')
        order by accepted_at desc limit ${comparedTurnsMax}) newest
      group by agent_version) came_to on came_to.agent_version = v.version
    where v.agent_id = ${agentId} and v.tenant_id = ${tenantId} ${andOf(sql, sql`v.agent_id`, agentIds)}
    order by v.version desc`;
}
