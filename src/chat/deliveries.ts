import type { AnySql } from "../kernel/database/client.ts";
import type { IdOf } from "../kernel/ids.ts";
import { addJob } from "../kernel/queue/add-job.ts";
import type { ChatAddress, ChatPlatformName, MessageReceipt } from "./schema.ts";

/** A delivery with what sending it needs of its thread and connection. Its moves are in `delivery-states.ts`. */
export interface Delivery {
  readonly id: IdOf<"chatDelivery">;
  readonly kind: "reply" | "approval_card";
  readonly attempt: number;
  readonly representation: "native" | "text";
  readonly receipts: readonly MessageReceipt[];
  readonly sessionId: IdOf<"session"> | null;
  readonly messageId: string | null;
  readonly approvalId: IdOf<"approval"> | null;
  /** The messages that a reply is posted as, in Markdown; null until they are stored. */
  readonly parts: readonly string[] | null;
  /** A reply tells the parts of its message before this index; null when its messages were stored from the start. */
  readonly uptoPart: number | null;
  /** One of its messages is being sent now. */
  readonly claimed: boolean;
  /** It is not sent before this time. */
  readonly notBefore: Date | null;
  /** How often the platform could not be reached in this attempt. */
  readonly tries: number;
  readonly attemptSince: Date;
  /** A press on the card's button that is not acknowledged yet. */
  readonly pressId: string | null;
  readonly refusedPerson: string | null;
  readonly threadId: IdOf<"chatThread">;
  readonly tenantId: string;
  readonly address: ChatAddress;
  readonly connectionId: IdOf<"chatConnection">;
  readonly platform: ChatPlatformName;
  readonly enabled: boolean;
  readonly sealedCredentials: Uint8Array;
}

function columns(sql: AnySql) {
  return sql`d.id, d.kind, d.attempt, d.representation, d.receipts, d.session_id, d.message_id,
    d.approval_id, d.parts, d.upto_part, d.claim is not null as claimed,
    d.not_before, d.tries, d.attempt_since, d.press_id, d.refused_person,
    d.thread_id, d.tenant_id, th.address, c.id as connection_id, c.platform, c.enabled,
    c.sealed_credentials`;
}

/** The thread's first pending delivery, or null: a thread's deliveries are posted one after the other. */
export async function firstPendingDelivery(sql: AnySql, threadId: string): Promise<Delivery | null> {
  const [row] = await sql<Delivery[]>`
    select ${columns(sql)}
    from chat_deliveries d join chat_threads th on th.id = d.thread_id join chat_connections c on c.id = d.connection_id
    where d.thread_id = ${threadId} and d.status = 'pending'
    order by d.created_at, d.id limit 1`;
  return row ?? null;
}

/** The thread's posted cards that do not show yet that their approval is decided, or whose press is not acknowledged; at most 100. */
export function cardsToUpdate(sql: AnySql, threadId: string): Promise<Delivery[]> {
  return sql<Delivery[]>`
    select ${columns(sql)}
    from chat_deliveries d join chat_threads th on th.id = d.thread_id join chat_connections c on c.id = d.connection_id
    left join approvals a on a.id = d.approval_id
    where d.thread_id = ${threadId} and d.approval_id is not null and d.settled_at is null and d.status <> 'pending'
      and (a.status is distinct from 'pending' or d.press_id is not null or d.refused_person is not null)
    order by d.created_at, d.id limit 100`;
}

/** Adds the job that posts a thread's deliveries, for `runAt` or for now. */
export function enqueueDeliveriesAt(
  sql: AnySql,
  thread: { readonly id: string; readonly tenantId: string },
  runAt?: Date,
): Promise<void> {
  return addJob(
    sql,
    "chat.deliver",
    { threadId: thread.id, tenantId: thread.tenantId },
    runAt === undefined ? {} : { runAt },
  );
}
