import type { Ctx } from "../kernel/context.ts";
import { isUnavailable } from "../kernel/database/failure.ts";
import { retryWhileUnavailable } from "../kernel/database/retry.ts";
import { updateDecidedCards } from "./approval-cards.ts";
import { type Delivery, enqueueDeliveriesAt, firstPendingDelivery } from "./deliveries.ts";
import {
  claimDelivery,
  deleteEmptyDelivery,
  failUnsentDelivery,
  recordSendOutcome,
  type SendOutcome,
} from "./delivery-states.ts";
import { followMove } from "./move.ts";
import { type OutgoingMessage, PlatformError } from "./platform.ts";
import { openConnectedChat } from "./platforms.ts";
import { approvalOf, cardText, MessageGoneError, replyParts } from "./reply.ts";
import { claimMs, type MessageReceipt, putOffMsMax, unreachableMsMax } from "./schema.ts";

/** The longest pause between two tries to reach a platform. */
const unreachablePauseMsMax = 60_000;

/**
 * The job `chat.deliver`: posts a thread's deliveries, one message after the other,
 * then shows the decisions on its cards. It claims the delivery before each message
 * and writes the receipt after it. Meanwhile no other job posts in this thread; if
 * the worker is lost, the delivery becomes ambiguous.
 */
export async function deliverThread(ctx: Ctx, workerId: string, threadId: string): Promise<void> {
  for (;;) {
    const delivery = await firstPendingDelivery(ctx.sql, threadId);
    // The job that has claimed it continues with the thread; if its worker is lost, `recoverChats` does.
    if (delivery === null || delivery.claimed) break;
    if (delivery.notBefore !== null && delivery.notBefore.getTime() > Date.now()) {
      await enqueueDeliveriesAt(ctx.sql, { id: threadId, tenantId: delivery.tenantId }, delivery.notBefore);
      break;
    }
    await sendNext(ctx, workerId, delivery);
  }
  await updateDecidedCards(ctx, threadId);
}

/** The next message of a delivery. */
interface NextMessage {
  readonly outgoing: OutgoingMessage;
  /** It is the delivery's last message. */
  readonly last: boolean;
  /** It is a card that shows its decision from the start. */
  readonly settled: boolean;
}

async function sendNext(ctx: Ctx, workerId: string, delivery: Delivery): Promise<void> {
  if (!delivery.enabled) return failUnsentDelivery(ctx.sql, delivery, "connection_disabled");
  const next = await nextMessage(ctx, delivery);
  if (typeof next === "string") return failUnsentDelivery(ctx.sql, delivery, next);
  if (next === null) return deleteEmptyDelivery(ctx.sql, delivery.id);
  const claim = await claimDelivery(ctx.sql, delivery, workerId);
  if (claim === null) return;
  const sent = await send(ctx, delivery, next);
  if (sent.kind === "ended") {
    const { status, diagnostic } = sent;
    ctx.log.info(
      { deliveryId: delivery.id, connectionId: delivery.connectionId, status, diagnostic },
      "a chat delivery ended",
    );
  }
  // The worker holds the claim for that long; writing twice changes nothing.
  await retryWhileUnavailable(() => recordSendOutcome(ctx.sql, claim, sent), {
    limitMs: claimMs,
    retryIf: isUnavailable,
  });
}

/** Returns the message to send next; null when there is nothing to post, a diagnostic when it cannot be made. */
async function nextMessage(ctx: Ctx, delivery: Delivery): Promise<NextMessage | string | null> {
  const { representation, approvalId, receipts } = delivery;
  try {
    if (approvalId !== null) {
      const approval = await approvalOf(ctx.sql, approvalId);
      if (approval === null) return "approval_gone";
      const open = approval.status === "pending";
      const text = await cardText(delivery.platform, approval);
      const outgoing = { text, representation, approvalId: open ? approvalId : null };
      return { outgoing, last: true, settled: !open };
    }
    const parts = await replyParts(ctx.sql, delivery);
    if (parts === null) return null;
    const part = parts[receipts.length];
    if (part === undefined) return "nothing_left";
    const outgoing = { text: part, representation, approvalId: null };
    return { outgoing, last: receipts.length === parts.length - 1, settled: false };
  } catch (error) {
    if (error instanceof MessageGoneError) return "message_gone";
    if (isUnavailable(error)) throw error;
    // A text that cannot be rendered now cannot be rendered later either.
    ctx.log.error({ deliveryId: delivery.id, err: error }, "a chat delivery cannot be made");
    return "internal";
  }
}

async function send(ctx: Ctx, delivery: Delivery, next: NextMessage): Promise<SendOutcome> {
  const { address, attempt, receipts } = delivery;
  try {
    const account = openConnectedChat(ctx, { ...delivery, id: delivery.connectionId });
    const messageId = await account.post(address, next.outgoing);
    const receipt: MessageReceipt = { attempt, messageId };
    return { kind: "receipt", receipts: [...receipts, receipt], last: next.last, settled: next.settled };
  } catch (error) {
    if (!(error instanceof PlatformError)) throw error;
    if (error.movedTo !== null) await followMove(ctx.sql, delivery.connectionId, address.channel, error.movedTo);
    return meaningOf(error, delivery);
  }
}

/** Returns what a failed request means for its delivery (docs/decisions/chat.md). */
function meaningOf(error: PlatformError, delivery: Delivery): SendOutcome {
  const ended = (status: "failed" | "ambiguous", diagnostic: string): SendOutcome => ({
    kind: "ended",
    status,
    diagnostic,
  });
  const sinceMs = Date.now() - delivery.attemptSince.getTime();
  switch (error.kind) {
    case "unsure":
      return ended("ambiguous", error.code);
    case "refused":
      return ended("failed", error.code);
    case "unformatted":
      return delivery.representation === "native" ? { kind: "plain" } : ended("failed", error.code);
    case "limited": {
      const waitMs = error.retryAfterMs ?? 0;
      if (sinceMs + waitMs > putOffMsMax) return ended("failed", error.code);
      return { kind: "later", notBefore: new Date(Date.now() + waitMs), tries: delivery.tries };
    }
    // Once more at once, as nothing was posted.
    case "moved":
    case "unreachable": {
      const pauseMs = Math.min(1_000 * 2 ** delivery.tries, unreachablePauseMsMax);
      if (sinceMs + pauseMs > unreachableMsMax) return ended("failed", error.code);
      const waitMs = error.kind === "moved" && delivery.tries === 0 ? 0 : pauseMs;
      return { kind: "later", notBefore: new Date(Date.now() + waitMs), tries: delivery.tries + 1 };
    }
  }
}
