import { purgeChatConnections } from "../chat/purge.ts";
import type { Ctx } from "../kernel/context.ts";
import { type AnySql, tx } from "../kernel/database/client.ts";
import { enqueue } from "../kernel/queue/catalogue.ts";
import { retireTenantConnections } from "../merchant/store.ts";

/** A tenant whose turns still run is looked at again after this long. */
const lookAgainMs = 1_000;

/**
 * Begins to end a tenant: no new turns from now on. Ends it at once when none runs, else leaves that to the job
 * `tenant.purge`. Answers `missing` when there is no tenant of this id.
 */
export function deleteTenant(sql: AnySql, tenantId: string): Promise<"missing" | "ended" | "deleting"> {
  return tx(sql, async (inner) => {
    const { count } = await inner`
      update tenants set deleting_at = coalesce(deleting_at, now()) where id = ${tenantId} and deleted_at is null`;
    if (count === 0) return "missing";
    // Nobody can answer a turn that waits for a person any more; the reaper ends and meters it.
    await inner`update turns set cancel_requested_at = coalesce(cancel_requested_at, now()) where tenant_id = ${tenantId} and status = 'waiting'`;
    if (await endTenant(inner, tenantId)) return "ended";
    await lookAgain(inner, tenantId);
    return "deleting";
  });
}

/** The job `tenant.purge`: ends a tenant once its last turn has, and comes again until then. */
export function purgeTenant(ctx: Ctx, tenantId: string): Promise<void> {
  return tx(ctx.sql, async (inner) => {
    const [tenant] = await inner`
      select 1 from tenants where id = ${tenantId} and deleting_at is not null and deleted_at is null`;
    if (tenant === undefined || (await endTenant(inner, tenantId))) return;
    await lookAgain(inner, tenantId);
  });
}

async function lookAgain(sql: AnySql, tenantId: string): Promise<void> {
  const runAt = new Date(Date.now() + lookAgainMs);
  await enqueue(sql, "tenant.purge", { tenantId }, { key: `tenant.purge:${tenantId}`, runAt });
}

/**
 * Ends a tenant unless a turn of it is queued or runs: its credentials are 401 from then on, and every secret and
 * picture it left here is gone, once what a connection still has to tell the other side is told. A turn that waits for a person does not hold it up, for nobody can answer any more.
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
  // Whoever holds a signed URL needs no credential to read a picture.
  await sql`
    update agents set avatar = null, avatar_media_type = null, avatar_id = null
    where tenant_id = ${tenantId} and avatar_id is not null`;
  await retireTenantConnections(sql, tenantId);
  await purgeChatConnections(sql, { tenantId });
  return true;
}
