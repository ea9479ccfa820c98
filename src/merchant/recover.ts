import type { Ctx } from "../kernel/context.ts";
import { hasLiveJobSql } from "../kernel/queue/add-job.ts";
import { reaperActions } from "../kernel/telemetry/metrics.ts";
import { addMerchantDeliverJob, deliverJobKey, markLostEvents } from "./states.ts";

/**
 * Recovers usage events, after the reaper of turns and by the same worker. Its moves are
 * guarded, so any number may run at once.
 *
 * 1. Sends whose worker is lost become `uncertain`.
 * 2. Connections with due events and without a job that delivers them get one; that
 *    is how an event is sent again after its pause.
 */
export async function recoverUsageEvents({ sql, log }: Pick<Ctx, "sql" | "log">): Promise<void> {
  const lost = await markLostEvents(sql);
  if (lost > 0) reaperActions.inc({ action: "usage_event_uncertain" }, lost);
  if (lost > 0) log.warn({ events: lost }, "usage events whose worker was lost while sending them are uncertain");
  // One step in the index for each connection that has pending events, however many events it has.
  await sql`
    with recursive waiting as (
      (select min(connection_id) as connection_id from merchant_events where status = 'pending' and sending_by is null)
      union all
      select (select min(e.connection_id) from merchant_events e
        where e.status = 'pending' and e.sending_by is null and e.connection_id > w.connection_id)
      from waiting w where w.connection_id is not null
    )
    select (${addMerchantDeliverJob(sql)}).id
    from waiting join lateral (select c.tenant_id, c.paused_until from merchant_connections c where c.id = waiting.connection_id) c on true
    where exists (
        select 1 from merchant_events e
        where e.connection_id = waiting.connection_id and e.status = 'pending' and e.sending_by is null and e.next_attempt_at <= now())
      and (c.paused_until > now()) is not true
      and not ${hasLiveJobSql(sql, deliverJobKey(sql))}`;
}
