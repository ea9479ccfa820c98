import type { Ctx } from "../kernel/context.ts";
import type { AnySql } from "../kernel/database/client.ts";
import { tx } from "../kernel/database/transaction.ts";
import { addJob } from "../kernel/queue/add-job.ts";
import { unregister } from "./manage.ts";
import { platforms } from "./platforms.ts";
import { chatPlatforms } from "./schema.ts";
import { findOrphanedChatConnection } from "./store.ts";

const registering = chatPlatforms.filter((name) => platforms[name].registersWebhook);

/**
 * Deletes the connections of a deleted agent or tenant, with their threads and
 * deliveries. One whose webhook this service has to remove is disabled here and
 * deleted by the job `chat.purge`, so that no platform delays the deletion.
 */
export function purgeChatConnections(sql: AnySql, owner: { agentId: string } | { tenantId: string }): Promise<void> {
  return tx(sql, async (inner) => {
    const owned = "agentId" in owner ? inner`agent_id = ${owner.agentId}` : inner`tenant_id = ${owner.tenantId}`;
    await inner`delete from chat_connections where ${owned} and platform <> all(${registering})`;
    const left = await inner<{ id: string }[]>`
      update chat_connections set enabled = false where ${owned} returning id`;
    for (const { id } of left) await addJob(inner, "chat.purge", { connectionId: id });
  });
}

/**
 * The job `chat.purge`: removes the webhook with the credentials that the row still
 * holds, then deletes the row, also when the platform cannot be reached. Does
 * nothing while the connection's agent and tenant exist.
 */
export async function purgeChatConnection(ctx: Ctx, id: string): Promise<void> {
  const connection = await findOrphanedChatConnection(ctx.sql, id);
  if (connection === null) return;
  try {
    await unregister(ctx, connection);
  } catch (error) {
    // Credentials that cannot be unsealed any more must not prevent the deletion.
    ctx.log.warn({ err: error, connectionId: id }, "a deleted connection's webhook was not taken back");
  }
  await ctx.sql`delete from chat_connections where id = ${id}`;
}
