import { purgeChatConnections } from "../chat/purge.ts";
import type { Ctx } from "../kernel/context.ts";
import type { AnySql } from "../kernel/database/client.ts";
import { tx } from "../kernel/database/transaction.ts";
import { addJob } from "../kernel/queue/add-job.ts";
import { retireTenantConnections } from "../merchant/store.ts";
import { requestCancelOfWaiting } from "../sessions/state/turn.ts";

/** A tenant whose turns still run is checked again after this long. */
const checkAgainMs = 1_000;

/**
 * Begins to end a tenant: no new turns from now on. It ends at once when none runs,
 * else by the job `tenant.purge`:
 *
 *     active ──▶ deleting (`deleting_at`) ──its last turn has ended──▶ ended (`deleted_at`)
 *
 * Returns `missing` when there is no tenant of this id.
 */
export function deleteTenant(sql: AnySql, tenantId: string): Promise<"missing" | "ended" | "deleting"> {
  return tx(sql, async (inner) => {
    const { count } = await inner`
      update tenants set deleting_at = coalesce(deleting_at, now()) where id = ${tenantId} and deleted_at is null`;
    if (count === 0) return "missing";
    // Nobody can decide a turn that waits for a person any more; the reaper ends and meters it.
    await requestCancelOfWaiting(inner, tenantId);
    if (await endTenant(inner, tenantId)) return "ended";
    await checkAgain(inner, tenantId);
    return "deleting";
  });
}

/** The job `tenant.purge`: ends a tenant once its last turn has ended, and repeats itself until then. */
export function purgeTenant(ctx: Ctx, tenantId: string): Promise<void> {
  return tx(ctx.sql, async (inner) => {
    const [tenant] = await inner`
      select 1 from tenants where id = ${tenantId} and deleting_at is not null and deleted_at is null`;
    if (tenant === undefined || (await endTenant(inner, tenantId))) return;
    await checkAgain(inner, tenantId);
  });
}

async function checkAgain(sql: AnySql, tenantId: string): Promise<void> {
  const runAt = new Date(Date.now() + checkAgainMs);
  await addJob(sql, "tenant.purge", { tenantId }, { runAt });
}

/**
 * Ends a tenant unless a turn of it is queued or runs: its credentials are 401 from
 * then on, and its secrets and pictures are deleted; those of a connection that still
 * has something to send are kept until it is sent. A turn that waits for a person
 * does not delay it, because nobody can decide any more. Returns whether it ended.
 */
async function endTenant(sql: AnySql, tenantId: string): Promise<boolean> {
  const { count } = await sql`
    update tenants set deleted_at = now()
    where id = ${tenantId} and deleting_at is not null and deleted_at is null and not exists (
      select 1 from turns where tenant_id = ${tenantId} and status in ('queued', 'running'))`;
  if (count === 0) return false;
  await sql`delete from api_keys where tenant_id = ${tenantId}`;
  await sql`delete from idempotency_keys where tenant_id = ${tenantId}`;
  await sql`update providers set sealed_key = '', key_fragment = '' where tenant_id = ${tenantId}`;
  await sql`
    update mcp_connections set sealed_credentials = null, sealed_tokens = null, credential_fragment = '', status = 'needs_auth'
    where tenant_id = ${tenantId}`;
  // A signed URL of a picture needs no credential.
  await sql`
    update agents set avatar = null, avatar_media_type = null, avatar_id = null
    where tenant_id = ${tenantId} and avatar_id is not null`;
  await retireTenantConnections(sql, tenantId);
  await purgeChatConnections(sql, { tenantId });
  return true;
}
