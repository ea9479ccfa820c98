import type { AnySql } from "../kernel/database/client.ts";
import type { IdOf } from "../kernel/ids.ts";
import type { ProviderRow } from "../providers/store.ts";
import type { AgentConfig } from "./schema.ts";

/** All that a turn needs of its agent. */
export interface LoadedAgent {
  readonly id: IdOf<"agent">;
  readonly tenantId: string;
  readonly status: "active" | "disabled";
  readonly managed: boolean;
  /** Not versioned: always the agent's current one. */
  readonly workspaceId: IdOf<"workspace"> | null;
  /** The version asked for, or the current one. */
  readonly version: number;
  /** Null when the agent has no such version. */
  readonly config: AgentConfig | null;
  readonly provider: ProviderRow | null;
  /** The configuration names a provider that was deleted. */
  readonly providerMissing: boolean;
  /** Whether the agent has its own skills, and whether it remembers anything at all. */
  readonly hasSkills: boolean;
  readonly hasMemories: boolean;
}

/** The row that the query of `agentOfTurn` returns. */
export interface LoadedAgentRow {
  /** Null where no agent was found beside a row that was. */
  aId: IdOf<"agent"> | null;
  aTenantId: string;
  aStatus: LoadedAgent["status"];
  aManaged: boolean;
  aWorkspaceId: IdOf<"workspace"> | null;
  aVersion: number;
  aConfig: AgentConfig | null;
  hasSkills: boolean;
  hasMemories: boolean;
  providerNamed: string | null;
  pId: IdOf<"provider"> | null;
  pName: string;
  pType: ProviderRow["providerType"];
  pBaseUrl: string | null;
  pSealedKey: Uint8Array;
  pKeyFragment: string;
  pCreatedAt: Date;
  pUpdatedAt: Date;
}

/**
 * Returns the query of an agent with one version of its configuration and the provider
 * that version names, for the row `t` in front of it, which has `tenant_id`,
 * `agent_id` and `agent_version` (null is the current one). No row when the tenant
 * has no such agent.
 */
export function agentOfTurn(sql: AnySql) {
  return sql`
    select a.id as a_id, a.tenant_id as a_tenant_id, a.status as a_status, a.managed as a_managed,
      a.workspace_id as a_workspace_id, coalesce(t.agent_version, a.version) as a_version, v.config as a_config,
      exists (select 1 from agent_skills k where k.agent_id = a.id) as has_skills,
      exists (select 1 from memories k where k.agent_id = a.id) as has_memories,
      v.provider_id as provider_named, p.id as p_id, p.name as p_name, p.provider_type as p_type,
      p.base_url as p_base_url, p.sealed_key as p_sealed_key, p.key_fragment as p_key_fragment,
      p.created_at as p_created_at, p.updated_at as p_updated_at
    from agents a
    left join agent_versions v on v.agent_id = a.id and v.version = coalesce(t.agent_version, a.version)
    left join providers p on p.id = v.provider_id and p.tenant_id = a.tenant_id
    where a.id = t.agent_id and a.tenant_id = t.tenant_id`;
}

/** Reads what a turn would run on, in one query. Null when the tenant has no such agent. */
export async function loadAgentForTurn(
  sql: AnySql,
  tenantId: string,
  agentId: string,
  version: number | null,
): Promise<LoadedAgent | null> {
  const [row] = await sql<LoadedAgentRow[]>`
    select /* agent.load */ a.* from (select ${tenantId}::text as tenant_id, ${agentId}::text as agent_id, ${version}::int as agent_version) t
    cross join lateral (${agentOfTurn(sql)}) a`;
  return row === undefined ? null : toLoadedAgent(row);
}

/** Returns the agent of a row of `agentOfTurn`; null where no agent was found. */
export function toLoadedAgent(row: LoadedAgentRow): LoadedAgent | null {
  if (row.aId === null) return null;
  const provider = providerOf(row);
  return {
    id: row.aId,
    tenantId: row.aTenantId,
    status: row.aStatus,
    managed: row.aManaged,
    workspaceId: row.aWorkspaceId,
    version: row.aVersion,
    config: row.aConfig,
    provider,
    providerMissing: row.providerNamed !== null && provider === null,
    hasSkills: row.hasSkills,
    hasMemories: row.hasMemories,
  };
}

function providerOf(row: LoadedAgentRow): ProviderRow | null {
  if (row.pId === null) return null;
  return {
    id: row.pId,
    tenantId: row.aTenantId,
    name: row.pName,
    providerType: row.pType,
    baseUrl: row.pBaseUrl,
    sealedKey: row.pSealedKey,
    keyFragment: row.pKeyFragment,
    createdAt: row.pCreatedAt,
    updatedAt: row.pUpdatedAt,
  };
}
