import { sleep } from "../kernel/async/wait.ts";
import type { Ctx } from "../kernel/context.ts";
import { isUnavailable } from "../kernel/database/failure.ts";
import { retryWhileUnavailable } from "../kernel/database/retry.ts";
import type { JobPayloads } from "../kernel/queue/catalogue.ts";
import { sendInSteps } from "../kernel/queue/outbox.ts";
import { webhookAttempts } from "../kernel/telemetry/metrics.ts";
import { claimDeliveries, recordAttempts, type SentDelivery } from "./delivery-states.ts";
import { eraseDeliveriesOf } from "./purge.ts";
import { sendsAtOnceMax } from "./schema.ts";
import { sendDelivery } from "./send.ts";
import { findWebhook } from "./store.ts";

/**
 * After it has sent what was due a job looks once more, so much later, in milliseconds: where events come thick and
 * fast, it sends those too, and their statements add no job.
 */
const lingerMs = 100;
/** While the database is unavailable, writing what came of an attempt is tried for this long; then it is made again. */
const recordTryMs = 30_000;

/**
 * The job `webhook.deliver`: sends what is due to one webhook, several at once, until nothing is left
 * or nothing is delivered. A delivery is claimed before it is sent, and
 * its result ends the claim. No order is kept.
 */
export async function deliverWebhook(ctx: Ctx, workerId: string, payload: JobPayloads["webhook.deliver"]) {
  const { sql, log } = ctx;
  let lingers = false;
  await sendInSteps(sql, "webhook.deliver", payload, async () => {
    const webhook = await findWebhook(sql, payload.webhookId);
    if (webhook === null) {
      await eraseDeliveriesOf(sql, payload.webhookId);
      return "done";
    }
    const claimed = await claimDeliveries(sql, { webhookId: webhook.id, workerId, limit: sendsAtOnceMax });
    if (claimed.length === 0) {
      if (!lingers) return "done";
      lingers = false;
      await sleep(lingerMs);
      return "more";
    }
    lingers = true;
    const sent = await Promise.all(claimed.map((delivery) => sendDelivery(ctx, webhook, delivery)));
    const { disabled } = await retryWhileUnavailable(() => recordAttempts(sql, webhook.id, workerId, sent), {
      limitMs: recordTryMs,
      retryIf: isUnavailable,
    });
    count(sent);
    const { id: webhookId, tenantId } = webhook;
    if (disabled) log.warn({ tenantId, webhookId }, "a webhook that only failed for 72 h was disabled");
    // Recovery adds a job once the pause is over.
    if (!sent.some(isDelivered)) return "done";
    return "more";
  });
}

function isDelivered({ attempt }: SentDelivery): boolean {
  return attempt.error === null;
}

function count(sent: readonly SentDelivery[]): void {
  for (const { attempt } of sent) webhookAttempts.inc({ result: attempt.error ?? "delivered" });
}
