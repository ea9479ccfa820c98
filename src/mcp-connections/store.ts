import type { AnySql } from "../kernel/database/client.ts";
import { violatedConstraint } from "../kernel/database/failure.ts";
import { tx } from "../kernel/database/transaction.ts";
import { ApiError } from "../kernel/errors.ts";
import { byName, type ListPartQuery, readListPart } from "../kernel/http/list-part.ts";
import type { IdOf } from "../kernel/ids.ts";
import { type AuthType, type McpConnection, type McpConnectionStatus, mcpConnectionsPerTenantMax } from "./schema.ts";

/** A connection as the database holds it; credentials and tokens sealed under its id. */
export interface McpConnectionRow {
  readonly id: IdOf<"mcpConnection">;
  readonly tenantId: string;
  readonly name: string;
  readonly url: string;
  readonly authType: AuthType;
  readonly status: McpConnectionStatus;
  readonly sealedCredentials: Uint8Array | null;
  readonly credentialFragment: string;
  readonly credentialVersion: number;
  readonly sealedTokens: Uint8Array | null;
  readonly tokenExpiresAt: Date | null;
  readonly lastAuthErrorCode: string | null;
  /** The revision of the protocol that the server spoke when it was last connected to; null: not known yet. */
  readonly protocolVersion: string | null;
  /** The scopes that the server asked for when it refused the token for having too few; null: it did not. */
  readonly missingScope: string | null;
  readonly oauthIssuer: string | null;
  readonly oauthResource: string | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** A validated target: all of a row but its id, tenant and name. */
export type ValidatedTarget = Omit<
  McpConnectionRow,
  | "id"
  | "tenantId"
  | "name"
  | "credentialVersion"
  | "lastAuthErrorCode"
  | "protocolVersion"
  | "missingScope"
  | "createdAt"
  | "updatedAt"
>;

/** A validated connection that is not stored yet. */
export type NewMcpConnection = ValidatedTarget & Pick<McpConnectionRow, "id" | "tenantId" | "name">;

/** Returns the columns of a `McpConnectionRow`. */
export function mcpConnectionColumns(sql: AnySql) {
  return sql`id, tenant_id, name, url, auth_type, status,
    sealed_credentials, credential_fragment,
    credential_version, sealed_tokens, token_expires_at,
    last_auth_error_code, protocol_version, missing_scope, oauth_issuer, oauth_resource,
    created_at, updated_at`;
}

/** Returns a tenant's connections by name, in the order of code points. Throws 400 as `readListPart`. */
export function listMcpConnections(sql: AnySql, tenantId: string, query: ListPartQuery) {
  return readListPart(["mcp-connections", tenantId], query, byName, (place, rowsMax) => {
    return sql<McpConnectionRow[]>`
      select ${mcpConnectionColumns(sql)} from mcp_connections
      where tenant_id = ${tenantId} ${place === null ? sql`` : sql`and name > ${place.name}`}
      order by name limit ${rowsMax}`;
  });
}

/** Returns those of the connections that are the tenant's. */
export function findMcpConnections(sql: AnySql, tenantId: string, ids: readonly string[]): Promise<McpConnectionRow[]> {
  return sql<McpConnectionRow[]>`
    select ${mcpConnectionColumns(sql)} from mcp_connections where tenant_id = ${tenantId} and id = any(${ids as string[]})`;
}

/** Returns a tenant's connection; null when there is none or it is another tenant's. */
export async function findMcpConnection(sql: AnySql, tenantId: string, id: string): Promise<McpConnectionRow | null> {
  return (await findMcpConnections(sql, tenantId, [id]))[0] ?? null;
}

/** Returns a tenant's connection. Throws 404. */
export async function getMcpConnection(
  sql: AnySql,
  tenantId: string,
  id: IdOf<"mcpConnection">,
): Promise<McpConnectionRow> {
  const row = await findMcpConnection(sql, tenantId, id);
  if (row === null) throw new ApiError("not_found");
  return row;
}

/** Throws 409 `mcp_connection_name_conflict` or 400 `mcp_connection_limit_reached` when a tenant may have no new connection of this name. */
export async function checkNewMcpConnection(sql: AnySql, tenantId: string, name: string): Promise<void> {
  const [found] = await sql<{ total: number; named: number }[]>`
    select count(*)::int as total, count(*) filter (where name = ${name})::int as named
    from mcp_connections where tenant_id = ${tenantId}`;
  if (found !== undefined && found.named > 0) throw new ApiError("mcp_connection_name_conflict");
  if (found !== undefined && found.total >= mcpConnectionsPerTenantMax)
    throw new ApiError("mcp_connection_limit_reached");
}

/** Stores a connection. Throws as `checkNewMcpConnection`. */
export function insertMcpConnection(sql: AnySql, made: NewMcpConnection): Promise<McpConnectionRow> {
  return tx(sql, async (inner) => {
    // The tenant's row is the lock that makes the count hold.
    await inner`select 1 from tenants where id = ${made.tenantId} for no key update`;
    await checkNewMcpConnection(inner, made.tenantId, made.name);
    const [row] = await inner<McpConnectionRow[]>`
      insert into mcp_connections (id, tenant_id, name, url, auth_type, status, sealed_credentials,
        credential_fragment, sealed_tokens, token_expires_at, oauth_issuer, oauth_resource)
      values (${made.id}, ${made.tenantId}, ${made.name}, ${made.url}, ${made.authType}, ${made.status},
        ${made.sealedCredentials}, ${made.credentialFragment}, ${made.sealedTokens}, ${made.tokenExpiresAt},
        ${made.oauthIssuer}, ${made.oauthResource})
      returning ${mcpConnectionColumns(inner)}`;
    return row as McpConnectionRow;
  });
}

/** Renames a connection. Throws 404, 409 `mcp_connection_name_conflict`. */
export async function renameMcpConnection(
  sql: AnySql,
  tenantId: string,
  id: IdOf<"mcpConnection">,
  name: string,
): Promise<McpConnectionRow> {
  try {
    const [row] = await sql<McpConnectionRow[]>`
      update mcp_connections set name = ${name}, updated_at = now()
      where id = ${id} and tenant_id = ${tenantId} returning ${mcpConnectionColumns(sql)}`;
    if (row === undefined) throw new ApiError("not_found");
    return row;
  } catch (error) {
    if (violatedConstraint(error) === "mcp_connections_name") throw new ApiError("mcp_connection_name_conflict");
    throw error;
  }
}

/** Deletes a connection and returns its row. Throws 404, 409 `mcp_connection_in_use` while an agent is attached to it. */
export async function removeMcpConnection(
  sql: AnySql,
  tenantId: string,
  id: IdOf<"mcpConnection">,
): Promise<McpConnectionRow> {
  return tx(sql, async (inner) => {
    // Waits for every transaction that is attaching an agent, and blocks new ones.
    const [row] = await inner<McpConnectionRow[]>`
      select ${mcpConnectionColumns(inner)} from mcp_connections where id = ${id} and tenant_id = ${tenantId} for update`;
    if (row === undefined) throw new ApiError("not_found");
    const attached = await inner<{ id: IdOf<"agent"> }[]>`
      select agent_id as id from mcp_attachments where mcp_connection_id = ${id} order by agent_id limit 100`;
    if (attached.length > 0)
      throw new ApiError("mcp_connection_in_use", { details: { agentIds: attached.map((agent) => agent.id) } });
    await inner`delete from mcp_connections where id = ${id}`;
    return row;
  });
}

/** Returns a row in the interface's form. */
export function showMcpConnection(row: McpConnectionRow): McpConnection {
  const { id, name, url, authType, status, credentialFragment, lastAuthErrorCode, oauthIssuer, oauthResource } = row;
  return {
    id,
    name,
    url,
    authType,
    status,
    credentialFragment,
    lastAuthErrorCode,
    oauthIssuer,
    oauthResource,
    tokenExpiresAt: row.tokenExpiresAt?.toISOString() ?? null,
    createdAt: row.createdAt.toISOString(),
    updatedAt: row.updatedAt.toISOString(),
  };
}
