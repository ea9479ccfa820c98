import type { AnySql } from "../db.ts";
import type { ProviderRow } from "../providers/store.ts";
import type { AgentConfig } from "./schema.ts";

/** All that a turn needs to know of its agent. */
export interface LoadedAgent {
  readonly id: string;
  readonly tenantId: string;
  readonly status: "active" | "disabled";
  readonly managed: boolean;
  /** Not versioned: always the agent's current one. */
  readonly workspaceId: string | null;
  /** The version asked for, or the current one. */
  readonly version: number;
  /** Null when the agent has no such version. */
  readonly config: AgentConfig | null;
  readonly provider: ProviderRow | null;
  /** The configuration names a provider that is gone. */
  readonly providerMissing: boolean;
}

/** Columns of the provider are prefixed, because agents have an id and times too. */
interface LoadedRow extends Omit<LoadedAgent, "provider" | "providerMissing"> {
  providerNamed: string | null;
  pId: string | null;
  pName: string;
  pType: ProviderRow["providerType"];
  pBaseUrl: string | null;
  pSealedKey: Uint8Array;
  pKeyFragment: string;
  pCreatedAt: Date;
  pUpdatedAt: Date;
}

/**
 * Reads an agent with one version of its configuration and the provider that
 * version names, in one query. `version` null is the current one. Null when the
 * tenant has no such agent.
 */
export async function loadAgentForTurn(
  sql: AnySql,
  tenantId: string,
  agentId: string,
  version: number | null,
): Promise<LoadedAgent | null> {
  const [row] = await sql<LoadedRow[]>`
    select a.id, a.tenant_id as "tenantId", a.status, a.managed, a.workspace_id as "workspaceId",
      coalesce(${version}::int, a.version) as version, v.config, v.provider_id as "providerNamed",
      p.id as "pId", p.name as "pName", p.provider_type as "pType", p.base_url as "pBaseUrl",
      p.sealed_key as "pSealedKey", p.key_fragment as "pKeyFragment", p.created_at as "pCreatedAt",
      p.updated_at as "pUpdatedAt"
    from agents a
    left join agent_versions v on v.agent_id = a.id and v.version = coalesce(${version}::int, a.version)
    left join providers p on p.id = v.provider_id and p.tenant_id = a.tenant_id
    where a.id = ${agentId} and a.tenant_id = ${tenantId}`;
  if (row === undefined) return null;
  const { id, tenantId: owner, status, managed, workspaceId, config } = row;
  const provider = providerOf(row);
  const providerMissing = row.providerNamed !== null && provider === null;
  return { id, tenantId: owner, status, managed, workspaceId, version: row.version, config, provider, providerMissing };
}

function providerOf(row: LoadedRow): ProviderRow | null {
  if (row.pId === null) return null;
  return {
    id: row.pId,
    tenantId: row.tenantId,
    name: row.pName,
    providerType: row.pType,
    baseUrl: row.pBaseUrl,
    sealedKey: row.pSealedKey,
    keyFragment: row.pKeyFragment,
    createdAt: row.pCreatedAt,
    updatedAt: row.pUpdatedAt,
  };
}
