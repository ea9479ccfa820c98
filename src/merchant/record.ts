import type postgres from "postgres";
import type { AnySql } from "../kernel/database/client.ts";
import { newId } from "../kernel/ids.ts";
import { fallbackModelsMax } from "../kernel/limits.ts";
import { addSendJobSql, hasSendJobSql } from "../kernel/queue/outbox.ts";

/** Models that one turn may use: an agent's own, and its fallbacks. */
const modelsPerTurnMax = 1 + fallbackModelsMax;

/** What recording needs to know of a turn beside its row. */
export interface RecordedUsage {
  /** False: the worker that ran it is lost, and its token counts with it. */
  readonly known: boolean;
  /** The model and the type of its provider, as expressions. */
  readonly model: postgres.Fragment;
  readonly providerType: postgres.Fragment;
  /** The id of the event, as an expression. */
  readonly eventId: postgres.Fragment;
  /** Whether the CTE `booked` has the models of the turn; else one model, this one, used all. */
  readonly splits: boolean;
}

/**
 * Returns the CTEs that record the usage event of an ended turn, for the statement
 * that ends it (after the CTE `ended`, with the turn's columns): `billed` writes
 * the event; `enqueued` adds the job that delivers it, and the statement's `select`
 * must read it. They write nothing unless the tenant has monetization on and a
 * connection. No job is added while one of the connection waits or runs: that one
 * delivers this event too, and `recoverUsageEvents` finds what it just missed.
 */
export function billEndedTurn(sql: AnySql, { known, model, providerType, eventId, splits }: RecordedUsage) {
  const ids = splits ? eventIds(sql) : eventId;
  const usedModel = splits ? sql`e.used_model` : model;
  const usedType = splits ? sql`e.used_type` : providerType;
  return sql`
    billed as (
      insert into merchant_events (id, place, tenant_id, connection_id, provider, turn_id, user_id, customer_id, agent_id, session_id,
        model, model_provider, input_tokens, output_tokens, turn_status, started_at, status)
      select ${ids}, ${splits ? sql`e.place` : sql`0`}, e.tenant_id, c.id, c.provider, e.id, e.user_id, b.customer_id, e.agent_id,
        coalesce(e.session_id, ''), coalesce(${usedModel}, v.config ->> 'model'), coalesce(${usedType}, p.provider_type),
        e.input_tokens, e.output_tokens, e.status, e.accepted_at,
        case when not ${known}::boolean then 'incomplete' when b.customer_id is null then 'unmapped' else 'pending' end
      from ${splits ? sql`booked` : sql`ended`} e
      join tenants t on t.id = e.tenant_id and t.monetization
      join merchant_connections c on c.tenant_id = e.tenant_id and c.retired_at is null
      left join merchant_bindings b on b.connection_id = c.id and b.user_id = e.user_id
      left join agent_versions v on v.agent_id = e.agent_id and v.version = e.agent_version
      left join providers p on p.id = v.provider_id
      on conflict (turn_id, place) do nothing
      returning connection_id, tenant_id, status
    ), enqueued as (
      select (${addSendJobSql(sql, "merchant.deliver")}).id from billed
      where status = 'pending' and not ${hasSendJobSql(sql, "merchant.deliver")}
    )`;
}

/** Returns an id for each place that a model of a turn can have. */
function eventIds(sql: AnySql) {
  const ids = Array.from({ length: modelsPerTurnMax }, () => newId("merchantEvent"));
  return sql`(${ids}::text[])[e.place + 1]`;
}
