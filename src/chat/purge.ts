import type { Ctx } from "../kernel/context.ts";
import type { AnySql } from "../kernel/database/client.ts";
import { eraseInSteps, type Pace, paced, type SizedRow } from "../kernel/database/pace.ts";
import { tx } from "../kernel/database/transaction.ts";
import { eraseResponses } from "../kernel/http/erase-keys.ts";
import { addJob } from "../kernel/queue/add-job.ts";
import type { JobPayloads } from "../kernel/queue/catalogue.ts";
import { unregister } from "./manage.ts";
import { platforms } from "./platforms.ts";
import { chatPlatforms } from "./schema.ts";
import { findOrphanedChatConnection } from "./store.ts";

const registering = chatPlatforms.filter((name) => platforms[name].registersWebhook);

/**
 * Deletes the connections of a deleted agent or tenant: each is disabled at once, and the job
 * `chat.purge` erases it. One whose webhook this service has to remove keeps its bot until
 * that job has done so, so that no platform delays the deletion.
 */
export function purgeChatConnections(sql: AnySql, owner: { agentId: string } | { tenantId: string }): Promise<void> {
  return tx(sql, async (inner) => {
    const owned = "agentId" in owner ? inner`agent_id = ${owner.agentId}` : inner`tenant_id = ${owner.tenantId}`;
    const gone = await inner<{ id: string; tenantId: string }[]>`
      update chat_connections set enabled = false,
        deleted_at = case when platform = any(${registering}) then deleted_at else coalesce(deleted_at, now()) end
      where ${owned} returning id, tenant_id`;
    for (const { id, tenantId } of gone) await addJob(inner, "chat.purge", { connectionId: id, tenantId });
  });
}

/**
 * The job `chat.purge`: removes the webhook with the credentials that the row still
 * holds, also when the platform cannot be reached, then erases what the connection holds, and
 * at last its row. Does nothing while the connection, its agent and its tenant exist. Safe to repeat.
 */
export async function purgeChatConnection(ctx: Ctx, payload: JobPayloads["chat.purge"]): Promise<void> {
  const { connectionId: id } = payload;
  const connection = await findOrphanedChatConnection(ctx.sql, id);
  if (connection === null) return;
  if (connection.deletedAt === null) {
    try {
      await unregister(ctx, connection);
    } catch (error) {
      // Credentials that cannot be unsealed any more must not prevent the deletion.
      ctx.log.warn({ err: error, connectionId: id }, "a deleted connection's webhook was not taken back");
    }
    // From now on its bot may be connected anew, and that connection's webhook is left alone.
    await ctx.sql`update chat_connections set deleted_at = now(), enabled = false where id = ${id}`;
  }
  await paced(
    (pace) => eraseConnection(ctx, id, pace),
    () => addJob(ctx.sql, "chat.purge", payload, { keySuffix: ":on" }),
  );
}

async function eraseConnection({ sql }: Pick<Ctx, "sql">, id: string, pace: Pace): Promise<void> {
  await eraseResponses(sql, [id], pace);
  type Keyed = SizedRow & { key: string };
  const keysOf = (rows: readonly Keyed[]) => rows.map(({ key }) => key);
  await eraseInSteps<Keyed>(
    pace,
    (rows) => sql<Keyed[]>`
      select id as key, coalesce(pg_column_size(parts), 0) as bytes from chat_deliveries where connection_id = ${id} limit ${rows}`,
    (rows) => sql`delete from chat_deliveries where id = any(${keysOf(rows)})`,
  );
  await eraseInSteps<Keyed>(
    pace,
    (rows) => sql<Keyed[]>`
      select i.id::text as key, pg_column_size(i.text) as bytes
      from chat_threads th join chat_inbox i on i.thread_id = th.id where th.connection_id = ${id} limit ${rows}`,
    (rows) => sql`delete from chat_inbox where id = any(${keysOf(rows)}::bigint[])`,
  );
  await eraseInSteps<Keyed>(
    pace,
    (rows) => sql<Keyed[]>`select id as key, 0 as bytes from chat_threads where connection_id = ${id} limit ${rows}`,
    (rows) => sql`delete from chat_threads where id = any(${keysOf(rows)})`,
  );
  await eraseInSteps<Keyed>(
    pace,
    (rows) => sql<Keyed[]>`select key, 0 as bytes from chat_events where connection_id = ${id} limit ${rows}`,
    (rows) => sql`delete from chat_events where connection_id = ${id} and key = any(${keysOf(rows)})`,
  );
  // What came in meanwhile goes with the row.
  await sql`delete from chat_connections where id = ${id}`;
}
