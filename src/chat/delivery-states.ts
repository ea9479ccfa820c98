import type postgres from "postgres";
import { type AnySql, json, type Sql, type Tx } from "../kernel/database/client.ts";
import { type IdOf, newId } from "../kernel/ids.ts";
import { addSendJobSql, lostSendsSql, waitsSql } from "../kernel/queue/outbox.ts";
import { tellWebhooks } from "../webhooks/events.ts";
import { type Delivery, enqueueDeliveriesAt } from "./deliveries.ts";
import { claimMs, type MessageReceipt } from "./schema.ts";

/**
 * The state machine of a delivery (`chat_deliveries`): every move is a guarded
 * update, and zero rows means that another process moved the delivery first.
 *
 *     the end of a claim (`after-turn.ts`), a refused message
 *                  │ insert
 *                  ▼
 *         ┌──── pending ────▶ failed (nothing was sent), deleted (nothing to post)
 *         │      ▲    ▲
 *   claim │      │    └──repair── failed, ambiguous
 *         ▼      │
 *       claimed ─┘ further messages follow, or this one is tried again
 *         │
 *         └──▶ confirmed | failed | ambiguous
 *
 * A claimed delivery is a pending one with the mark `claim`: one of its messages
 * is being sent. A claim whose worker is lost leads to `ambiguous`, because
 * nobody knows whether the message was posted.
 *
 * Three fields change beside the status: `parts`, stored once, and dropped once all is posted; and of a card
 * `press_id`, a press to be acknowledged (with `refused_person`, who may not press
 * it), and `settled_at`, since when it shows the decision.
 */

/** A worker's hold on a delivery while it sends one message. */
export interface DeliveryClaim {
  readonly deliveryId: IdOf<"chatDelivery">;
  readonly token: string;
}

/** pending → claimed, before anything is sent. Null when the delivery has moved on. */
export async function claimDelivery(sql: Sql, delivery: Delivery, workerId: string): Promise<DeliveryClaim | null> {
  const token = newId("request");
  const { count } = await sql`
    update /* chat.claim */ chat_deliveries set claim = ${token}, claim_worker = ${workerId},
      claim_until = now() + ${claimMs} * interval '1 millisecond', updated_at = now()
    where id = ${delivery.id} and ${waitsSql(sql, "chat.deliver")} and attempt = ${delivery.attempt}
      and json_array_length(receipts) = ${delivery.receipts.length}`;
  return count === 0 ? null : { deliveryId: delivery.id, token };
}

/** What became of one message: it was posted; its delivery ended; it is tried again later; or again as plain text. */
export type SendOutcome =
  | {
      readonly kind: "receipt";
      readonly receipts: readonly MessageReceipt[];
      readonly last: boolean;
      readonly settled: boolean;
    }
  | { readonly kind: "ended"; readonly status: "failed" | "ambiguous"; readonly diagnostic: string }
  | { readonly kind: "later"; readonly notBefore: Date; readonly tries: number }
  | { readonly kind: "plain" };

/** claimed → pending or an end, as the outcome says; releases the claim. False when the claim is gone. */
export async function recordSendOutcome(sql: Sql, claim: DeliveryClaim, outcome: SendOutcome): Promise<boolean> {
  const change = () => {
    switch (outcome.kind) {
      case "receipt":
        return sql`receipts = ${json(sql, outcome.receipts)}, status = ${outcome.last ? "confirmed" : "pending"}, diagnostic = null,
          settled_at = case when ${outcome.settled} then now() end ${outcome.last ? sql`, parts = null` : sql``}`;
      case "ended":
        return sql`status = ${outcome.status}, diagnostic = ${outcome.diagnostic}`;
      case "later":
        return sql`not_before = ${outcome.notBefore}, tries = ${outcome.tries}`;
      case "plain":
        return sql`representation = 'text'`;
    }
  };
  const update = sql`
    update /* chat.record */ chat_deliveries set ${change()}, claim = null, claim_worker = null, claim_until = null, updated_at = now()
    where id = ${claim.deliveryId} and claim = ${claim.token} and status = 'pending'`;
  if (outcome.kind === "ended") return (await failDeliveries(sql, update)).length > 0;
  return (await sql`${update}`).count > 0;
}

