import type { Ctx } from "../kernel/context.ts";
import type { AnySql } from "../kernel/database/client.ts";
import { ApiError } from "../kernel/errors.ts";
import { newId } from "../kernel/ids.ts";
import { authorizationOf } from "./authorization.ts";
import { openCredentials, openTokens } from "./credentials.ts";
import { failureOf, McpFailure } from "./failure.ts";
import { oauthFetch } from "./fetches.ts";
import { revokeTokens } from "./grants.ts";
import { validateTimeoutMs } from "./limits.ts";
import type { McpConnection, TargetFields } from "./schema.ts";
import { recordTest, replaceTarget } from "./status.ts";
import {
  checkNewMcpConnection,
  getMcpConnection,
  insertMcpConnection,
  type McpConnectionRow,
  removeMcpConnection,
  showMcpConnection,
} from "./store.ts";
import { probeServer, validateTarget } from "./validation.ts";

/**
 * Creates a connection once its server has been met (document 2, "POST
 * /v1/mcp-connections"). Throws 400 for broken fields, at the cap and as the
 * server's failure demands, 409 `mcp_connection_name_conflict`.
 */
export async function createMcpConnection(
  ctx: Ctx,
  sql: AnySql,
  tenantId: string,
  { name, ...target }: TargetFields & { name: string },
): Promise<McpConnection> {
  await checkNewMcpConnection(sql, tenantId, name);
  const id = newId("mcpConnection");
  const made = await validateTarget(ctx, id, target);
  return showMcpConnection(await insertMcpConnection(sql, { ...made, id, tenantId, name }));
}

/**
 * Replaces a connection's URL and credentials once the server has been met
 * (document 2, "reconnect"). Throws as `createMcpConnection`, 404, and 409
 * `mcp_connection_stale_credential_version` when they were changed meanwhile.
 */
export async function reconnectMcpConnection(
  ctx: Ctx,
  sql: AnySql,
  tenantId: string,
  id: string,
  target: TargetFields,
): Promise<{ status: string; connection: McpConnection }> {
  const before = await getMcpConnection(sql, tenantId, id);
  const made = await validateTarget(ctx, id, target);
  const row = await replaceTarget(sql, before, made);
  if (row === null) {
    await getMcpConnection(sql, tenantId, id);
    throw new ApiError("mcp_connection_stale_credential_version");
  }
  return { status: row.status, connection: showMcpConnection(row) };
}

/** What a test found (document 2, "test"; `decisions.md`, "MCP"). */
export type TestResult =
  | {
      readonly ok: true;
      readonly latencyMs: number;
      readonly server: { readonly name: string; readonly version: string };
      readonly toolCount: number;
      readonly toolNames: readonly string[];
    }
  | { readonly ok: false; readonly error: { readonly code: string; readonly message: string } };

/** Meets a connection's server and records how that went. Throws 404. */
export async function testMcpConnection(ctx: Ctx, sql: AnySql, tenantId: string, id: string): Promise<TestResult> {
  const row = await getMcpConnection(sql, tenantId, id);
  const startedAt = performance.now();
  const met = await probeServer(ctx, row.url, authorizationOf(ctx, row)).catch(failureOf);
  if (met instanceof McpFailure) {
    await recordTest(sql, row, met.code);
    return { ok: false, error: { code: met.code, message: met.message } };
  }
  const latencyMs = Math.round(performance.now() - startedAt);
  await recordTest(sql, row, null);
  const toolNames = met.tools.map((tool) => tool.name);
  return { ok: true, latencyMs, server: met.server, toolCount: toolNames.length, toolNames };
}

/** Deletes a connection, then revokes its OAuth tokens. Throws 404, 409 `mcp_connection_in_use`. */
export async function deleteMcpConnection(ctx: Ctx, sql: AnySql, tenantId: string, id: string): Promise<void> {
  const row = await removeMcpConnection(sql, tenantId, id);
  // The connection is gone whatever the authorization server says; tokens that it does not revoke end by themselves.
  await revoke(ctx, row).catch((error: unknown) => {
    ctx.log.warn(
      { tenantId, mcpConnectionId: id, code: failureOf(error).code },
      "an MCP connection's tokens were not revoked",
    );
  });
}

async function revoke(ctx: Ctx, row: McpConnectionRow): Promise<void> {
  const { client, server } = openCredentials(ctx.sealer, row.id, row.sealedCredentials);
  const tokens = openTokens(ctx.sealer, row.id, row.sealedTokens);
  if (client === null || server === null || tokens === null) return;
  const fetch = oauthFetch(ctx, AbortSignal.timeout(validateTimeoutMs));
  await revokeTokens({ fetch, server, client }, tokens);
}
