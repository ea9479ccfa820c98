import { sleep } from "../kernel/async/wait.ts";
import type { Ctx } from "../kernel/context.ts";
import type { Sql } from "../kernel/database/client.ts";
import { isUnavailable } from "../kernel/database/failure.ts";
import { retryWhileUnavailable } from "../kernel/database/retry.ts";
import type { JobPayloads } from "../kernel/queue/catalogue.ts";
import { outboxStepRows, sendInSteps } from "../kernel/queue/outbox.ts";
import { webhookAttempts } from "../kernel/telemetry/metrics.ts";
import { claimDeliveries, endPauses, recordAttempts, type SentDelivery } from "./delivery-states.ts";
import { eraseDeliveriesOf } from "./purge.ts";
import { sendsAtOnceMax } from "./schema.ts";
import { sendDelivery } from "./send.ts";
import { findWebhook } from "./store.ts";

/**
 * After it has sent what was due a job looks once more, so much later, in milliseconds: where events come thick and
 * fast, it sends those too, and their statements add no job.
 */
const lingerMs = 100;
/** With each success of a webhook that is back, so many times more of what waits for it is made due. */
const comebackGrowth = 4;
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
  let comeback: Comeback | null = null;
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
    const { disabled, recoveredAt } = await retryWhileUnavailable(
      () => recordAttempts(sql, webhook.id, workerId, sent),
      {
        limitMs: recordTryMs,
        retryIf: isUnavailable,
      },
    );
    count(sent);
    const { id: webhookId, tenantId } = webhook;
    if (disabled) log.warn({ tenantId, webhookId }, "a webhook that only failed for 72 h was disabled");
    // Recovery adds a job once the pause is over.
    if (!sent.some(isDelivered)) return "done";
    if (recoveredAt !== null) comeback = { webhookId, recoveredAt, limit: sendsAtOnceMax };
    if (comeback !== null) comeback = await callMore(sql, comeback);
    return "more";
  });
}

/** A webhook that is back after failures, and how many of what waits for it are made due after the next success. */
type Comeback = Parameters<typeof endPauses>[1];

/** Makes more of what waits due, and the more the longer its receiver takes it: what it refuses by itself waits on. Returns null when nothing is left. */
async function callMore(sql: Sql, comeback: Comeback): Promise<Comeback | null> {
  const called = await endPauses(sql, comeback);
  if (called < comeback.limit) return null;
  return { ...comeback, limit: Math.min(comeback.limit * comebackGrowth, outboxStepRows) };
}

function isDelivered({ attempt }: SentDelivery): boolean {
  return attempt.error === null;
}

function count(sent: readonly SentDelivery[]): void {
  for (const { attempt } of sent) webhookAttempts.inc({ result: attempt.error ?? "delivered" });
}