/** pending → failed, when nothing can be sent. */
export async function failUnsentDelivery(sql: Sql, delivery: Delivery, diagnostic: string): Promise<void> {
  await failDeliveries(
    sql,
    sql`
    update chat_deliveries set status = 'failed', diagnostic = ${diagnostic}, updated_at = now()
    where id = ${delivery.id} and ${waitsSql(sql, "chat.deliver")} and attempt = ${delivery.attempt}`,
  );
}

/** Deletes a pending delivery that has nothing to post. */
export async function deleteEmptyDelivery(sql: Sql, id: IdOf<"chatDelivery">): Promise<void> {
  await sql`delete from chat_deliveries where id = ${id} and ${waitsSql(sql, "chat.deliver")}`;
}

/**
 * claimed → ambiguous, for claims whose worker is not among the living any more,
 * and for claims older than any send. Moves at most 500 and returns their ids.
 */
export function markLostDeliveries(sql: AnySql): Promise<string[]> {
  return failDeliveries(
    sql,
    sql`
    update chat_deliveries set status = 'ambiguous', diagnostic = 'sender_lost', claim = null, claim_worker = null,
      claim_until = null, updated_at = now()
    where id in (${lostSendsSql(sql, "chat.deliver")})`,
  );
}

/**
 * Runs an update that leaves deliveries as `failed` or `ambiguous`, for a person to repair, and
 * tells webhooks of it in the same statement. Returns their ids.
 */
async function failDeliveries(sql: AnySql, update: postgres.Fragment): Promise<string[]> {
  const told = tellWebhooks(sql, [
    {
      type: "delivery.failed",
      from: sql`gone d`,
      tenantId: sql`d.tenant_id`,
      ids: { deliveryId: sql`d.id`, connectionId: sql`d.connection_id`, sessionId: sql`d.session_id` },
      agentId: sql`(select c.agent_id from chat_connections c where c.id = d.connection_id)`,
      status: sql`d.status`,
    },
  ]);
  const rows = await sql<{ id: IdOf<"chatDelivery"> }[]>`
    with gone as (${update} returning *), ${told}
    select id, (select count(*) from webhook_enqueued) as jobs from gone`;
  return rows.map(({ id }) => id);
}

/**
 * failed, ambiguous → pending: a new attempt that posts what has no receipt yet,
 * with its job. Returns the row as the operation shows it. The caller holds the
 * row's lock and has checked its status.
 */
export async function repairLockedDelivery(
  inner: Tx,
  id: IdOf<"chatDelivery">,
  credentialVersion: number,
): Promise<object> {
  const [row] = await inner<object[]>`
    with repaired as (
      update chat_deliveries set status = 'pending', attempt = attempt + 1, diagnostic = null, not_before = null, tries = 0,
        attempt_since = now(), settled_at = null, credential_version = ${credentialVersion}, updated_at = now()
      where id = ${id} returning *
    )
    select r.id, r.session_id, th.key as thread_id, r.connection_id, r.kind, r.status,
      r.attempt, (${addSendJobSql(inner, "chat.deliver")}).id as job
    from repaired r join chat_threads th on th.id = r.thread_id`;
  const { job, ...delivery } = row as { job: unknown };
  return delivery;
}

/** What a delivery belongs to. */
export interface DeliveryThread {
  readonly threadId: IdOf<"chatThread">;
  readonly connectionId: IdOf<"chatConnection">;
  readonly tenantId: IdOf<"tenant">;
  readonly credentialVersion: number;
  readonly sessionId: IdOf<"session">;
  /** The turn's message. */
  readonly messageId: IdOf<"message">;
}

/** What a turn has for its chat. */
export interface NewDelivery {
  readonly id: IdOf<"chatDelivery">;
  readonly kind: "reply" | "approval_card";
  readonly approvalId: IdOf<"approval"> | null;
  /** Its words where they are not those of the message. */
  readonly text: string | null;
  /** It has the parts of the message up to this one; null where it has none. */
  readonly uptoPart: number | null;
}

