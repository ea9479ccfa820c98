import { type AgentIds, andOf } from "../kernel/auth/agent-scope.ts";
import type { Sql } from "../kernel/database/client.ts";
import type { IdOf } from "../kernel/ids.ts";

/** What an agent's turns came to in the last 24 hours. */
interface AgentMark {
  readonly agentId: IdOf<"agent">;
  readonly turns: number;
  readonly failed: number;
  readonly firstTextMsP50: number | null;
  readonly lastUsedAt: Date;
}

/** Returns the marks of the agents of a tenant that had a turn in the last 24 hours: one range of `turns_accepted`. */
export function readAgentMarks(sql: Sql, tenantId: IdOf<"tenant">, agentIds: AgentIds): Promise<AgentMark[]> {
  return sql<AgentMark[]>`
    select agent_id, count(*)::int as turns, count(*) filter (where status = 'failed')::int as failed,
      ${firstTextMedian(sql)} as first_text_ms_p50, max(accepted_at) as last_used_at
    from turns
    where tenant_id = ${tenantId} and accepted_at >= now() - interval '24 hours' ${andOf(sql, sql`agent_id`, agentIds)}
    group by agent_id`;
}

/** What the turns of one version of an agent came to. */
interface VersionMark {
  readonly version: number;
  readonly turns: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly firstTextMsP50: number | null;
  readonly runMsP50: number | null;
  readonly tokens: number;
}

/** Turns of an agent that are compared by version: its newest. */
const comparedTurnsMax = 10_000;

/** Returns what the newest turns of an agent came to, by version, the newest version first. */
export function readVersionMarks(
  sql: Sql,
  tenantId: IdOf<"tenant">,
  { agentId, agentIds }: { readonly agentId: string; readonly agentIds: AgentIds },
): Promise<VersionMark[]> {
  return sql<VersionMark[]>`
    select agent_version as version, count(*)::int as turns, count(*) filter (where status = 'succeeded')::int as succeeded,
      count(*) filter (where status = 'failed')::int as failed, ${firstTextMedian(sql)} as first_text_ms_p50,
      percentile_disc(0.5) within group (order by run_ms) filter (where status = 'succeeded')::float8 as run_ms_p50,
      coalesce(avg(input_tokens + output_tokens) filter (where status = 'succeeded'), 0)::float8 as tokens
    from (
      select agent_version, status, first_text_at, queued_at, accepted_at, run_ms, input_tokens, output_tokens from turns
      where tenant_id = ${tenantId} and agent_id = ${agentId} and kind = any(array['session', 'generate', 'task', 'chat'])
        and status in ('succeeded', 'failed', 'canceled') ${andOf(sql, sql`agent_id`, agentIds)}
      order by accepted_at desc limit ${comparedTurnsMax}) newest
    group by agent_version order by agent_version desc`;
}

function firstTextMedian(sql: Sql) {
  return sql`percentile_disc(0.5::float8) within group (order by
    greatest(0, round(extract(epoch from first_text_at - coalesce(queued_at, accepted_at)) * 1000))::float8)
    filter (where first_text_at is not null)`;
}
