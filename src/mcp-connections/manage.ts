import type { Ctx } from "../kernel/context.ts";
import type { Sql, Tx } from "../kernel/database/client.ts";
import { ApiError } from "../kernel/errors.ts";
import { newId } from "../kernel/ids.ts";
import { authorizationOf } from "./auth/authorization.ts";
import { openCredentials, openTokens } from "./auth/credentials.ts";
import { revokeTokens } from "./auth/grants.ts";
import { probeServer } from "./call/probe.ts";
import type { LeftOutTool } from "./call/tool-list.ts";
import { validateTimeoutMs } from "./limits.ts";
import type { McpConnection, TargetFields } from "./schema.ts";
import { replaceTarget } from "./status.ts";
import {
  checkNewMcpConnection,
  getMcpConnection,
  type McpConnectionRow,
  type NewMcpConnection,
  showMcpConnection,
} from "./store.ts";
import { type CheckedTarget, validateTarget } from "./validation.ts";
import { failureOf, McpFailure, type McpFailureCode } from "./wire/failure.ts";
import { oauthFetch } from "./wire/fetches.ts";

/** A connection that is not stored yet, and the tools of its server that cannot be used. */
export interface CheckedConnection {
  readonly made: NewMcpConnection;
  readonly leftOut: readonly LeftOutTool[];
}

/**
 * Returns the connection of `POST /v1/mcp-connections`, to be inserted, once its server has
 * been probed. Throws 400 for invalid fields, at the limit, and for a failure of the
 * server; 409 `mcp_connection_name_conflict`.
 */
export async function validateNewMcpConnection(
  ctx: Ctx,
  sql: Sql,
  tenantId: string,
  { name, ...target }: TargetFields & { name: string },
): Promise<CheckedConnection> {
  await checkNewMcpConnection(sql, tenantId, name);
  const id = newId("mcpConnection");
  const { made, leftOut } = await validateTarget(ctx, id, target);
  return { made: { ...made, id, tenantId, name }, leftOut };
}

/**
 * Writes what `POST /v1/mcp-connections/:id/reconnect` has validated in place of a
 * connection's URL and credentials. Throws 404, and 409
 * `mcp_connection_stale_credential_version` when they were changed during the probe.
 */
export async function reconnectMcpConnection(
  inner: Tx,
  before: McpConnectionRow,
  { made, leftOut }: CheckedTarget,
): Promise<{ status: string; connection: McpConnection; leftOut: readonly LeftOutTool[] }> {
  const row = await replaceTarget(inner, before, made);
  if (row === null) {
    await getMcpConnection(inner, before.tenantId, before.id);
    throw new ApiError("mcp_connection_stale_credential_version");
  }
  return { status: row.status, connection: showMcpConnection(row), leftOut };
}

/** The result of `POST /v1/mcp-connections/:id/test` (docs/decisions/mcp.md). */
export type TestResult =
  | {
      readonly ok: true;
      readonly latencyMs: number;
      readonly server: { readonly name: string; readonly version: string };
      readonly toolCount: number;
      readonly toolNames: readonly string[];
      /** Tools that cannot be used; the numbers before are without them. */
      readonly leftOut: readonly LeftOutTool[];
    }
  | { readonly ok: false; readonly error: { readonly code: McpFailureCode; readonly message: string } };

/** Probes a connection's server. Returns the result, and the failure for `recordTest`, or null. */
export async function testMcpConnection(
  ctx: Ctx,
  row: McpConnectionRow,
): Promise<{ readonly result: TestResult; readonly failure: McpFailure | null }> {
  const startedAt = performance.now();
  const probe = await probeServer(ctx, row.url, authorizationOf(ctx, row)).catch(failureOf);
  if (probe instanceof McpFailure)
    return { result: { ok: false, error: { code: probe.code, message: probe.message } }, failure: probe };
  const latencyMs = Math.round(performance.now() - startedAt);
  const { tools, leftOut } = probe.list;
  const toolNames = tools.map((tool) => tool.name);
  const result = {
    ok: true,
    latencyMs,
    server: probe.server,
    toolCount: toolNames.length,
    toolNames,
    leftOut,
  } as const;
  return { result, failure: null };
}

/** Revokes the OAuth tokens of a connection that was deleted; what its authorization server responds changes nothing: tokens that it does not revoke expire. */
export async function revokeDeleted(ctx: Ctx, row: McpConnectionRow): Promise<void> {
  await revoke(ctx, row).catch((error: unknown) => {
    const { tenantId, id } = row;
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
