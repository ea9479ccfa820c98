import type { Ctx } from "../kernel/context.ts";
import { isUnavailable } from "../kernel/database/failure.ts";
import { updateDecidedCards } from "./approval-cards.ts";
import { type Delivery, enqueueDeliveriesAt, firstPendingDelivery } from "./deliveries.ts";
import {
  claimDelivery,
  type DeliveryClaim,
  deleteEmptyDelivery,
  failUnsentDelivery,
  recordSendOutcome,
  type SendOutcome,
} from "./delivery-states.ts";
import { type OutgoingMessage, PlatformError } from "./platform.ts";
import { openConnectedChat } from "./platforms.ts";
import { approvalOf, cardText, MessageGoneError, replyParts } from "./reply.ts";
import { claimMs, type MessageReceipt, putOffMsMax, unreachableMsMax } from "./schema.ts";

/** The longest pause between two tries to reach a platform. */
const unreachablePauseMsMax = 60_000;

/**
 * The job `chat.deliver`: posts what a thread has to be told, one message after
 * the other, then shows the outcomes of decided cards. Before each message the
 * attempt is marked, after it the receipt is written; in between nobody else
 * posts in this thread, and a worker that is lost leaves the delivery ambiguous.
 */
export async function deliverThread(ctx: Ctx, workerId: string, threadId: string): Promise<void> {
  for (;;) {
    const delivery = await firstPendingDelivery(ctx.sql, threadId);
    // Whoever has claimed it goes on with the thread; if that worker is lost, the look-out does.
    if (delivery === null || delivery.claimed) break;
    if (delivery.notBefore !== null && delivery.notBefore.getTime() > Date.now()) {
      await enqueueDeliveriesAt(ctx.sql, threadId, delivery.notBefore);
      break;
    }
    await sendNext(ctx, workerId, delivery);
  }
  await updateDecidedCards(ctx, threadId);
}

/** The next message of a delivery, and whether it is the last one. */
interface NextMessage {
  readonly outgoing: OutgoingMessage;
  readonly last: boolean;
  /** A card that shows its outcome already. */
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
  await record(ctx, claim, sent);
}

/** What is to be sent next; null when there is nothing to say, a diagnostic when it cannot be said. */
async function nextMessage(ctx: Ctx, delivery: Delivery): Promise<NextMessage | string | null> {
  const { representation, approvalId, receipts } = delivery;
  try {
    if (approvalId !== null) {
      const approval = await approvalOf(ctx.sql, approvalId);
      if (approval === null) return "approval_gone";
      const open = approval.status === "pending";
      const outgoing = { text: cardText(approval), representation, approvalId: open ? approvalId : null };
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
    // A text that cannot be shown now cannot be shown later either.
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
    return meaningOf(error, delivery);
  }
}

/** What a failed call means for its delivery (`decisions.md`, "Chat"). */
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
    case "unreachable": {
      const pauseMs = Math.min(1_000 * 2 ** delivery.tries, unreachablePauseMsMax);
      if (sinceMs + pauseMs > unreachableMsMax) return ended("failed", error.code);
      return { kind: "later", notBefore: new Date(Date.now() + pauseMs), tries: delivery.tries + 1 };
    }
  }
}

/** Writes down what became of a message; a database that went away is asked again until the claim runs out. */
async function record(ctx: Ctx, claim: DeliveryClaim, sent: SendOutcome): Promise<void> {
  const expiresAt = Date.now() + claimMs;
  for (let pauseMs = 50; ; pauseMs = Math.min(pauseMs * 2, 2_000)) {
    try {
      await recordSendOutcome(ctx.sql, claim, sent);
      return;
    } catch (error) {
      if (!isUnavailable(error) || Date.now() + pauseMs > expiresAt) throw error;
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  }
}
