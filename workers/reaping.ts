import { recoverChats } from "../src/chat/recover.ts";
import { noteGauges } from "../src/installation/gauges.ts";
import type { Ctx } from "../src/kernel/context.ts";
import type { IdOf } from "../src/kernel/ids.ts";
import { reapEveryMs } from "../src/kernel/limits.ts";
import { endReaperLease, takeReaperLease } from "../src/kernel/queue/lease.ts";
import { recoverUsageEvents } from "../src/merchant/recover.ts";
import { Reaper } from "../src/sessions/recover/reap.ts";
import { recoverTasks } from "../src/tasks/recover.ts";
import { recoverWebhooks } from "../src/webhooks/recover.ts";

type Recover = (ctx: Ctx) => Promise<void>;

/**
 * Recovered in every second scan each, one after the other: what they look for has waited for seconds already.
 * They are seven statements, which find nothing for hours.
 */
const alternating: readonly (readonly Recover[])[] = [[recoverTasks, recoverChats], [recoverUsageEvents]];

/** How often the worker that recovers for all also writes down how the installation is. */
const noteEveryMs = 60_000;

/**
 * Recovers what lost workers left every `reapEveryMs`, one scan at a time, while this worker
 * is the one that does so; else asks as often whether it is. Returns a function that stops
 * that, waits for the scan under way, and lets another worker go on.
 */
export function startReaping(ctx: Ctx, workerId: IdOf<"worker">, frozenMs: number): () => Promise<void> {
  const reaper = new Reaper(ctx, frozenMs);
  let leads = false;
  let scans = 0;
  let notedMinute = minuteNow();
  const scan = async () => {
    const led = leads;
    leads = await takeReaperLease(ctx.sql, workerId);
    if (leads !== led) ctx.log.debug({ workerId, leads }, "this worker recovers what others lose");
    if (!leads) return reaper.standBy();
    await reaper.scan();
    const isNewMinute = minuteNow() !== notedMinute;
    notedMinute = minuteNow();
    const notes: readonly Recover[] = isNewMinute ? [({ sql }) => noteGauges(sql)] : [];
    for (const recover of [recoverWebhooks, ...(alternating[scans++ % alternating.length] ?? []), ...notes]) {
      await recover(ctx);
      // Else a Postgres that is slow, but there, would seem to have been away between each two scans, and nothing be recovered.
      reaper.standBy();
    }
  };
  let scanning: Promise<void> | null = null;
  const scanOnce = () => {
    scanning ??= scan()
      .catch((error) => ctx.log.warn({ err: error }, "the reaper could not scan"))
      .finally(() => {
        scanning = null;
      });
  };
  scanOnce();
  const timer = setInterval(scanOnce, reapEveryMs);
  return async () => {
    clearInterval(timer);
    await scanning;
    if (leads) await endReaperLease(ctx.sql, workerId).catch(() => {});
  };
}

function minuteNow(): number {
  return Math.floor(Date.now() / noteEveryMs);
}
