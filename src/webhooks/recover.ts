import type { Ctx } from "../kernel/context.ts";
import { enqueueDue } from "../kernel/queue/outbox.ts";
import { reaperActions } from "../kernel/telemetry/metrics.ts";
import { releaseLostSends } from "./delivery-states.ts";

/**
 * Recovers webhooks' deliveries, after the reaper of turns and by the same worker: sends whose worker is lost are made
 * again, and webhooks with due deliveries get the job that sends them. What is due to a webhook that is deleted gets one
 * too, which deletes it. Its moves are guarded, so any number may run at once.
 */
export async function recoverWebhooks({ sql, log }: Pick<Ctx, "sql" | "log">): Promise<void> {
  const lost = await releaseLostSends(sql);
  if (lost > 0) reaperActions.inc({ action: "webhook_delivery_released" }, lost);
  if (lost > 0) log.warn({ deliveries: lost }, "webhooks' deliveries whose worker was lost are sent again");
  const isClosed = sql`exists (
      select 1 from webhooks w where w.id = due.webhook_id and (not w.enabled or w.paused_until > now()))`;
  await enqueueDue(sql, "webhook.deliver", sql`not ${isClosed}`);
}
