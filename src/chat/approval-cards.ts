import type { Ctx } from "../kernel/context.ts";
import { cardsToUpdate, type Delivery, enqueueDeliveriesAt } from "./deliveries.ts";
import { recordSettledCard, takePress } from "./delivery-states.ts";
import { type ChatAccount, PlatformError } from "./platform.ts";
import { openConnectedChat } from "./platforms.ts";
import { approvalOf, cardText } from "./reply.ts";
import { putOffMsMax } from "./schema.ts";

/** After this long a card that could not be changed is tried again, unless the platform says when. */
const retryPauseMs = 5_000;

/**
 * Shows the decision on the cards of a thread whose approvals are decided, by
 * whichever operation, and removes their buttons. Changing a card twice does no
 * harm, so this claims nothing: what fails is done again later. A press is acknowledged once, or not at all.
 */
export async function updateDecidedCards(ctx: Ctx, threadId: string): Promise<void> {
  let retryMs: number | null = null;
  const cards = await cardsToUpdate(ctx.sql, threadId);
  for (const card of cards) {
    if (await takePress(ctx.sql, card)) await acknowledge(ctx, card);
    const waitMs = card.enabled ? await showDecision(ctx, card) : null;
    if (waitMs !== null) retryMs = Math.max(retryMs ?? 0, waitMs);
  }
  const [first] = cards;
  if (retryMs === null || first === undefined) return;
  await enqueueDeliveriesAt(ctx.sql, { id: threadId, tenantId: first.tenantId }, new Date(Date.now() + retryMs));
}

/** Shows one card's decision. Returns the milliseconds until the next try when it failed; null when there is nothing left to do. */
async function showDecision(ctx: Ctx, card: Delivery): Promise<number | null> {
  const approval = card.approvalId === null ? null : await approvalOf(ctx.sql, card.approvalId);
  const posted = card.receipts.at(-1);
  if (approval?.status === "pending") return null;
  const failure =
    approval === null || posted === undefined
      ? null
      : await edit(ctx, card, posted.messageId, await cardText(card.platform, approval));
  // In a conversation that moved, what was posted before cannot be changed.
  const isLost = failure?.kind === "refused" || failure?.kind === "moved";
  const waitMs = failure === null || isLost ? null : (failure.retryAfterMs ?? retryPauseMs);
  const late = Date.now() - card.attemptSince.getTime() > putOffMsMax;
  if (waitMs !== null && !late) return waitMs;
  await recordSettledCard(ctx.sql, card.id);
  return null;
}

async function edit(ctx: Ctx, card: Delivery, messageId: string, text: string): Promise<PlatformError | null> {
  const edited = async (representation: Delivery["representation"]) => {
    await accountOf(ctx, card).edit(card.address, messageId, { text, representation, approvalId: null });
  };
  try {
    await edited(card.representation).catch((error) => {
      if (error instanceof PlatformError && error.kind === "unformatted") return edited("text");
      throw error;
    });
    return null;
  } catch (error) {
    if (!(error instanceof PlatformError)) throw error;
    ctx.log.info({ deliveryId: card.id, code: error.code }, "a card's outcome was not shown");
    return error;
  }
}

/** Acknowledges a press; without that the button appears to hang. The press counts even when this fails. */
async function acknowledge(ctx: Ctx, card: Delivery): Promise<void> {
  try {
    await accountOf(ctx, card).acknowledge(card.address, card);
  } catch (error) {
    if (!(error instanceof PlatformError)) throw error;
    ctx.log.debug({ deliveryId: card.id, code: error.code }, "a press was not acknowledged");
  }
}

function accountOf(ctx: Ctx, card: Delivery): ChatAccount {
  return openConnectedChat(ctx, { ...card, id: card.connectionId });
}
