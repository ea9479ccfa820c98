import { actorName } from "../audit/actor-name.ts";
import type { AuditChoices, AuditedActor } from "../console-shapes/audit.ts";
import { type AgentIds, andOf } from "../kernel/auth/agent-scope.ts";
import type { Sql } from "../kernel/database/client.ts";
import type { IdOf } from "../kernel/ids.ts";

/** Choices of one filter. */
const choicesMax = 200;
/** Who sees some agents only is offered what is in the newest of their events. */
const agentEventsMax = 5_000;

/** Returns what the filters of the audit offer: one probe of an index for each choice, however many events there are. */
export async function readAuditChoices(sql: Sql, tenantId: IdOf<"tenant">, agentIds: AgentIds): Promise<AuditChoices> {
  const [actions, actors] = await Promise.all([
    readActions(sql, tenantId, agentIds),
    sql<AuditedActor[]>`
      with who as (${distinctActors(sql, tenantId, agentIds)})
      select who.type, who.id, ${actorName(sql, { type: sql`who.type`, id: sql`who.id`, tenantId: sql`${tenantId}` })} as name
      from who order by 3 nulls last, 2`,
  ]);
  return { actions, actors };
}

async function readActions(sql: Sql, tenantId: IdOf<"tenant">, agentIds: AgentIds): Promise<string[]> {
  const rows =
    agentIds === null
      ? await sql<{ action: string }[]>`
          with recursive actions as (
            (select action from audit_events where tenant_id = ${tenantId} order by action limit 1)
            union all
            select next.action from actions cross join lateral (
              select action from audit_events where tenant_id = ${tenantId} and action > actions.action order by action limit 1) next
          ) select action from actions limit ${choicesMax}`
      : await sql<{ action: string }[]>`
          select distinct action from (${eventsOf(sql, tenantId, agentIds)}) newest order by action limit ${choicesMax}`;
  return rows.map(({ action }) => action);
}

function distinctActors(sql: Sql, tenantId: IdOf<"tenant">, agentIds: AgentIds) {
  if (agentIds !== null)
    return sql`select distinct on (actor_id) actor_type as type, actor_id as id
      from (${eventsOf(sql, tenantId, agentIds)}) newest where actor_id is not null limit ${choicesMax}`;
  return sql`
    select * from (
      with recursive actors as (
        (select actor_id as id, actor_type as type from audit_events
          where tenant_id = ${tenantId} and actor_id is not null order by actor_id limit 1)
        union all
        select next.id, next.type from actors cross join lateral (
          select actor_id as id, actor_type as type from audit_events
          where tenant_id = ${tenantId} and actor_id > actors.id order by actor_id limit 1) next
      ) select type, id from actors limit ${choicesMax}) found`;
}

function eventsOf(sql: Sql, tenantId: IdOf<"tenant">, agentIds: AgentIds) {
  return sql`select action, actor_type, actor_id from audit_events
    where tenant_id = ${tenantId} ${andOf(sql, sql`agent_id`, agentIds)} order by at desc limit ${agentEventsMax}`;
}
