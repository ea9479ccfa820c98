import type { Ctx } from "../kernel/context.ts";
import { enqueueDue } from "../kernel/queue/outbox.ts";
import { reaperActions } from "../kernel/telemetry/metrics.ts";
import { markLostEvents } from "./states.ts";

/**
 * Recovers usage events, after the reaper of turns and by the same worker: sends whose worker is lost become `uncertain`,
 * and connections with due events get the job that delivers them. Its moves are guarded, so any number may run at once.
 */
export async function recoverUsageEvents({ sql, log }: Pick<Ctx, "sql" | "log">): Promise<void> {
  const lost = await markLostEvents(sql);
  if (lost > 0) reaperActions.inc({ action: "usage_event_uncertain" }, lost);
  if (lost > 0) log.warn({ events: lost }, "usage events whose worker was lost while sending them are uncertain");
  const isOpen = sql`exists (
      select 1 from merchant_connections c where c.id = due.connection_id and (c.paused_until > now()) is not true)`;
  await enqueueDue(sql, "merchant.deliver", isOpen);
}
