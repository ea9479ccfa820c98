import { type AgentIds, andWithin } from "../kernel/auth/agent-scope.ts";
import type { AnySql, Tx } from "../kernel/database/client.ts";
import { olderThan, placeInTime, type TimePlace } from "../kernel/database/keyset.ts";
import { ApiError } from "../kernel/errors.ts";
import { type Page, readTimeCursor, timePage } from "../kernel/http/page.ts";
import type { IdOf } from "../kernel/ids.ts";
import type { WebhookEventType } from "./events.ts";
import { secretOverlapHours, type WebhookFields, webhooksPerTenantMax } from "./schema.ts";

/** A webhook as the database holds it, its secrets sealed. */
export interface WebhookRow {
  readonly id: IdOf<"webhook">;
  readonly tenantId: string;
  readonly url: string;
  readonly events: WebhookEventType[];
  readonly description: string;
  readonly enabled: boolean;
  /** It is told of these agents only; null: of all. */
  readonly agentIds: IdOf<"agent">[] | null;
  readonly disabledReason: { readonly code: string; readonly message: string } | null;
  readonly sealedSecret: Uint8Array;
  /** Null once its time is over. */
  readonly sealedPreviousSecret: Uint8Array | null;
  readonly previousSecretUntil: Date | null;
  readonly failingSince: Date | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** Returns the columns of a `WebhookRow`. */
function webhookColumns(sql: AnySql) {
  return sql`id, tenant_id, url, events, description, enabled, agent_ids, disabled_reason, sealed_secret,
    case when previous_secret_until > now() then sealed_previous_secret end as sealed_previous_secret,
    case when previous_secret_until > now() then previous_secret_until end as previous_secret_until,
    failing_since, created_at, updated_at`;
}

/** A new webhook; its id is chosen before, because the secret is sealed under it. */
export type NewWebhook = Pick<
  WebhookRow,
  "id" | "tenantId" | "url" | "events" | "description" | "enabled" | "agentIds" | "sealedSecret"
>;

/** Stores a webhook. Throws 400 `webhook_limit_reached`. */
export async function insertWebhook(inner: Tx, made: NewWebhook): Promise<WebhookRow> {
  // The tenant's row is the lock that makes the count hold.
  await inner`select 1 from tenants where id = ${made.tenantId} for no key update`;
  const [count] = await inner<{ total: number }[]>`
    select count(*)::int as total from webhooks where tenant_id = ${made.tenantId}`;
  if ((count?.total ?? 0) >= webhooksPerTenantMax) throw new ApiError("webhook_limit_reached");
  const [row] = await inner<WebhookRow[]>`
    insert into webhooks (id, tenant_id, url, events, description, enabled, agent_ids, sealed_secret)
    values (${made.id}, ${made.tenantId}, ${made.url}, ${made.events}, ${made.description}, ${made.enabled},
      ${made.agentIds}, ${made.sealedSecret})
    returning ${webhookColumns(inner)}`;
  return row as WebhookRow;
}

/** Returns a page of a tenant's webhooks, newest first. Throws 400 `invalid_cursor`. */
export async function listWebhooks(
  sql: AnySql,
  tenantId: string,
  {
    agentIds,
    cursor,
    limit,
  }: { readonly agentIds: AgentIds; readonly cursor: string | undefined; readonly limit: number },
): Promise<Page<WebhookShown>> {
  const place = readTimeCursor("webhooks", cursor);
  const rows = await sql<(WebhookRow & TimePlace)[]>`
    select ${webhookColumns(sql)}, ${placeInTime(sql, "created_at")} from webhooks
    where tenant_id = ${tenantId} ${andWithin(sql, sql`agent_ids`, agentIds)} ${olderThan(sql, place, "created_at", "id")}
    order by created_at desc, id desc limit ${limit + 1}`;
  return timePage("webhooks", rows, limit, showWebhook);
}

/** Returns a webhook, whosever it is; null when there is none. */
export async function findWebhook(sql: AnySql, id: string): Promise<WebhookRow | null> {
  const [row] = await sql<WebhookRow[]>`select ${webhookColumns(sql)} from webhooks where id = ${id}`;
  return row ?? null;
}

/** Returns a tenant's webhook. Throws 404. */
export async function getWebhook(sql: AnySql, tenantId: string, id: string): Promise<WebhookRow> {
  const row = await findWebhook(sql, id);
  if (row?.tenantId !== tenantId) throw new ApiError("not_found");
  return row;
}

/** Returns a tenant's webhook and keeps it from being changed or deleted until the transaction ends. Throws 404. */
export async function lockWebhook(inner: Tx, tenantId: string, id: string): Promise<WebhookRow> {
  const [row] = await inner<WebhookRow[]>`
    select ${webhookColumns(inner)} from webhooks where id = ${id} and tenant_id = ${tenantId} for no key update`;
  if (row === undefined) throw new ApiError("not_found");
  return row;
}

/** Changes a webhook that the caller has locked. One that gets another address, or is enabled or disabled by a person, begins anew: that it failed is forgotten. */
export async function updateWebhook(
  inner: Tx,
  before: WebhookRow,
  {
    url = before.url,
    events = before.events,
    description = before.description,
    enabled = before.enabled,
  }: WebhookFields,
): Promise<WebhookRow> {
  // In another order they are the same events.
  const isSame = events.length === before.events.length && events.every((event) => before.events.includes(event));
  const beginsAnew = url !== before.url || enabled !== before.enabled;
  const [row] = await inner<WebhookRow[]>`
    update webhooks set url = ${url}, events = ${isSame ? before.events : events}, description = ${description}, enabled = ${enabled},
      ${beginsAnew ? inner`failing_since = null, paused_until = null,` : inner``}
      disabled_reason = case when not ${enabled}::boolean then disabled_reason end, updated_at = now()
    where id = ${before.id} returning ${webhookColumns(inner)}`;
  return row as WebhookRow;
}

/** Replaces the secret of a webhook that the caller has locked; the one before signs on for a while. */
export async function replaceSecret(
  inner: Tx,
  id: IdOf<"webhook">,
  made: { readonly sealedSecret: Uint8Array; readonly sealedPreviousSecret: Uint8Array },
): Promise<WebhookRow> {
  const [row] = await inner<WebhookRow[]>`
    update webhooks set sealed_secret = ${made.sealedSecret}, sealed_previous_secret = ${made.sealedPreviousSecret},
      previous_secret_until = now() + make_interval(hours => ${secretOverlapHours}), updated_at = now()
    where id = ${id} returning ${webhookColumns(inner)}`;
  return row as WebhookRow;
}

/** A webhook in the interface's form: never its secrets. */
export type WebhookShown = ReturnType<typeof showWebhook>;

/** Returns a row in the interface's form. */
export function showWebhook(row: WebhookRow) {
  const { id, url, events, description, enabled, agentIds, disabledReason } = row;
  return {
    id,
    url,
    events,
    description,
    enabled,
    agentIds,
    disabledReason,
    failingSince: row.failingSince?.toISOString() ?? null,
    previousSecretExpiresAt: row.previousSecretUntil?.toISOString() ?? null,
    createdAt: row.createdAt.toISOString(),
    updatedAt: row.updatedAt.toISOString(),
  };
}
