import type { AnySql } from "../kernel/database/client.ts";
import { newId } from "../kernel/ids.ts";
import { fallbackModelsMax } from "../kernel/limits.ts";
import { addSendJobSql, hasSendJobSql } from "../kernel/queue/outbox.ts";

/** Models that one turn may use: an agent's own, and its fallbacks. */
const modelsPerTurnMax = 1 + fallbackModelsMax;

/**
 * Records what an ended turn used as events for its tenant's billing provider, one for each model, and adds the job that
 * delivers them. Part of the job `turn.after`; safe to repeat. Writes nothing unless the tenant has monetization on and
 * a connection. No job is added while one of the connection waits or runs: that one delivers this event too, and
 * `recoverUsageEvents` finds what it just missed. `platformType` is the type of the operator's own provider.
 */
export async function billTurn(sql: AnySql, turnId: string, platformType: string | null): Promise<void> {
  const ids = Array.from({ length: modelsPerTurnMax }, () => newId("merchantEvent"));
  await sql`
    with /* merchant.bill_turn */ billed as (
      insert into merchant_events (id, place, tenant_id, connection_id, provider, turn_id, user_id, customer_id, agent_id, session_id,
        model, model_provider, input_tokens, output_tokens, turn_status, started_at, occurred_at, status)
      select (${ids}::text[])[u.place + 1], u.place, e.tenant_id, c.id, c.provider, e.id, e.user_id, b.customer_id, e.agent_id,
        coalesce(e.session_id, ''), coalesce(u.model, v.config ->> 'model'),
        coalesce(used.provider_type, case when u.provider is null and u.model is not null then ${platformType} end, p.provider_type),
        u.input_tokens, u.output_tokens, e.status, e.accepted_at, e.finished_at,
        case when e.usage_lost then 'incomplete' when b.customer_id is null then 'unmapped' else 'pending' end
      from turns e join usage u on u.turn_id = e.id
      join tenants t on t.id = e.tenant_id and t.monetization
      join merchant_connections c on c.tenant_id = e.tenant_id and c.retired_at is null
      left join merchant_bindings b on b.connection_id = c.id and b.user_id = e.user_id
      left join agent_versions v on v.agent_id = e.agent_id and v.version = e.agent_version
      left join providers p on p.id = v.provider_id
      left join providers used on used.id = u.provider
      where e.id = ${turnId} and e.finished_at is not null
      on conflict (turn_id, place) do nothing
      returning connection_id, tenant_id, status
    ), enqueued as (
      select (${addSendJobSql(sql, "merchant.deliver")}).id from (
        select distinct connection_id, tenant_id from billed where status = 'pending') due
      where not ${hasSendJobSql(sql, "merchant.deliver")}
    )
    select count(*) from enqueued`;
}
