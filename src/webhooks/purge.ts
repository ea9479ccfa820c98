import type { Ctx } from "../kernel/context.ts";
import type { AnySql, Tx } from "../kernel/database/client.ts";
import { eraseRowsMax, Pace, paced } from "../kernel/database/pace.ts";
import { ApiError } from "../kernel/errors.ts";
import { eraseResponses } from "../kernel/http/erase-keys.ts";
import { addJob } from "../kernel/queue/add-job.ts";
import type { JobPayloads } from "../kernel/queue/catalogue.ts";

/** Deletes a tenant's webhook: nothing more is sent to it, and the job `webhook.purge` erases its deliveries. Throws 404. */
export async function deleteWebhook(inner: Tx, tenantId: string, id: string): Promise<void> {
  const { count } = await inner`delete from webhooks where id = ${id} and tenant_id = ${tenantId}`;
  if (count === 0) throw new ApiError("not_found");
  await addJob(inner, "webhook.purge", { webhookId: id, tenantId });
}

/** Deletes all webhooks of a tenant that has ended, in the same way. */
export async function purgeWebhooks(sql: AnySql, tenantId: string): Promise<void> {
  const gone = await sql<{ id: string }[]>`delete from webhooks where tenant_id = ${tenantId} returning id`;
  for (const { id } of gone) await addJob(sql, "webhook.purge", { webhookId: id, tenantId });
}

/**
 * The job `webhook.purge`: erases what a deleted webhook leaves behind, in bounded statements and jobs.
 * Does nothing while the webhook exists. Safe to repeat.
 */
export function purgeWebhook({ sql }: Pick<Ctx, "sql">, payload: JobPayloads["webhook.purge"]): Promise<void> {
  const { webhookId } = payload;
  return paced(
    async (pace) => {
      const [kept] = await sql`select 1 from webhooks where id = ${webhookId}`;
      if (kept !== undefined) return;
      await eraseResponses(sql, [webhookId], pace);
      await eraseDeliveriesOf(sql, webhookId, pace);
    },
    () => addJob(sql, "webhook.purge", payload, { keySuffix: ":on" }),
  );
}

/** Deletes the deliveries of a webhook that is deleted, in steps. */
export async function eraseDeliveriesOf(sql: AnySql, webhookId: string, pace: Pace = new Pace()): Promise<void> {
  for (;;) {
    pace.step();
    const { count } = await sql`
      with gone as materialized (
        select id from webhook_deliveries where webhook_id = ${webhookId} limit ${eraseRowsMax}
      )
      delete from webhook_deliveries d using gone where d.id = gone.id`;
    if (count < eraseRowsMax) return;
  }
}
