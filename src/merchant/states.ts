import type postgres from "postgres";
import { type AnySql, json, type Sql } from "../kernel/database/client.ts";
import { ApiError } from "../kernel/errors.ts";
import type { IdOf } from "../kernel/ids.ts";
import { addSendJobSql, dueSql, growingPauseSql, lostSendsSql, outboxStepRows } from "../kernel/queue/outbox.ts";
import { eventColumns, getUsageEvent, showUsageEvent, type UsageEvent, type UsageEventRow } from "./events.ts";
import type { UsageReceipt } from "./provider.ts";

/**
 * The state machine of a usage event (`merchant_events`): every move is a guarded
 * update, and zero rows means that another process moved the event first. The end
 * of a turn inserts an event (`after-turn.ts`) as `pending`, `unmapped` when its end
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
  const isOld = sql`coalesce(e.occurred_at < now() - ${ageMaxMs}::float8 * interval '1 millisecond', false)`;
  const isPaused = sql`exists (select 1 from merchant_connections where id = ${connectionId} and paused_until > now())`;
  const places = sql`case when ${isPaused} then 0 else ${limit}::int end`;
  const rows = await sql<(ClaimedEvent & { due: number })[]>`
    with /* merchant.claim */ due as materialized (${dueSql(sql, "merchant.deliver", connectionId, places)}), expired as (
      update merchant_events e set status = 'expired', last_error_code = 'too_old', next_attempt_at = null
      from due where e.id = due.id and ${isOld}
    ), claimed as (
      update merchant_events e set sending_by = ${workerId}, attempt_count = e.attempt_count + 1,
        last_attempt_at = now(), trying_since = coalesce(e.trying_since, now())
      from due where e.id = due.id and not ${isOld} and e.customer_id is not null
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
  const isOver = sql`e.trying_since < now() - ${retryForHours} * interval '1 hour'`;
  const pause = growingPauseSql(sql, {
    since: sql`e.trying_since`,
    share: 0.5,
    asked: sql`coalesce(receipt."retryAfterMs", 0)`,
    minMs: retryPauseMinMs,
    maxMs: retryPauseMaxMs,
  });
  await sql`
    with /* merchant.record */ receipt as (
      select * from json_to_recordset(${json(sql, rows)})
        as r (id text, attempt int, generation int, outcome text, code text, "retryAfterMs" float8)
    )
    update merchant_events e set
      sending_by = null,
      status = case receipt.outcome when 'later' then 'pending' else receipt.outcome end,
      last_error_code = receipt.code,
      accepted_at = case receipt.outcome when 'accepted' then now() end,
      workflow_issue = case when receipt.outcome = 'later' and ${isOver} then 'automatic_delivery_ended' end,
      next_attempt_at = case when receipt.outcome = 'later' and not ${isOver} then now() + ${pause} end
    from receipt
    where e.id = receipt.id and e.attempt_count = receipt.attempt and e.attempt_generation = receipt.generation
      and (e.sending_by is not null or e.status = 'uncertain')`;
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
    where id in (${dueSql(sql, "merchant.deliver", connectionId, sql`${outboxStepRows}`)})`;
  return count;
}

/** Moves sends whose worker is lost, or whose end is overdue, to `uncertain`, because nobody knows whether they arrived; at most 500. Returns how many. */
export async function markLostEvents(sql: AnySql): Promise<number> {
  const { count } = await sql`
    update /* merchant.lost */ merchant_events set status = 'uncertain', sending_by = null, last_error_code = 'worker_lost', next_attempt_at = null
    where id in (${lostSendsSql(sql, "merchant.deliver")})`;
  return count;
}

/**
 * `POST /v1/merchant-usage-events/:id/retry`: a failed or uncertain event, or a
 * pending one whose automatic delivery has ended, is sent again. Throws 404, 409
 * `merchant_event_state`.
 */
export function retryUsageEvent(sql: AnySql, tenantId: string, id: IdOf<"merchantEvent">): Promise<UsageEvent> {
  const isOpen = sql`(e.status in ('failed', 'uncertain') or (e.status = 'pending' and e.workflow_issue is not null))`;
  return moved(sql, tenantId, id, sql`status = 'pending', ${resetAttempts(sql)}`, isOpen, { sends: true });
}

/**
 * `POST /v1/merchant-usage-events/:id/release`: an unmapped event whose user is
 * bound by now is sent. The binding is one of the event's own connection, or of the
 * current one where that is the same account. Throws 404, 409 `merchant_event_state`.
 */
export function releaseUsageEvent(sql: AnySql, tenantId: string, id: IdOf<"merchantEvent">): Promise<UsageEvent> {
  const customer = sql`(
      select b.customer_id from merchant_connections own
      join merchant_connections c on c.id = own.id or (c.tenant_id = own.tenant_id and c.retired_at is null
        and (c.provider, c.environment, c.merchant_account_id) = (own.provider, own.environment, own.merchant_account_id))
      join merchant_bindings b on b.connection_id = c.id and b.user_id = e.user_id
      where own.id = e.connection_id
      order by c.retired_at is null desc limit 1)`;
  const change = sql`status = 'pending', customer_id = ${customer}, ${resetAttempts(sql)}`;
  return moved(sql, tenantId, id, change, sql`e.status = 'unmapped' and ${customer} is not null`, { sends: true });
}

/** `POST /v1/merchant-usage-events/:id/discard`: the event is never sent. Throws 404, 409 `merchant_event_state`. */
export function discardUsageEvent(sql: AnySql, tenantId: string, id: IdOf<"merchantEvent">): Promise<UsageEvent> {
  const change = sql`status = 'discarded', next_attempt_at = null`;
  return moved(sql, tenantId, id, change, sql`e.status in ('failed', 'unmapped', 'uncertain')`, { sends: false });
}

function resetAttempts(sql: AnySql) {
  return sql`attempt_generation = e.attempt_generation + 1, trying_since = null, next_attempt_at = now(),
    workflow_issue = null, last_error_code = null`;
}

/** Changes an event that is in one of the states that this move leaves; with `sends` in one statement with the job that sends it. */
async function moved(
  sql: AnySql,
  tenantId: string,
  id: IdOf<"merchantEvent">,
  change: postgres.Fragment,
  isLeft: postgres.Fragment,
  { sends }: { readonly sends: boolean },
): Promise<UsageEvent> {
  const [row] = await sql<UsageEventRow[]>`
    with moved as (
      update merchant_events e set ${change}
      where e.id = ${id} and e.tenant_id = ${tenantId} and ${isLeft} returning ${eventColumns(sql)}
    ), enqueued as materialized (
      select (${addSendJobSql(sql, "merchant.deliver")}).id
      from (select connection_id, ${tenantId}::text as tenant_id from moved where ${sends}) sent
    )
    select moved.*, (select count(*) from enqueued) as jobs from moved`;
  if (row !== undefined) return showUsageEvent(row);
  await getUsageEvent(sql, tenantId, id);
  throw new ApiError("merchant_event_state");
}
