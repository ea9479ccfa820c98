import type { AnySql } from "../kernel/database/client.ts";
import { ApiError } from "../kernel/errors.ts";
import { getAgent } from "./store.ts";

interface AttachmentRow {
  mcpConnectionId: string;
  forwardUserId: boolean;
  forwardedMetadataKeys: string[];
  createdAt: Date;
  updatedAt: Date;
}

/** What an MCP server receives about the session with every tool call: `GET /v1/agents/:agentId/mcp-attachments`. */
export interface McpAttachment extends Omit<AttachmentRow, "createdAt" | "updatedAt"> {
  readonly createdAt: string;
  readonly updatedAt: string;
}

function columns(sql: AnySql) {
  return sql`mcp_connection_id, forward_user_id,
    forwarded_metadata_keys, created_at, updated_at`;
}

/** All attachments of an agent, oldest first. Throws 404. */
export async function listAttachments(sql: AnySql, tenantId: string, agentId: string): Promise<McpAttachment[]> {
  await getAgent(sql, tenantId, agentId);
  const rows = await sql<AttachmentRow[]>`
    select ${columns(sql)} from mcp_attachments where agent_id = ${agentId} order by created_at, mcp_connection_id`;
  return rows.map(showAttachment);
}

/** Changes an attachment's settings; fields that are left out stay. Throws 404. */
export async function updateAttachment(
  sql: AnySql,
  tenantId: string,
  agentId: string,
  mcpConnectionId: string,
  fields: { forwardUserId?: boolean; forwardedMetadataKeys?: string[] },
): Promise<McpAttachment> {
  const [row] = await sql<AttachmentRow[]>`
    update mcp_attachments set updated_at = now(),
      forward_user_id = coalesce(${fields.forwardUserId ?? null}, forward_user_id),
      forwarded_metadata_keys = coalesce(${fields.forwardedMetadataKeys ?? null}::text[], forwarded_metadata_keys)
    where agent_id = (select id from agents where id = ${agentId} and tenant_id = ${tenantId})
      and mcp_connection_id = ${mcpConnectionId}
    returning ${columns(sql)}`;
  if (row === undefined) throw new ApiError("not_found");
  return showAttachment(row);
}

function showAttachment(row: AttachmentRow): McpAttachment {
  return { ...row, createdAt: row.createdAt.toISOString(), updatedAt: row.updatedAt.toISOString() };
}
