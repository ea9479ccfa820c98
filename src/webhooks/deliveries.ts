import type { AnySql } from "../kernel/database/client.ts";
import { olderThan, placeInTime, type TimePlace } from "../kernel/database/keyset.ts";
import { type Page, readTimeCursor, timePage } from "../kernel/http/page.ts";
import type { IdOf } from "../kernel/ids.ts";
import type { WebhookDeliveryStatus } from "./schema.ts";

/** One try to hand a delivery over. */
export interface WebhookAttempt {
  readonly at: string;
  /** The response's; null: there was none. */
  readonly statusCode: number | null;
  /** How long it took. */
  readonly ms: number;
  /** Why it does not count as delivered; null: it does. */
  readonly error: AttemptError | null;
}

export type AttemptError =
  /** The response's status is none of 2xx. */
  | "status"
  /** The response is a redirect, which is not followed. */
  | "redirect"
  /** No response came in time. */
  | "timed_out"
  /** There was no connection, or it broke. */
  | "unreachable"
  /** The address is not public, or not https. */
  | "address_refused"
  /** The service cannot open the webhook's secret just now. */
  | "secret_unavailable";

/** A delivery as the database holds it. */
export interface WebhookDeliveryRow {
  readonly id: IdOf<"webhookDelivery">;
  readonly webhookId: IdOf<"webhook">;
  readonly tenantId: string;
  readonly type: string;
  readonly ids: Readonly<Record<string, string | null>>;
  readonly eventStatus: string;
  /** The whole of what happened, where the body says it. */
  readonly event: object | null;
  readonly occurredAt: Date;
  readonly status: WebhookDeliveryStatus;
  readonly attemptCount: number;
  readonly attempts: readonly WebhookAttempt[];
  readonly nextAttemptAt: Date | null;
  readonly finishedAt: Date | null;
}

/** Returns the columns of a `WebhookDeliveryRow`, of the table under the alias `d`. */
export function webhookDeliveryColumns(sql: AnySql) {
  return sql`d.id, d.webhook_id, d.tenant_id, d.type, d.ids, d.event_status, d.event, d.occurred_at, d.status, d.attempt_count,
    d.attempts, d.next_attempt_at, d.finished_at`;
}

/** Returns the body that is sent, the same text in each attempt: its type, its time, what it is about as ids and a status, and few events whole. */
export function bodyOf({ type, occurredAt, ids, eventStatus, event }: Event): string {
  const data = { ids, status: eventStatus, ...(event === null ? {} : { event }) };
  return JSON.stringify({ type, timestamp: occurredAt.toISOString(), data });
}

type Event = Pick<WebhookDeliveryRow, "type" | "occurredAt" | "ids" | "eventStatus" | "event">;

/** Which deliveries a list holds. */
interface DeliveryFilter {
  readonly status: WebhookDeliveryStatus | undefined;
  readonly cursor: string | undefined;
  readonly limit: number;
}

/** Returns a page of a webhook's deliveries, newest first. The caller has checked whose it is. Throws 400 `invalid_cursor`. */
export async function listWebhookDeliveries(
  sql: AnySql,
  webhookId: string,
  { status, cursor, limit }: DeliveryFilter,
): Promise<Page<WebhookDeliveryShown>> {
  const list = JSON.stringify(["webhook-deliveries", webhookId, status ?? null]);
  const place = readTimeCursor(list, cursor);
  const rows = await sql<(WebhookDeliveryRow & TimePlace)[]>`
    select ${webhookDeliveryColumns(sql)}, ${placeInTime(sql, "d.occurred_at")}, ${triedNextAt(sql)} as next_attempt_at
    from webhook_deliveries d
    where d.webhook_id = ${webhookId} ${status === undefined ? sql`` : sql`and d.status = ${status}`}
      ${olderThan(sql, place, "d.occurred_at", "d.id")}
    order by d.occurred_at desc, d.id desc limit ${limit + 1}`;
  return timePage(list, rows, limit, showWebhookDelivery);
}

/**
 * Returns the SQL of when a delivery is tried next at the earliest: not before its webhook's own pause is over, and not at all
 * while that is disabled. It is never in the past; what is due is sent now.
 */
function triedNextAt(sql: AnySql) {
  return sql`case when d.status = 'pending' then (
      select greatest(d.next_attempt_at, w.paused_until, now()) from webhooks w where w.id = d.webhook_id and w.enabled) end`;
}

/** A delivery in the interface's form. */
export type WebhookDeliveryShown = ReturnType<typeof showWebhookDelivery>;

/** Returns a row in the interface's form: never the whole event, because readers of deliveries need not be readers of it. */
export function showWebhookDelivery(row: WebhookDeliveryRow) {
  const { id, webhookId, type, occurredAt, ids, eventStatus, status, attemptCount, attempts } = row;
  return {
    id,
    webhookId,
    type,
    timestamp: occurredAt.toISOString(),
    data: { ids, status: eventStatus },
    status,
    attemptCount,
    // As jsonb they have the order of its own.
    attempts: attempts.map(({ at, statusCode, ms, error }) => ({ at, statusCode, ms, error })),
    nextAttemptAt: row.nextAttemptAt?.toISOString() ?? null,
    finishedAt: row.finishedAt?.toISOString() ?? null,
  };
}
