import type { Sql } from "../kernel/database/client.ts";
import { eraseRowsMax } from "../kernel/database/pace.ts";
import { expireDeliveries } from "./delivery-states.ts";
import { deliveriesKeptDays, deliveriesPerWebhookMax } from "./schema.ts";

/** Webhooks that one statement looks at. */
const webhooksPerScan = 100;
/** A sweep begins no further step after this long; the next sweep goes on. */
const sweepMs = 30_000;

/**
 * The job `webhook.sweep`: ends what waits too long for a disabled webhook, and deletes old deliveries, those
 * beyond what a webhook may have, and secrets whose time is over.
 */
export async function sweepWebhooks(sql: Sql): Promise<void> {
  const goesUntil = Date.now() + sweepMs;
  const repeat = async (step: () => Promise<number>) => {
    while (Date.now() < goesUntil && (await step()) > 0);
  };
  await sql`
    update webhooks set sealed_previous_secret = null, previous_secret_until = null where previous_secret_until <= now()`;
  await repeat(() => expireDeliveries(sql));
  await repeat(async () => {
    const { count } = await sql`
      with old as materialized (
        select id from webhook_deliveries where finished_at < now() - make_interval(days => ${deliveriesKeptDays})
        order by finished_at limit ${eraseRowsMax}
      )
      delete from webhook_deliveries d using old where d.id = old.id`;
    return count;
  });
  for (const { id, oldest } of await fullWebhooks(sql, goesUntil)) await repeat(() => deleteBefore(sql, id, oldest));
}

/** A webhook with more deliveries than it may have, and the moment of the oldest that it keeps. */
interface FullWebhook {
  readonly id: string;
  readonly oldest: Date;
}

async function fullWebhooks(sql: Sql, goesUntil: number): Promise<FullWebhook[]> {
  const full: FullWebhook[] = [];
  for (let after = ""; Date.now() < goesUntil; ) {
    const page = await sql<{ id: string; oldest: Date | null }[]>`
      select w.id, (
        select d.occurred_at from webhook_deliveries d where d.webhook_id = w.id
        order by d.occurred_at desc, d.id desc offset ${deliveriesPerWebhookMax - 1} limit 1) as oldest
      from webhooks w where w.id > ${after} order by w.id limit ${webhooksPerScan}`;
    for (const { id, oldest } of page) if (oldest !== null) full.push({ id, oldest });
    const last = page.at(-1);
    if (last === undefined || page.length < webhooksPerScan) break;
    after = last.id;
  }
  return full;
}

/** Deletes deliveries of a webhook that are older than the oldest that it keeps, the oldest first. */
async function deleteBefore(sql: Sql, id: string, oldest: Date): Promise<number> {
  const { count } = await sql`
    with old as materialized (
      select id from webhook_deliveries where webhook_id = ${id} and occurred_at < ${oldest}
      order by occurred_at, id limit ${eraseRowsMax}
    )
    delete from webhook_deliveries d using old where d.id = old.id`;
  return count;
}
