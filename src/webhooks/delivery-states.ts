import { recordAudit } from "../kernel/audit/record.ts";
import { systemActor } from "../kernel/auth/actor.ts";
import { type AnySql, json, type Sql, type Tx } from "../kernel/database/client.ts";
import { tx } from "../kernel/database/transaction.ts";
import { ApiError } from "../kernel/errors.ts";
import { type IdOf, newId } from "../kernel/ids.ts";
import {
  addSendJobSql,
  dueSql,
  growingPauseSql,
  hasSendJobSql,
  lostSendsSql,
  outboxStepRows,
  waitsSql,
} from "../kernel/queue/outbox.ts";
import { type WebhookAttempt, type WebhookDeliveryRow, webhookDeliveryColumns } from "./deliveries.ts";
import {
  attemptPauseMaxMs,
  attemptPauseMinMs,
  attemptsKeptMax,
  failingPauseMaxMs,
  failingPauseMinMs,
  retryForHours,
} from "./schema.ts";

/**
 * The state machine of a webhook's delivery (`webhook_deliveries`): every move is a guarded update, and
 * zero rows means that another process moved the delivery first.
 *
 *     an event (`events.ts`)
 *         │ insert
 *         ▼  claim            record: delivered
 *      pending ────▶ sending ───────────────────▶ succeeded
 *       ▲ ▲ │ ▲         │ │                          │
 *       │ │ │ └─release─┘ │ record: not delivered,   │ retry
 *       │ │ │  (its worker│ for 72 h                 │ (a person)
 *       │ │ │   is lost)  ▼                          │
 *       │ │ └─expire──▶ failed                       │
 *       │ │              │ retry (a person)          │
 *       │ └──────────────┴───────────────────────────┘
 *       └─ record: not delivered, again after a pause
 *
 * A delivery that is being sent is a pending one with the mark `sending_by`. Whoever loses its worker
 * is sent again, because a receiver tells repeats by the id. *Expire* ends what waited for 72 h for a
 * webhook that is disabled.
 *
 * Of the webhook itself, `record` moves `failing_since` and `paused_until`, and disables one that has
 * only failed for 72 h. When a webhook that failed is back, what waits is made due (`endPauses`).
 */

/** The first attempt fails a little after its event, and the last may fail sooner: so much earlier than a delivery's time is over, a webhook's is. */
const disableSlackMinutes = 1;

/** Which deliveries are to be claimed, and by whom. */
interface DeliveryClaim {
  readonly webhookId: string;
  readonly workerId: string;
  /** At most so many; of a webhook that fails, one. */
  readonly limit: number;
}

/** Claims due deliveries of an enabled webhook for a worker to send, those that have waited longest first. */
export function claimDeliveries(sql: Sql, { webhookId, workerId, limit }: DeliveryClaim) {
  return sql<WebhookDeliveryRow[]>`
    with /* webhook.claim */ open as materialized (
      select case when failing_since is null then ${limit}::int else 1 end as places from webhooks
      where id = ${webhookId} and enabled and (paused_until > now()) is not true
    ), due as materialized (${dueSql(sql, "webhook.deliver", webhookId, sql`coalesce((select places from open), 0)`)})
    update webhook_deliveries d set sending_by = ${workerId}, attempt_count = d.attempt_count + 1, last_attempt_at = now()
    from due where d.id = due.id returning ${webhookDeliveryColumns(sql)}`;
}

/** What came of sending a claimed delivery. */
export interface SentDelivery {
  readonly delivery: WebhookDeliveryRow;
  readonly attempt: WebhookAttempt;
  /** The receiver asks for a pause of at least this; 0: it does not. */
  readonly retryAfterMs: number;
}

/** What attempts mean for their webhook. */
interface WebhookFate {
  /** It was disabled, because it only failed. */
  readonly disabled: boolean;
  /** When the first attempt after all failures succeeded; null: it did not fail before, or still does. */
  readonly recoveredAt: Date | null;
}

const unchanged: WebhookFate = { disabled: false, recoveredAt: null };

