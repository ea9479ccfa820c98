import type { Ctx } from "../kernel/context.ts";
import type { AnySql } from "../kernel/database/client.ts";
import { hasLiveJobSql, jobKeySql } from "../kernel/queue/add-job.ts";
import { enqueueDue, outboxStepRows } from "../kernel/queue/outbox.ts";
import { reaperActions } from "../kernel/telemetry/metrics.ts";
import { markLostDeliveries } from "./delivery-states.ts";
import { addInboxJob } from "./inbox-states.ts";
import { eventsKeepHours } from "./schema.ts";

/** A message that has waited this long without a job gets one. */
const staleMs = 5_000;
/** Events that one statement of the job `chat.sweep` deletes. */
const sweepRows = 5_000;

/**
 * Recovers what a lost worker left of the chats; it is run after
 * the reaper of turns, by the same worker. Deliveries whose sender is lost become ambiguous: its worker
 * is dead, or the claim is older than any send takes. Deliveries and messages that
 * wait without a job get one.
 */
export async function recoverChats({ sql, log }: Pick<Ctx, "sql" | "log">): Promise<void> {
  const lost = await markLostDeliveries(sql);
  if (lost.length > 0) reaperActions.inc({ action: "delivery_ambiguous" }, lost.length);
  for (const deliveryId of lost) log.warn({ deliveryId }, "a chat delivery whose sender is lost is ambiguous");
  await enqueueDue(sql, "chat.deliver");
  await sql`
    with stranded as (
      select distinct d.thread_id, c.tenant_id from chat_inbox d join chat_threads th on th.id = d.thread_id
        join chat_connections c on c.id = th.connection_id
      where d.created_at < now() - ${staleMs} * interval '1 millisecond' and not ${hasLiveJobSql(sql, jobKeySql(sql, "chat.inbox", sql`d.thread_id`))}
      limit ${outboxStepRows}
    )
    select (${addInboxJob(sql)}).id from stranded`;
}

/** The job `chat.sweep`: deletes events that no platform repeats any more. */
export async function sweepChatEvents(sql: AnySql): Promise<void> {
  for (;;) {
    const { count } = await sql`
      delete from chat_events where (connection_id, key) in (
        select connection_id, key from chat_events where created_at < now() - make_interval(hours => ${eventsKeepHours})
        limit ${sweepRows})`;
    if (count < sweepRows) return;
  }
}
