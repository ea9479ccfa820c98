import type postgres from "postgres";
import type { AnySql } from "../kernel/database/client.ts";
import { derivedIdSql, newIdSql } from "../kernel/database/new-id-sql.ts";
import { addSendJobSql, hasSendJobSql } from "../kernel/queue/outbox.ts";

/** What webhooks are told of. */
export const webhookEventTypes = [
  "turn.ended",
  "approval.requested",
  "tool_call.requested",
  "run.ended",
  "delivery.failed",
  "mcp_connection.changed",
  "budget.warned",
  "budget.reached",
  "audit.recorded",
] as const;
export type WebhookEventType = (typeof webhookEventTypes)[number];

/** Rows of a statement, each of which is an event; every expression reads `from`. */
export interface EventRows {
  readonly type: WebhookEventType;
  readonly from: postgres.Fragment;
  readonly tenantId: postgres.Fragment;
  /** The ids in the event's body, by their fields' names. */
  readonly ids: Readonly<Record<string, postgres.Fragment>>;
  /** Whose event it is, where the ids do not say so (`agentId`): then only webhooks for all agents are told of it, unless this does. */
  readonly agentId?: postgres.Fragment;
  readonly status: postgres.Fragment;
  /** JSON that the body has as `data.event`; left out: nothing, for what can be read by its ids. */
  readonly event?: postgres.Fragment;
  /** When it became true, and what names it among the events of its type: it is written once, however often it is told. Left out: it becomes true in this statement. */
  readonly once?: { readonly key: postgres.Fragment; readonly at: postgres.Fragment };
}

/**
 * Returns the CTEs that write events for the webhooks that want them, in the statement that
 * makes them true: `webhook_told` inserts a delivery for each event and webhook, and
 * `webhook_enqueued` adds the jobs that send them, which the statement's `select` must
 * read, because Postgres adds no jobs in a `select` that nothing reads. A tenant without a webhook
 * for such an event pays one probe of an index.
 *
 * No job is added while one of the webhook waits or runs: that one sends this event too, and
 * `recoverWebhooks` finds what it just missed.
 */
export function tellWebhooks(sql: AnySql, events: readonly EventRows[]): postgres.Fragment {
  const rows = events.map((each, index) => sql`${index === 0 ? sql`` : sql` union all `}${selectEvents(sql, each)}`);
  const newId = newIdSql(sql, "webhookDelivery");
  const onceId = derivedIdSql(sql, "webhookDelivery", sql`w.id || told.type || told.key`, sql`told.at`);
  const id = events.some(({ once }) => once !== undefined) ? sql`coalesce(${onceId}, ${newId})` : newId;
  // In one order everywhere, so that two statements never wait for each other's jobs.
  return sql`webhook_told as (
      insert into webhook_deliveries (id, webhook_id, tenant_id, type, ids, event_status, event, occurred_at)
      select ${id},
        w.id, told.tenant_id, told.type, told.ids, told.status, told.event, told.at
      from (${rows}) told join webhooks w on w.tenant_id = told.tenant_id and w.enabled and told.type = any(w.events)
        and (w.agent_ids is null or told.agent_id = any(w.agent_ids))
      on conflict (id) do nothing
      returning webhook_id, tenant_id
    ), webhook_enqueued as (
      select (${addSendJobSql(sql, "webhook.deliver")}).id from (select distinct webhook_id, tenant_id from webhook_told order by webhook_id) told
      where not ${hasSendJobSql(sql, "webhook.deliver")}
    )`;
}

/** Returns whether a tenant has webhooks that are told of one of these events; the id is an expression. */
export function hasWebhooksFor(
  sql: AnySql,
  tenantId: postgres.Fragment,
  types: readonly WebhookEventType[],
): postgres.Fragment {
  const wanted = types.map((type, index) => sql`${index === 0 ? sql`` : sql`, `}${literal(sql, type)}`);
  return sql`exists (select 1 from webhooks where tenant_id = ${tenantId} and enabled and events && array[${wanted}])`;
}

function selectEvents(
  sql: AnySql,
  { type, from, tenantId, ids, agentId, status, event, once }: EventRows,
): postgres.Fragment {
  const fields = Object.entries(ids).map(
    ([name, id], index) => sql`${index === 0 ? sql`` : sql`, `}${literal(sql, name)}, ${id}`,
  );
  return sql`select ${literal(sql, type)}::text as type, ${tenantId} as tenant_id, json_build_object(${fields}) as ids, ${status} as status,
      ${event ?? sql`null`}::json as event, ${agentId ?? ids.agentId ?? sql`null`}::text as agent_id, ${once?.key ?? sql`null`}::text as key, ${once?.at ?? sql`now()`} as at from ${from}`;
}

/** A word of this source as a literal: as a parameter it would have no type in `json_build_object`. */
function literal(sql: AnySql, word: string): postgres.Fragment {
  return sql.unsafe(`'${word}'`);
}
