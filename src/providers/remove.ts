import type { AnySql, Tx } from "../kernel/database/client.ts";
import { tx } from "../kernel/database/transaction.ts";
import { ApiError } from "../kernel/errors.ts";

/** An error lists at most this many agents, sessions and tasks that use the provider, each. */
const listedIdsMax = 100;

/**
 * Deletes a provider. Throws 404 `provider_not_found`; 409 `provider_in_use` while
 * an agent's current version names it; and, unless `confirmed`, 409
 * `provider_historical_use` while older versions, sessions pinned to them or tasks
 * do: `DELETE /v1/providers/:id`.
 */
export function deleteProvider(sql: AnySql, tenantId: string, id: string, confirmed: boolean): Promise<void> {
  return tx(sql, async (inner) => {
    // Waits for the transactions that are saving a reference (`lockProvider`), and blocks new ones.
    const [row] = await inner`select 1 from providers where id = ${id} and tenant_id = ${tenantId} for update`;
    if (row === undefined) throw new ApiError("provider_not_found");
    const inUse = await idsOf(inner<IdRow[]>`
      select id from agents where tenant_id = ${tenantId} and (provider_id = ${id} or ${fallsBackOn(inner, id)})
      order by id limit ${listedIdsMax}`);
    if (inUse.length > 0) throw new ApiError("provider_in_use", { details: { agentIds: inUse } });
    if (!confirmed) await refuseHistoricalUse(inner, tenantId, id);
    await inner`delete from providers where id = ${id}`;
  });
}

/** Returns the condition that a configuration names the provider as that of a fallback; a tenant has few configurations, so none is indexed by it. */
function fallsBackOn(sql: AnySql, id: string) {
  return sql`exists (select 1 from json_array_elements(config -> 'fallbackModels') f where f ->> 'providerId' = ${id})`;
}

async function refuseHistoricalUse(inner: Tx, tenantId: string, id: string): Promise<void> {
  const uses = inner`
    select agent_id, version from agent_versions where tenant_id = ${tenantId} and agent_id in (
      select id from agents where tenant_id = ${tenantId}) and (provider_id = ${id} or ${fallsBackOn(inner, id)})`;
  const agentIds = await idsOf(inner<IdRow[]>`
    select distinct agent_id as id from (${uses}) version order by id limit ${listedIdsMax}`);
  // Sessions and tasks use a provider through a version that they are pinned to.
  if (agentIds.length === 0) return;
  const sessionIds = await idsOf(inner<IdRow[]>`
    select session.id from (${uses}) version
    join sessions session on session.agent_id = version.agent_id and session.pinned_version = version.version
    where session.visible and session.deleted_at is null
    order by session.id limit ${listedIdsMax}`);
  const taskIds = await idsOf(inner<IdRow[]>`
    select task.id from (${uses}) version
    join tasks task on task.agent_id = version.agent_id and task.agent_version = version.version
    where task.deleted_at is null
    order by task.id limit ${listedIdsMax}`);
  throw new ApiError("provider_historical_use", { details: { agentIds, sessionIds, taskIds } });
}

interface IdRow {
  readonly id: string;
}

async function idsOf(rows: PromiseLike<readonly IdRow[]>): Promise<string[]> {
  return (await rows).map(({ id }) => id);
}
