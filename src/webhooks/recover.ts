import type { Ctx } from "../kernel/context.ts";
import { hasLiveJobSql } from "../kernel/queue/add-job.ts";
import { reaperActions } from "../kernel/telemetry/metrics.ts";
import { releaseLostSends } from "./delivery-states.ts";
import { addWebhookJob, webhookJobKey } from "./events.ts";

/**
 * Recovers webhooks' deliveries, after the reaper of turns and by the same worker. Its moves are guarded,
 * so any number may run at once.
 *
 * 1. Sends whose worker is lost are made again.
 * 2. Webhooks with due deliveries and without a job that sends them get one; that is how
 *    a delivery is sent again after its pause. What is due to a webhook that is deleted gets one
 *    too, which deletes it.
 */
export async function recoverWebhooks({ sql, log }: Pick<Ctx, "sql" | "log">): Promise<void> {
  const lost = await releaseLostSends(sql);
  if (lost > 0) reaperActions.inc({ action: "webhook_delivery_released" }, lost);
  if (lost > 0) log.warn({ deliveries: lost }, "webhooks' deliveries whose worker was lost are sent again");
  // One step in the index for each webhook that has pending deliveries, however many it has.
  await sql`
    with recursive waiting as (
      (select min(webhook_id) as webhook_id from webhook_deliveries where status = 'pending' and sending_by is null)
      union all
      select (select min(d.webhook_id) from webhook_deliveries d
        where d.status = 'pending' and d.sending_by is null and d.webhook_id > w.webhook_id)
      from waiting w where w.webhook_id is not null
    ), due as (
      select d.webhook_id, d.tenant_id from waiting cross join lateral (
        select d.webhook_id, d.tenant_id from webhook_deliveries d
        where d.webhook_id = waiting.webhook_id and d.status = 'pending' and d.sending_by is null and d.next_attempt_at <= now()
        order by d.next_attempt_at, d.id limit 1
      ) d left join webhooks w on w.id = d.webhook_id
      where w.id is null or (w.enabled and (w.paused_until > now()) is not true)
    )
    select (${addWebhookJob(sql)}).id from due where not ${hasLiveJobSql(sql, webhookJobKey(sql))}`;
}
