import { type AgentIds, andWithin } from "../kernel/auth/agent-scope.ts";
import { tokenBodyLength } from "../kernel/auth/authenticator.ts";
import { keyPrefix } from "../kernel/auth/bearer.ts";
import { randomToken } from "../kernel/auth/random-token.ts";
import { type AccessRole, type Permission, roleDefault } from "../kernel/auth/roles.ts";
import type { AnySql } from "../kernel/database/client.ts";
import { newerThan, placeInTime, type TimePlace } from "../kernel/database/keyset.ts";
import { tx } from "../kernel/database/transaction.ts";
import { ApiError } from "../kernel/errors.ts";
import { byTime, type ListPartEnd, type ListPartQuery, readListPart } from "../kernel/http/list-part.ts";
import { type IdOf, newId } from "../kernel/ids.ts";
import { digest, fragment } from "../kernel/seal.ts";
import type { ApiKey } from "./schema.ts";

interface ApiKeyRow {
  id: IdOf<"apiKey">;
  name: string;
  fragment: string;
  createdAt: Date;
  expiresAt: Date | null;
  role: AccessRole;
  agentIds: IdOf<"agent">[] | null;
  lastUsedAt: Date | null;
}

function columns(sql: AnySql) {
  return sql`id, name, fragment, created_at, expires_at, role, agent_ids, last_used_at`;
}

const everything: Permission = { role: roleDefault, agentIds: null };

/**
 * Creates a key; its token is returned here and stored nowhere. Throws 400
 * `invalid_request` at the tenant's cap, expired keys included, 404 for an agent that there is not.
 */
export function createApiKey(
  sql: AnySql,
  tenantId: string,
  name: string,
  expiresAt: Date | null,
  { role, agentIds }: Permission = everything,
): Promise<{ apiKey: ApiKey; token: string }> {
  const token = randomToken(keyPrefix, tokenBodyLength);
  return tx(sql, async (inner) => {
    // The tenant's row is the lock that makes the count hold.
    const [tenant] = await inner<{ apiKeysMax: number }[]>`
      select api_keys_max from tenants where id = ${tenantId} for no key update`;
    const apiKeysMax = tenant?.apiKeysMax ?? 0;
    const [count] = await inner<
      { keys: number }[]
    >`select count(*)::int as keys from api_keys where tenant_id = ${tenantId}`;
    if ((count?.keys ?? 0) >= apiKeysMax) {
      throw new ApiError("invalid_request", {
        message: `The tenant has at most ${apiKeysMax} API keys; delete one first.`,
      });
    }
    if (agentIds !== null) await requireAgents(inner, tenantId, agentIds);
    const [row] = await inner<ApiKeyRow[]>`
      insert into api_keys (id, tenant_id, name, digest, fragment, expires_at, role, agent_ids)
      values (${newId("apiKey")}, ${tenantId}, ${name}, ${digest(token)}, ${fragment(token)}, ${expiresAt}, ${role},
        ${agentIds as string[] | null})
      returning ${columns(inner)}`;
    return { apiKey: showApiKey(row as ApiKeyRow), token };
  });
}

/** Throws 404 naming the first agent that the tenant does not have. */
async function requireAgents(inner: AnySql, tenantId: string, agentIds: readonly string[]): Promise<void> {
  const rows = await inner<{ id: string }[]>`
    select id from agents where tenant_id = ${tenantId} and id = any(${agentIds as string[]})`;
  const found = new Set(rows.map(({ id }) => id));
  const place = agentIds.findIndex((id) => !found.has(id));
  if (place >= 0) throw new ApiError("not_found", { message: `/agentIds/${place}: There is no such agent.` });
}

/** Returns a tenant's keys, oldest first; for who is limited to some agents, those that are limited to some of them. Throws 400 as `readListPart`. */
export async function listApiKeys(
  sql: AnySql,
  tenantId: string,
  query: ListPartQuery,
  within: AgentIds = null,
): Promise<{ apiKeys: ApiKey[] } & ListPartEnd> {
  const { rows, end } = await readListPart(["apikeys", tenantId], query, byTime, (place, rowsMax) => {
    return sql<(ApiKeyRow & TimePlace)[]>`
      select ${columns(sql)}, ${placeInTime(sql, "created_at")} from api_keys
      where tenant_id = ${tenantId} ${andWithin(sql, sql`agent_ids`, within)} ${newerThan(sql, place, "created_at", "id")}
      order by created_at, id limit ${rowsMax}`;
  });
  return { apiKeys: rows.map(showApiKey), ...end };
}

/** Deletes a key for good; its next request is 401. Throws 404. */
export async function deleteApiKey(sql: AnySql, tenantId: string, id: string): Promise<void> {
  const { count } = await sql`delete from api_keys where id = ${id} and tenant_id = ${tenantId}`;
  if (count === 0) throw new ApiError("not_found");
}

function showApiKey(row: ApiKeyRow): ApiKey {
  return {
    id: row.id,
    name: row.name,
    keyFragment: row.fragment,
    createdAt: row.createdAt.toISOString(),
    expiresAt: row.expiresAt?.toISOString() ?? null,
    role: row.role,
    agentIds: row.agentIds,
    lastUsedAt: row.lastUsedAt?.toISOString() ?? null,
  };
}
