import type { AnySql, Sql } from "../kernel/database/client.ts";
import { json } from "../kernel/database/client.ts";
import { newId } from "../kernel/ids.ts";
import { enqueue } from "../kernel/queue/catalogue.ts";
import type { ChatAddress, ChatPlatformName, MessageReceipt } from "./schema.ts";
import { claimMs } from "./schema.ts";

/**
 * The state machine of a delivery: every move is a guarded update.
 *
 *     pending → confirmed | failed | ambiguous;  failed, ambiguous → pending (repair)
 *
 * A pending one is *claimed* while one of its messages is being sent. A claim
 * whose worker is lost means that nobody knows whether the message was posted.
 */
export interface Delivery {
  readonly id: string;
  readonly kind: "reply" | "approval_card";
  readonly attempt: number;
  readonly representation: "native" | "text";
  readonly receipts: readonly MessageReceipt[];
  readonly sessionId: string | null;
  readonly messageId: string | null;
  readonly approvalId: string | null;
  /** The messages of a reply, as Markdown; null until they are made. */
  readonly parts: readonly string[] | null;
  readonly uptoPart: number | null;
  readonly claimed: boolean;
  readonly notBefore: Date | null;
  readonly tries: number;
  readonly attemptSince: Date;
  readonly pressId: string | null;
  readonly threadId: string;
  readonly address: ChatAddress;
  readonly connectionId: string;
  readonly platform: ChatPlatformName;
  readonly enabled: boolean;
  readonly sealedCredentials: Uint8Array;
}

function columns(sql: AnySql) {
  return sql`d.id, d.kind, d.attempt, d.representation, d.receipts, d.session_id as "sessionId", d.message_id as "messageId",
    d.approval_id as "approvalId", d.parts, d.upto_part as "uptoPart", d.claim is not null as claimed,
    d.not_before as "notBefore", d.tries, d.attempt_since as "attemptSince", d.press_id as "pressId",
    d.thread_id as "threadId", th.address, c.id as "connectionId", c.platform, c.enabled,
    c.sealed_credentials as "sealedCredentials"`;
}

/** The thread's first delivery that is not sent yet: in a thread they are posted one after the other. */
export async function firstPendingDelivery(sql: AnySql, threadId: string): Promise<Delivery | null> {
  const [row] = await sql<Delivery[]>`
    select ${columns(sql)}
    from chat_deliveries d join chat_threads th on th.id = d.thread_id join chat_connections c on c.id = d.connection_id
    where d.thread_id = ${threadId} and d.status = 'pending'
    order by d.created_at, d.id limit 1`;
  return row ?? null;
}

/** The thread's cards whose outcome is not shown yet although their approval is decided, or that were pressed. */
export function cardsToUpdate(sql: AnySql, threadId: string): Promise<Delivery[]> {
  return sql<Delivery[]>`
    select ${columns(sql)}
    from chat_deliveries d join chat_threads th on th.id = d.thread_id join chat_connections c on c.id = d.connection_id
    left join approvals a on a.id = d.approval_id
    where d.thread_id = ${threadId} and d.approval_id is not null and d.settled_at is null and d.status <> 'pending'
      and (a.status is distinct from 'pending' or d.press_id is not null)
    order by d.created_at, d.id limit 100`;
}

/** The mark that one message is being sent just now. */
export interface DeliveryClaim {
  readonly deliveryId: string;
  readonly token: string;
}

/** Marks the attempt, before anything is sent. Null when the delivery has moved on. */
export async function claimDelivery(sql: Sql, delivery: Delivery, workerId: string): Promise<DeliveryClaim | null> {
  const token = newId("request");
  const { count } = await sql`
    update chat_deliveries set claim = ${token}, claim_worker = ${workerId},
      claim_until = now() + ${claimMs} * interval '1 millisecond', updated_at = now()
    where id = ${delivery.id} and status = 'pending' and attempt = ${delivery.attempt} and claim is null
      and json_array_length(receipts) = ${delivery.receipts.length}`;
  return count === 0 ? null : { deliveryId: delivery.id, token };
}

/** What became of one message. */
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

/** Writes down what became of a claimed message and lets go of the claim. False when the claim is gone. */
export async function recordSendOutcome(sql: Sql, claim: DeliveryClaim, sent: SendOutcome): Promise<boolean> {
  const change = () => {
    switch (sent.kind) {
      case "receipt":
        return sql`receipts = ${json(sql, sent.receipts)}, status = ${sent.last ? "confirmed" : "pending"}, diagnostic = null,
          settled_at = case when ${sent.settled} then now() end`;
      case "ended":
        return sql`status = ${sent.status}, diagnostic = ${sent.diagnostic}`;
      case "later":
        return sql`not_before = ${sent.notBefore}, tries = ${sent.tries}`;
      case "plain":
        return sql`representation = 'text'`;
    }
  };
  const { count } = await sql`
    update chat_deliveries set ${change()}, claim = null, claim_worker = null, claim_until = null, updated_at = now()
    where id = ${claim.deliveryId} and claim = ${claim.token} and status = 'pending'`;
  return count > 0;
}

/** Ends a delivery that nothing is sent of. */
export async function failUnsentDelivery(sql: Sql, delivery: Delivery, diagnostic: string): Promise<void> {
  await sql`
    update chat_deliveries set status = 'failed', diagnostic = ${diagnostic}, updated_at = now()
    where id = ${delivery.id} and status = 'pending' and attempt = ${delivery.attempt} and claim is null`;
}

/** Notes that a card shows its outcome, or need not; and that its press was acknowledged. */
export async function recordCardUpdate(sql: Sql, id: string, settled: boolean): Promise<void> {
  await sql`
    update chat_deliveries set settled_at = case when ${settled} then now() end, press_id = null where id = ${id}`;
}

/** Adds the job that posts a thread's deliveries, for `runAt`. */
export function enqueueDeliveriesAt(sql: Sql, threadId: string, runAt: Date): Promise<void> {
  return enqueue(sql, "chat.deliver", { threadId }, { key: `chat.deliver:${threadId}`, runAt });
}