/** Writes what came of claimed deliveries of one webhook. What belongs to an earlier claim changes nothing. */
export async function recordAttempts(
  sql: Sql,
  webhookId: IdOf<"webhook">,
  workerId: string,
  sent: readonly SentDelivery[],
): Promise<WebhookFate> {
  const rows = sent.map(({ delivery, attempt, retryAfterMs }) => {
    const { id, attemptCount: number } = delivery;
    return { id, number, good: attempt.error === null, attempt, retryAfterMs };
  });
  if (rows.some(({ good }) => good)) {
    const [recovered] = await sql<{ at: Date }[]>`
      with /* webhook.record */ ${recordedSql(sql, rows, workerId)}
      update webhooks set failing_since = null, paused_until = null
      where id = ${webhookId} and (failing_since is not null or paused_until is not null) and exists (select 1 from recorded)
      returning now() as at`;
    return { disabled: false, recoveredAt: recovered?.at ?? null };
  }
  const last = sent.at(-1);
  if (last === undefined) return unchanged;
  return tx(sql, async (inner) => {
    const tenantId = await recordFailing(inner, webhookId, last.attempt, recordedSql(inner, rows, workerId));
    if (tenantId === null) return unchanged;
    const changes = ["enabled", "disabledReason"];
    const event = { actor: systemActor, action: "webhook.disable", requestId: null, changes } as const;
    await recordAudit(inner, { ...event, tenantId, resourceId: webhookId });
    return { disabled: true, recoveredAt: null };
  });
}

/** Which pauses are to end. */
interface EndedPauses {
  readonly webhookId: IdOf<"webhook">;
  readonly recoveredAt: Date;
  readonly limit: number;
}

/**
 * Makes deliveries due that wait because their webhook failed, for one that is back; those that were due first stay first.
 * One that has been tried since then keeps its pause. Returns how many.
 */
export async function endPauses(sql: AnySql, { webhookId, recoveredAt, limit }: EndedPauses): Promise<number> {
  const { count } = await sql`
    with paused as materialized (
      select id from webhook_deliveries
      where webhook_id = ${webhookId} and ${waitsSql(sql, "webhook.deliver")} and next_attempt_at > now()
        and (last_attempt_at >= ${recoveredAt}) is not true
      order by next_attempt_at, id limit ${limit} for update skip locked
    )
    update webhook_deliveries d set next_attempt_at = now() from paused where d.id = paused.id`;
  return count;
}

function recordedSql(sql: AnySql, rows: readonly object[], workerId: string) {
  const isOver = sql`d.trying_since <= now() - make_interval(hours => ${retryForHours})`;
  const ends = sql`(result.good or ${isOver})`;
  const pause = growingPauseSql(sql, {
    since: sql`d.trying_since`,
    asked: sql`result."retryAfterMs"`,
    minMs: attemptPauseMinMs,
    maxMs: attemptPauseMaxMs,
  });
  // At the end of its time a delivery is tried once more.
  const next = sql`least(d.trying_since + make_interval(hours => ${retryForHours}), now() + ${pause})`;
  return sql`result as (
      select * from json_to_recordset(${json(sql, rows)})
        as r (id text, number int, good boolean, attempt jsonb, "retryAfterMs" float8)
    ), recorded as (
      update webhook_deliveries d set sending_by = null,
        attempts = (case when jsonb_array_length(d.attempts) >= ${attemptsKeptMax} then d.attempts - 0 else d.attempts end) || result.attempt,
        status = case when result.good then 'succeeded' when ${isOver} then 'failed' else 'pending' end,
        next_attempt_at = case when not ${ends} then ${next} end, finished_at = case when ${ends} then now() end
      from result where d.id = result.id and d.attempt_count = result.number and d.sending_by = ${workerId}
      returning d.id
    )`;
}

/** Notes that attempts failed, and none succeeded. Returns the tenant of a webhook that was disabled by it, else null. */
async function recordFailing(
  inner: Tx,
  webhookId: string,
  { statusCode, error }: WebhookAttempt,
  recorded: ReturnType<typeof recordedSql>,
): Promise<string | null> {
  const isOver = inner`w.failing_since <= now() - make_interval(hours => ${retryForHours}, mins => ${-disableSlackMinutes})`;
  const how = statusCode === null ? `with ${error}` : `with the status ${statusCode}`;
  const reason = {
    code: "only_failures",
    message: `Every attempt of the last ${retryForHours} hours failed, the last one ${how}.`,
  };
  const pause = growingPauseSql(inner, {
    since: inner`coalesce(w.failing_since, now())`,
    share: 0.5,
    minMs: failingPauseMinMs,
    maxMs: failingPauseMaxMs,
  });
  const [row] = await inner<{ tenantId: string; disabled: boolean }[]>`
    with /* webhook.failing */ ${recorded}
    update webhooks w set failing_since = coalesce(w.failing_since, now()), paused_until = now() + ${pause},
      enabled = coalesce(not ${isOver}, true), disabled_reason = case when ${isOver} then ${json(inner, reason)}::json end,
      updated_at = case when ${isOver} then now() else w.updated_at end
    where w.id = ${webhookId} and w.enabled and exists (select 1 from recorded)
    returning w.tenant_id, not w.enabled as disabled`;
  return row?.disabled === true ? row.tenantId : null;
}

