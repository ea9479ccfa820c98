import type { Ctx } from "../kernel/context.ts";
import { isUnavailable } from "../kernel/database/failure.ts";
import { retryWhileUnavailable } from "../kernel/database/retry.ts";
import type { JobPayloads } from "../kernel/queue/catalogue.ts";
import { sendInSteps } from "../kernel/queue/outbox.ts";
import { openMerchantAccount } from "./connect.ts";
import { reportOf } from "./events.ts";
import { type BillingProvider, deliverTimeoutMs } from "./provider.ts";
import { type ClaimedEvent, claimDue, failDisconnected, pauseConnection, recordReceipts } from "./states.ts";
import { deleteUnneededCredential, findMerchantConnection } from "./store.ts";

/** While the database is unavailable, writing a receipt is tried for this long; then its event becomes uncertain. */
const receiptTryMs = 60_000;

/**
 * The job `merchant.deliver`: sends a connection's due events in batches, until
 * none is left or the provider cannot be reached. An event is claimed in the
 * ledger before it is sent, and its receipt ends the claim.
 */
export async function deliverEvents(
  ctx: Ctx,
  workerId: string,
  payload: JobPayloads["merchant.deliver"],
): Promise<void> {
  const { connectionId } = payload;
  await sendInSteps(ctx.sql, "merchant.deliver", payload, async () => {
    const connection = await findMerchantConnection(ctx.sql, connectionId);
    if (connection === null) return "done";
    if (!connection.retired && connection.status === "disconnected")
      return (await failDisconnected(ctx.sql, connectionId)) === 0 ? "done" : "more";
    if (connection.sealedCredential.byteLength === 0) return "done";
    const billing = openMerchantAccount(ctx, connection, deliverTimeoutMs);
    const { batchMax, eventAgeMaxMs } = billing;
    const claim = await claimDue(ctx.sql, { connectionId, workerId, limit: batchMax, ageMaxMs: eventAgeMaxMs });
    const reached = await deliverBatch(ctx, billing, claim.events);
    if (!reached) await pauseConnection(ctx.sql, connectionId);
    if (reached && claim.more) return "more";
    if (reached && connection.retired) await deleteUnneededCredential(ctx.sql, connectionId);
    return "done";
  });
}

/** Sends one batch and writes its receipts. Returns false when the provider could not be reached. */
async function deliverBatch(ctx: Ctx, billing: BillingProvider, events: readonly ClaimedEvent[]): Promise<boolean> {
  const sent = events.flatMap((event) => {
    const report = reportOf(event);
    return report === null ? [] : [{ event, report }];
  });
  if (sent.length === 0) return true;
  const receipts = await billing.deliver(sent.map(({ report }) => report));
  const claimed = sent.map(({ event }) => event);
  // A receipt is the only proof of what happened, so a short outage of the database must not lose it.
  await retryWhileUnavailable(() => recordReceipts(ctx.sql, claimed, receipts), {
    limitMs: receiptTryMs,
    retryIf: isUnavailable,
  });
  const counts = Object.groupBy(receipts, ({ outcome }) => outcome);
  const outcomes = Object.fromEntries(Object.entries(counts).map(([outcome, group]) => [outcome, group.length]));
  ctx.log.info({ connectionId: events[0]?.connectionId, ...outcomes }, "usage events sent");
  return counts.later === undefined;
}
