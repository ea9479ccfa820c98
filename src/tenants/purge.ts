import { removeAgent } from "../agents/store.ts";
import { purgeBudgets } from "../budgets/store.ts";
import { purgeChatConnections } from "../chat/purge.ts";
import type { Ctx } from "../kernel/context.ts";
import type { AnySql, Sql } from "../kernel/database/client.ts";
import { type Pace, paced } from "../kernel/database/pace.ts";
import { tx } from "../kernel/database/transaction.ts";
import { eraseTenantKeys } from "../kernel/http/erase-keys.ts";
import { addJob } from "../kernel/queue/add-job.ts";
import { retireTenantConnections } from "../merchant/store.ts";
import { requestCancelOfWaiting } from "../sessions/state/cancel-request.ts";
import { purgeLibrarySkills } from "../skills/purge.ts";
import { purgeWebhooks } from "../webhooks/purge.ts";
import { purgeWorkspaces } from "../workspaces/remove.ts";

/** A tenant whose turns still run is checked again after this long. */
const checkAgainMs = 1_000;
/** What an ended tenant had is erased at once, and once more after this long. */
const lateEraseAfterMs = 30_000;

/**
 * Begins to end a tenant: no new turns from now on. It ends at once when none runs,
 * else by the job `tenant.purge`:
 *
 *     active ──▶ deleting (`deleting_at`) ──its last turn has ended──▶ ended (`deleted_at`) ──▶ erased
 *
 * Returns `missing` when there is no tenant of this id.
 */
export function deleteTenant(sql: AnySql, tenantId: string): Promise<"missing" | "ended" | "deleting"> {
  return tx(sql, async (inner) => {
    const { count } = await inner`
      update tenants set deleting_at = coalesce(deleting_at, now()) where id = ${tenantId} and deleted_at is null`;
    if (count === 0) return "missing";
    // A turn that waits for a person can be decided no more; the reaper ends and meters it.
    await requestCancelOfWaiting(inner, tenantId);
    if (await endTenant(inner, tenantId)) return "ended";
    await checkAgain(inner, tenantId);
    return "deleting";
  });
}

/**
 * The job `tenant.purge`: ends a tenant once its last turn has ended, and repeats itself
 * until then; the job of a tenant that has ended erases what it had. Safe to repeat.
 */
export async function purgeTenant(ctx: Ctx, tenantId: string): Promise<void> {
  const { sql } = ctx;
  const [tenant] = await sql<{ ended: boolean }[]>`
    select deleted_at is not null as ended from tenants where id = ${tenantId} and deleting_at is not null`;
  if (tenant === undefined) return;
  if (tenant.ended) {
    const goOn = () => addJob(sql, "tenant.purge", { tenantId }, { keySuffix: ":on" });
    return paced((pace) => eraseTenant(sql, tenantId, pace), goOn);
  }
  await tx(sql, async (inner) => {
    if (!(await endTenant(inner, tenantId))) await checkAgain(inner, tenantId);
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
 * does not delay it, because it can be decided no more. Returns whether it ended.
 */
async function endTenant(sql: AnySql, tenantId: string): Promise<boolean> {
  const { count } = await sql`
    update tenants set deleted_at = now()
    where id = ${tenantId} and deleting_at is not null and deleted_at is null and not exists (
      select 1 from turns where tenant_id = ${tenantId} and status in ('enqueued', 'queued', 'running'))`;
  if (count === 0) return false;
  await sql`delete from api_keys where tenant_id = ${tenantId}`;
  await sql`delete from console_sessions where tenant_id = ${tenantId}`;
  await sql`delete from console_links where tenant_id = ${tenantId}`;
  await sql`delete from members where tenant_id = ${tenantId}`;
  await sql`delete from tenant_groups where tenant_id = ${tenantId}`;
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
  await purgeWebhooks(sql, tenantId);
  await addJob(sql, "tenant.purge", { tenantId }, { keySuffix: ":erase" });
  // A process remembers credentials for some seconds, so a late request may still write something.
  const runAt = new Date(Date.now() + lateEraseAfterMs);
  await addJob(sql, "tenant.purge", { tenantId }, { runAt, keySuffix: ":late" });
  return true;
}

/**
 * Erases what an ended tenant had: its agents, skills and workspaces by the jobs of their
 * own deletions. What stays is usage, billing and the audit, and the tenant's row without
 * its name.
 */
async function eraseTenant(sql: Sql, tenantId: string, pace: Pace): Promise<void> {
  const agents = await sql<{ id: string }[]>`select id from agents where tenant_id = ${tenantId}`;
  for (const { id } of agents) {
    pace.step();
    await tx(sql, (inner) => removeAgent(inner, tenantId, id));
  }
  await tx(sql, (inner) => purgeWorkspaces(inner, tenantId));
  await tx(sql, async (inner) => {
    await purgeLibrarySkills(inner, tenantId);
    // Each of these is at most a hundred rows.
    await inner`delete from prompts where tenant_id = ${tenantId}`;
    await inner`delete from mcp_connections where tenant_id = ${tenantId}`;
    await inner`delete from providers where tenant_id = ${tenantId}`;
    await purgeWebhooks(inner, tenantId);
    await purgeBudgets(inner, tenantId);
    await inner`delete from turn_quota_days where tenant_id = ${tenantId}`;
    await inner`update tenants set name = '' where id = ${tenantId}`;
  });
  await eraseTenantKeys(sql, tenantId, pace);
}
