import { type AnySql, json, type Sql } from "../kernel/database/client.ts";
import { ApiError } from "../kernel/errors.ts";
import type { IdOf } from "../kernel/ids.ts";
import { addJobSql, jobKeySql } from "../kernel/queue/add-job.ts";
import { eventColumns, getUsageEvent, showUsageEvent, type UsageEvent, type UsageEventRow } from "./events.ts";
import type { UsageReceipt } from "./provider.ts";

/**
 * The state machine of a usage event (`merchant_events`): every move is a guarded
 * update, and zero rows means that another process moved the event first. The end
 * of a turn inserts an event (`record.ts`) as `pending`, `unmapped` when its end
 * user is bound to no customer, or `incomplete` when nobody knows the usage.
 *
 *     unmapped ──release──▶ pending ◀──retry── failed, uncertain
 *                            │  ▲
 *                       send │  │ it did not arrive: sent again, with growing pauses
 *                            ▼  │
 *                 accepted | failed | uncertain | expired
 *
 *     failed, unmapped, uncertain ──discard──▶ discarded
 *
 * `sending_by` is written before a send. It guarantees that a report which may
 * have left is never sent again without a person's decision: whatever happens to
 * the worker, the event is either moved by its receipt or becomes `uncertain`.
 * `incomplete` has no moves.
 */

/** An event that did not arrive is sent again after half the time since its first try, within these bounds. */
const retryPauseMinMs = 4_000;
const retryPauseMaxMs = 60 * 60 * 1000;
/** Automatic delivery ends after this long; then a person decides. */
const retryForHours = 24;
/** A send has ended after this long even if its worker lives. */
const sendMaxMs = 180_000;
/** Rows moved in one step. */
const stepRows = 500;

/** An event that a worker has claimed to send; attempt and generation say which send a receipt belongs to. */
export type ClaimedEvent = UsageEventRow & { readonly customerId: string };

/** The events that a worker has claimed. */
export interface EventClaim {
  readonly events: readonly ClaimedEvent[];
  /** More events may be due. */
  readonly more: boolean;
}

/** Claims a connection's due events for a worker to send; those older than the provider accepts become `expired`. */
export async function claimDue(
  sql: Sql,
  { connectionId, workerId, limit, ageMaxMs }: ClaimRequest,
): Promise<EventClaim> {
  const rows = await sql<(ClaimedEvent & { due: number })[]>`
    with due as materialized (
      select id, coalesce(occurred_at < now() - ${ageMaxMs}::float8 * interval '1 millisecond', false) as old
      from merchant_events
      where connection_id = ${connectionId} and status = 'pending' and sending_by is null and next_attempt_at <= now()
        and not exists (select 1 from merchant_connections where id = ${connectionId} and paused_until > now())
      order by next_attempt_at, id limit ${limit} for update skip locked
    ), expired as (
      update merchant_events e set status = 'expired', last_error_code = 'too_old', next_attempt_at = null
      from due where e.id = due.id and due.old
    ), claimed as (
      update merchant_events e set sending_by = ${workerId}, attempt_count = e.attempt_count + 1,
        last_attempt_at = now(), trying_since = coalesce(e.trying_since, now())
      from due where e.id = due.id and not due.old and e.customer_id is not null
      returning ${eventColumns(sql)}
    )
    select claimed.*, counted.due from (select count(*)::int as due from due) counted left join claimed on true`;
  const more = (rows[0]?.due ?? 0) === limit;
  return { events: rows.filter((row) => row.id !== null), more };
}

interface ClaimRequest {
  readonly connectionId: string;
  readonly workerId: string;
  readonly limit: number;
  /** Null: events of any age. */
  readonly ageMaxMs: number | null;
}

/**
 * Writes the receipts of a send. A receipt that comes after its event became
 * `uncertain` still counts, because it is certain; one of an earlier attempt, or of
 * an event that a person has moved, changes nothing.
 */
export async function recordReceipts(
  sql: AnySql,
  events: readonly ClaimedEvent[],
  receipts: readonly UsageReceipt[],
): Promise<void> {
  const rows = events.map((event, index) => ({
    id: event.id,
    attempt: event.attemptCount,
    generation: event.attemptGeneration,
    ...receipts[index],
  }));
  await sql`
    with receipt as (
      select * from json_to_recordset(${json(sql, rows)})
        as r (id text, attempt int, generation int, outcome text, code text, "retryAfterMs" float8)
    )
    update merchant_events e set
      sending_by = null,
      status = case receipt.outcome when 'later' then 'pending' else receipt.outcome end,
      last_error_code = receipt.code,
      accepted_at = case receipt.outcome when 'accepted' then now() end,
      workflow_issue = case when receipt.outcome = 'later' and ${isOver(sql)} then 'automatic_delivery_ended' end,
      next_attempt_at = case when receipt.outcome = 'later' and not ${isOver(sql)} then now() + ${pause(sql)} end
    from receipt
    where e.id = receipt.id and e.attempt_count = receipt.attempt and e.attempt_generation = receipt.generation
      and (e.sending_by is not null or e.status = 'uncertain')`;
}

function isOver(sql: AnySql) {
  return sql`e.trying_since < now() - ${retryForHours} * interval '1 hour'`;
}

function pause(sql: AnySql) {
  return sql`interval '1 millisecond' * least(${retryPauseMaxMs}, greatest(${retryPauseMinMs},
    extract(epoch from now() - e.trying_since) * 1000 / 2, coalesce(receipt."retryAfterMs", 0)))`;
}

