import type { AnySql, Tx } from "../kernel/database/client.ts";
import { ApiError, invalid } from "../kernel/errors.ts";
import { lockProvider } from "../providers/store.ts";
import { providerMissing } from "./confirmations.ts";
import type { EffectiveState } from "./effective.ts";

/**
 * Checks that every resource a change newly refers to is the tenant's, and keeps
 * it from being deleted until the transaction ends. `exclusive`: the workspace
 * must not serve another agent. Throws 404 `provider_not_found`,
 * `workspace_not_found` (A: 400), 400 `agent_mcp_connection_not_found`, 409
 * `workspace_in_use`.
 */
export async function lockReferences(
  inner: Tx,
  tenantId: string,
  agentId: string,
  before: EffectiveState | null,
  after: EffectiveState,
  exclusive: boolean,
): Promise<void> {
  const { providerId, mcpConnectionIds, skills } = after.config;
  if (providerId !== null && providerId !== before?.config.providerId) {
    if ((await lockProvider(inner, tenantId, providerId)) === null) throw providerMissing();
  }
  await lockFallbackProviders(inner, tenantId, before, after);
  if (after.workspaceId !== null && after.workspaceId !== before?.workspaceId)
    await lockWorkspace(inner, tenantId, agentId, after.workspaceId, exclusive);
  const attached = new Set(before?.config.mcpConnectionIds);
  await checkMcpConnections(
    inner,
    tenantId,
    mcpConnectionIds.filter((id) => !attached.has(id)),
    mcpConnectionIds,
  );
  const had = new Set(before?.config.skills);
  await checkSkills(
    inner,
    tenantId,
    skills.filter((id) => !had.has(id)),
    skills,
  );
}

/** Locked in the order of their ids: two changes that name the same providers do not wait for each other in a circle. */
async function lockFallbackProviders(
  inner: Tx,
  tenantId: string,
  before: EffectiveState | null,
  after: EffectiveState,
): Promise<void> {
  const idsOf = (state: EffectiveState | null) =>
    state?.config.fallbackModels.map(({ providerId }) => providerId) ?? [];
  const [had, named] = [new Set(idsOf(before)), idsOf(after)];
  for (const id of [...new Set(named)].filter((id) => !had.has(id)).sort())
    if ((await lockProvider(inner, tenantId, id)) === null)
      throw providerMissing(`/fallbackModels/${named.indexOf(id)}/providerId`);
}

async function lockWorkspace(
  inner: Tx,
  tenantId: string,
  agentId: string,
  id: string,
  exclusive: boolean,
): Promise<void> {
  // This lock makes exclusive attachments of one workspace wait for each other.
  const [workspace] = await inner`
    select 1 from workspaces where id = ${id} and tenant_id = ${tenantId} and status = 'ready' for no key update`;
  if (workspace === undefined) {
    throw new ApiError("workspace_missing_for_agent", {
      details: { issues: [{ path: "/workspaceId", message: "names no workspace" }] },
    });
  }
  if (!exclusive) return;
  const [other] = await inner`select 1 from agents where workspace_id = ${id} and id <> ${agentId} limit 1`;
  if (other !== undefined) throw new ApiError("workspace_in_use");
}

/**
 * Checks that MCP connections are the tenant's; inside a transaction they stay
 * until it ends. `all` is the list as sent, for the pointer in the error.
 * Throws 400 `agent_mcp_connection_not_found`.
 */
export async function checkMcpConnections(
  sql: AnySql,
  tenantId: string,
  ids: readonly string[],
  all: readonly string[],
): Promise<void> {
  if (ids.length === 0) return;
  const rows = await sql<{ id: string }[]>`
    select id from mcp_connections where tenant_id = ${tenantId} and id = any(${ids as string[]}) for key share`;
  const missing = firstMissing(ids, rows);
  if (missing === undefined) return;
  const path = `/mcpConnectionIds/${all.indexOf(missing)}`;
  throw new ApiError("agent_mcp_connection_not_found", {
    details: { issues: [{ path, message: "names no MCP connection" }] },
  });
}

async function checkSkills(sql: AnySql, tenantId: string, ids: readonly string[], all: readonly string[]) {
  if (ids.length === 0) return;
  const rows = await sql<{ id: string }[]>`
    select id from library_skills where id = any(${ids as string[]}) and (tenant_id = ${tenantId} or tenant_id is null)
    order by id for key share`;
  const missing = firstMissing(ids, rows);
  if (missing !== undefined) throw invalid(`/skills/${all.indexOf(missing)}`, "names no skill of the library");
}

function firstMissing(ids: readonly string[], rows: readonly { id: string }[]): string | undefined {
  const found = new Set(rows.map((row) => row.id));
  return ids.find((id) => !found.has(id));
}
