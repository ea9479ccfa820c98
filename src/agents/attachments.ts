import type { AnySql, Tx } from "../kernel/database/client.ts";
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

/** Changes an attachment's settings; fields that are left out stay. Returns it as it was and as it is. Throws 404. */
export async function updateAttachment(
  inner: Tx,
  tenantId: string,
  { agentId, mcpConnectionId }: { readonly agentId: string; readonly mcpConnectionId: string },
  fields: { forwardUserId?: boolean; forwardedMetadataKeys?: string[] },
): Promise<{ before: McpAttachment; after: McpAttachment }> {
  const named = inner`
    agent_id = (select id from agents where id = ${agentId} and tenant_id = ${tenantId})
      and mcp_connection_id = ${mcpConnectionId}`;
  const [before] = await inner<AttachmentRow[]>`
    select ${columns(inner)} from mcp_attachments where ${named} for no key update`;
  if (before === undefined) throw new ApiError("not_found");
  const { forwardUserId, forwardedMetadataKeys } = { ...before, ...fields };
  const [after] = await inner<AttachmentRow[]>`
    update mcp_attachments set updated_at = now(), forward_user_id = ${forwardUserId},
      forwarded_metadata_keys = ${forwardedMetadataKeys}
    where ${named} returning ${columns(inner)}`;
  return { before: showAttachment(before), after: showAttachment(after as AttachmentRow) };
}

function showAttachment(row: AttachmentRow): McpAttachment {
  return { ...row, createdAt: row.createdAt.toISOString(), updatedAt: row.updatedAt.toISOString() };
}
