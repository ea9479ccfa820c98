import type { Ctx } from "../kernel/context.ts";
import { ApiError } from "../kernel/errors.ts";
import { sessionPoolOf } from "./call/pool.ts";
import { plainToolName } from "./names.ts";
import { findMcpConnection } from "./store.ts";
import { failureOf } from "./wire/failure.ts";

/**
 * Returns whether an MCP server has a tool of this name, for the approval policy
 * (docs/decisions/approval-policy.md). A list without it is read again, because
 * the tool may be new. False for a connection that the tenant does not have. Throws
 * 400 `mcp_connection_discovery_failed` when the tools cannot be listed.
 */
export async function findMcpTool(ctx: Ctx, tenantId: string, mcpConnectionId: string, tool: string): Promise<boolean> {
  const row = await findMcpConnection(ctx.sql, tenantId, mcpConnectionId);
  if (row === null) return false;
  try {
    return await sessionPoolOf(ctx).use(row, async (session) => {
      const isOffered = async () => (await session.tools()).some((offer) => offer.name === tool);
      if (await isOffered()) return true;
      session.forgetTools();
      return isOffered();
    });
  } catch (error) {
    throw new ApiError("mcp_connection_discovery_failed", {
      message: `The MCP server's tools could not be listed: ${failureOf(error).message}`,
    });
  }
}

/**
 * Returns those of some names that tools of an MCP server have for the model (`plainToolName`).
 * None for a server that cannot be asked now, or a connection that the tenant does not have.
 */
export async function takenToolNames(
  ctx: Ctx,
  tenantId: string,
  mcpConnectionId: string,
  names: readonly string[],
): Promise<string[]> {
  const row = await findMcpConnection(ctx.sql, tenantId, mcpConnectionId);
  if (row === null) return [];
  const offers = await sessionPoolOf(ctx)
    .use(row, (session) => session.tools())
    .catch(() => []);
  const taken = new Set(offers.map(({ name }) => plainToolName({ connectionName: row.name, serverTool: name })));
  return names.filter((name) => taken.has(name));
}