/** Pauses the deliveries of a connection whose provider could not be reached, so that one delivery finds that out, not one for each event. */
export async function pauseConnection(sql: AnySql, connectionId: string): Promise<void> {
  await sql`
    update merchant_connections set paused_until = now() + ${retryPauseMinMs} * interval '1 millisecond'
    where id = ${connectionId}`;
}

/** Fails the due events of a disconnected connection, without sending them; at most 500. Returns how many. */
export async function failDisconnected(sql: AnySql, connectionId: string): Promise<number> {
  const { count } = await sql`
    update merchant_events set status = 'failed', last_error_code = 'connection_disconnected', next_attempt_at = null
    where id in (
      select id from merchant_events
      where connection_id = ${connectionId} and status = 'pending' and sending_by is null and next_attempt_at <= now()
      order by next_attempt_at, id limit ${stepRows} for update skip locked)`;
  return count;
}

/** Moves sends whose worker is lost, or whose end is overdue, to `uncertain`, because nobody knows whether they arrived; at most 500. Returns how many. */
export async function markLostEvents(sql: AnySql): Promise<number> {
  const { count } = await sql`
    update merchant_events set status = 'uncertain', sending_by = null, last_error_code = 'worker_lost', next_attempt_at = null
    where id in (
      select id from merchant_events e
      where sending_by is not null and (
        last_attempt_at < now() - ${sendMaxMs} * interval '1 millisecond'
        or not exists (select 1 from workers w where w.id = e.sending_by))
      order by last_attempt_at limit ${stepRows} for update skip locked)`;
  return count;
}

/**
 * `POST /v1/merchant-usage-events/:id/retry`: a failed or uncertain event, or a
 * pending one whose automatic delivery has ended, is sent again. Throws 404, 409
 * `merchant_event_state`.
 */
export function retryUsageEvent(sql: AnySql, tenantId: string, id: IdOf<"merchantEvent">): Promise<UsageEvent> {
  return moved(
    sql,
    tenantId,
    id,
    () => sql<UsageEventRow[]>`
    with moved as (
      update merchant_events e set status = 'pending', ${resetAttempts(sql)}
      where id = ${id} and tenant_id = ${tenantId}
        and (status in ('failed', 'uncertain') or (status = 'pending' and workflow_issue is not null))
      returning ${eventColumns(sql)}
    ), enqueued as materialized (
      select (${addMerchantDeliverJob(sql)}).id from (select connection_id, ${tenantId}::text as tenant_id from moved) m
    )
    select moved.* from moved, enqueued`,
  );
}

/**
 * `POST /v1/merchant-usage-events/:id/release`: an unmapped event whose user is
 * bound by now is sent. The binding is one of the event's own connection, or of the
 * current one where that is the same account. Throws 404, 409 `merchant_event_state`.
 */
export function releaseUsageEvent(sql: AnySql, tenantId: string, id: IdOf<"merchantEvent">): Promise<UsageEvent> {
  return moved(
    sql,
    tenantId,
    id,
    () => sql<UsageEventRow[]>`
    with bound as materialized (
      select b.customer_id from merchant_events e
      join merchant_connections own on own.id = e.connection_id
      join merchant_connections c on c.id = own.id or (c.tenant_id = own.tenant_id and c.retired_at is null
        and (c.provider, c.environment, c.merchant_account_id) = (own.provider, own.environment, own.merchant_account_id))
      join merchant_bindings b on b.connection_id = c.id and b.user_id = e.user_id
      where e.id = ${id} and e.tenant_id = ${tenantId}
      order by c.retired_at is null desc limit 1
    ), moved as (
      update merchant_events e set status = 'pending', customer_id = bound.customer_id, ${resetAttempts(sql)}
      from bound where e.id = ${id} and e.tenant_id = ${tenantId} and e.status = 'unmapped'
      returning ${eventColumns(sql)}
    ), enqueued as materialized (
      select (${addMerchantDeliverJob(sql)}).id from (select connection_id, ${tenantId}::text as tenant_id from moved) m
    )
    select moved.* from moved, enqueued`,
  );
}

/** `POST /v1/merchant-usage-events/:id/discard`: the event is never sent. Throws 404, 409 `merchant_event_state`. */
export function discardUsageEvent(sql: AnySql, tenantId: string, id: IdOf<"merchantEvent">): Promise<UsageEvent> {
  return moved(
    sql,
    tenantId,
    id,
    () => sql<UsageEventRow[]>`
    update merchant_events e set status = 'discarded', next_attempt_at = null
    where id = ${id} and tenant_id = ${tenantId} and status in ('failed', 'unmapped', 'uncertain')
    returning ${eventColumns(sql)}`,
  );
}

function resetAttempts(sql: AnySql) {
  return sql`attempt_generation = e.attempt_generation + 1, trying_since = null, next_attempt_at = now(),
    workflow_issue = null, last_error_code = null`;
}

async function moved(
  sql: AnySql,
  tenantId: string,
  id: IdOf<"merchantEvent">,
  move: () => PromiseLike<UsageEventRow[]>,
): Promise<UsageEvent> {
  const [row] = await move();
  if (row !== undefined) return showUsageEvent(row);
  await getUsageEvent(sql, tenantId, id);
  throw new ApiError("merchant_event_state");
}

/** Returns the SQL of a delivery job's key, for a query whose rows have `connection_id`. */
export function deliverJobKey(sql: AnySql) {
  return sql`(${jobKeySql(sql, "merchant.deliver", sql`connection_id`)})`;
}

/** Returns the SQL that adds the job that delivers a connection's events, for a query whose rows have `connection_id` and `tenant_id`. At most one job of a connection waits. */
export function addMerchantDeliverJob(sql: AnySql) {
  return addJobSql(sql, "merchant.deliver", { connectionId: sql`connection_id`, tenantId: sql`tenant_id` });
}