/** Inserts what a turn has for its chat as pending deliveries, 1 µs apart, with the job that posts them. Those that are there already stay as they are. */
export async function insertDeliveries(
  sql: AnySql,
  thread: DeliveryThread,
  deliveries: readonly NewDelivery[],
): Promise<void> {
  if (deliveries.length === 0) return;
  const { threadId, connectionId, tenantId, credentialVersion, sessionId, messageId } = thread;
  const rows = deliveries.map(({ text, ...delivery }) => ({ ...delivery, parts: text === null ? null : [text] }));
  await sql`
    with inserted as (
      insert into chat_deliveries (id, tenant_id, connection_id, thread_id, kind, credential_version, session_id, message_id, approval_id,
        parts, upto_part, created_at)
      select d.id, ${tenantId}, ${connectionId}, ${threadId}, d.kind, ${credentialVersion}, ${sessionId}, ${messageId}, d."approvalId",
        d.parts, d."uptoPart", now() + (d.place - 1) * interval '1 microsecond'
      from rows from (json_to_recordset(${json(sql, rows)}) as (id text, kind text, "approvalId" text, parts json, "uptoPart" int))
        with ordinality as d (id, kind, "approvalId", parts, "uptoPart", place)
      on conflict (id) do nothing
      returning thread_id, tenant_id
    )
    select (${addSendJobSql(sql, "chat.deliver")}).id from (select distinct thread_id, tenant_id from inserted) due`;
}

/** What a reply that no turn wrote belongs to. */
export interface ReplyTarget {
  readonly threadId: IdOf<"chatThread">;
  readonly connectionId: IdOf<"chatConnection">;
  readonly tenantId: IdOf<"tenant">;
  readonly credentialVersion: number;
  readonly sessionId: IdOf<"session"> | null;
}

/** Inserts a pending reply of one message that no turn wrote, with the job that posts it. */
export async function insertNotice(inner: Tx, target: ReplyTarget, text: string): Promise<void> {
  const { threadId, connectionId, tenantId, credentialVersion, sessionId } = target;
  await inner`
    with inserted as (
      insert into chat_deliveries (id, tenant_id, connection_id, thread_id, kind, credential_version, session_id, parts)
      values (${newId("chatDelivery")}, ${tenantId}, ${connectionId}, ${threadId}, 'reply', ${credentialVersion}, ${sessionId},
        ${json(inner, [text])})
      returning thread_id, tenant_id
    )
    select (${addSendJobSql(inner, "chat.deliver")}).id from inserted`;
}

/** Stores the messages that a reply is posted as, unless they are stored already. */
export async function storeParts(sql: AnySql, id: IdOf<"chatDelivery">, parts: readonly string[]): Promise<void> {
  await sql`update chat_deliveries set parts = ${json(sql, parts)} where id = ${id} and parts is null`;
}

/** A press on a card's button, as the platform reports it. */
export interface CardPress {
  readonly connectionId: IdOf<"chatConnection">;
  readonly approvalId: string;
  readonly channel: string;
  /** What is to be acknowledged; null: nothing. */
  readonly pressId: string | null;
  /** Who may not press it, and did; null: somebody who may. */
  readonly refusedPerson: string | null;
}

/**
 * Notes a press on a card that this connection posted into this channel, and adds
 * the job that acknowledges it. Returns the card's session; null when there is no such card.
 */
export async function recordPress(inner: Tx, press: CardPress): Promise<string | null> {
  const [card] = await inner<{ sessionId: string; threadId: string; tenantId: string }[]>`
    update chat_deliveries d set press_id = coalesce(${press.pressId}, press_id), refused_person = ${press.refusedPerson}
    from chat_threads th
    where d.approval_id = ${press.approvalId} and d.connection_id = ${press.connectionId} and th.id = d.thread_id
      and th.address ->> 'channel' = ${press.channel}
    returning d.session_id, d.thread_id, d.tenant_id`;
  if (card === undefined) return null;
  await enqueueDeliveriesAt(inner, { id: card.threadId, tenantId: card.tenantId });
  return card.sessionId;
}

/** Takes a press that is to be acknowledged off its card. False when another job has taken it, or there was another press meanwhile. */
export async function takePress(
  sql: Sql,
  { id, pressId, refusedPerson }: Pick<Delivery, "id" | "pressId" | "refusedPerson">,
): Promise<boolean> {
  if (pressId === null && refusedPerson === null) return false;
  const { count } = await sql`
    update chat_deliveries set press_id = null, refused_person = null
    where id = ${id} and press_id is not distinct from ${pressId} and refused_person is not distinct from ${refusedPerson}`;
  return count > 0;
}

/** Notes that a card shows its decision, or is not to be changed any more. */
export async function recordSettledCard(sql: Sql, id: IdOf<"chatDelivery">): Promise<void> {
  await sql`update chat_deliveries set settled_at = now() where id = ${id}`;
}