/** sending → pending, for sends whose worker is lost or whose end is overdue; at most 500. Returns how many. */
export async function releaseLostSends(sql: AnySql): Promise<number> {
  const { count } = await sql`
    update /* webhook.lost */ webhook_deliveries set sending_by = null where id in (${lostSendsSql(sql, "webhook.deliver")})`;
  return count;
}

/** pending → failed, for deliveries of disabled webhooks whose time is over; at most 500. Returns how many. */
export async function expireDeliveries(sql: AnySql): Promise<number> {
  // Found first, whatever the planner believes: it once asked for the old ones anew for each delivery that waits.
  const { count } = await sql`
    with old as materialized (
      select d.id from webhooks w cross join lateral (
        select d.id from webhook_deliveries d
        where d.webhook_id = w.id and ${waitsSql(sql, "webhook.deliver")}
          and d.trying_since < now() - make_interval(hours => ${retryForHours})
        limit ${outboxStepRows}
      ) d
      where not w.enabled limit ${outboxStepRows}
    )
    update webhook_deliveries d set status = 'failed', next_attempt_at = null, finished_at = now()
    from old where d.id = old.id and ${waitsSql(sql, "webhook.deliver")}`;
  return count;
}

/**
 * `POST /v1/webhooks/:id/deliveries/:deliveryId/retry`: a delivery in any state is sent again at
 * once, and retried for 72 h from now on. The caller has locked the webhook. Throws 404.
 */
export async function retryWebhookDelivery(
  inner: Tx,
  webhookId: IdOf<"webhook">,
  id: IdOf<"webhookDelivery">,
): Promise<WebhookDeliveryRow> {
  const [row] = await inner<WebhookDeliveryRow[]>`
    with retried as (
      update webhook_deliveries d set status = 'pending', trying_since = now(), next_attempt_at = now(), finished_at = null
      where d.id = ${id} and d.webhook_id = ${webhookId} returning ${webhookDeliveryColumns(inner)}
    ), enqueued as (
      select (${addSendJobSql(inner, "webhook.deliver")}).id from retried where not ${hasSendJobSql(inner, "webhook.deliver")}
    )
    select retried.*, (select count(*) from enqueued) as jobs from retried`;
  if (row === undefined) throw new ApiError("not_found");
  // The person who asks has a reason to think that the receiver is back.
  await inner`update webhooks set paused_until = null where id = ${webhookId}`;
  return row;
}

/** The event of `POST /v1/webhooks/:id/test`, which is sent once, and stored with what came of it. */
export function testDelivery(webhookId: IdOf<"webhook">, tenantId: string): WebhookDeliveryRow {
  const occurredAt = new Date();
  return {
    id: newId("webhookDelivery"),
    webhookId,
    tenantId,
    type: "webhook.test",
    ids: { webhookId },
    eventStatus: "test",
    event: null,
    occurredAt,
    status: "pending",
    attemptCount: 1,
    attempts: [],
    nextAttemptAt: null,
    finishedAt: null,
  };
}

/** Stores a delivery that was sent as a test. */
export async function insertTested(
  inner: Tx,
  delivery: WebhookDeliveryRow,
  attempt: WebhookAttempt,
): Promise<WebhookDeliveryRow> {
  const { id, webhookId, tenantId, type, ids, eventStatus, occurredAt } = delivery;
  const status = attempt.error === null ? "succeeded" : "failed";
  const [row] = await inner<WebhookDeliveryRow[]>`
    insert into webhook_deliveries as d (id, webhook_id, tenant_id, type, ids, event_status, occurred_at, status,
      attempt_count, attempts, last_attempt_at, next_attempt_at, finished_at)
    values (${id}, ${webhookId}, ${tenantId}, ${type}, ${json(inner, ids)}, ${eventStatus}, ${occurredAt}, ${status},
      1, ${json(inner, [attempt])}::jsonb, now(), null, now())
    returning ${webhookDeliveryColumns(inner)}`;
  return row as WebhookDeliveryRow;
}
