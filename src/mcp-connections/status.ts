import type { AnySql } from "../kernel/database/client.ts";
import type { McpFailureCode } from "./failure.ts";
import type { McpConnectionStatus } from "./schema.ts";
import { type McpConnectionRow, mcpConnectionColumns, type ValidatedTarget } from "./store.ts";

/**
 * Every move of a connection's state (document 2, "MCP connection status"). Each
 * is guarded by the credential version it was judged on: a verdict on old
 * credentials says nothing of new ones.
 */

/** The state that a failure leads to. */
function statusAfter(code: McpFailureCode | null): McpConnectionStatus {
  if (code === null) return "connected";
  return code === "mcp_connection_authentication_failed" ? "needs_auth" : "error";
}

type Judged = Pick<McpConnectionRow, "id" | "credentialVersion">;

/** After a test, from any state; `code` is null when it succeeded. */
export async function recordTest(sql: AnySql, { id, credentialVersion }: Judged, code: McpFailureCode | null) {
  await sql`
    update mcp_connections set status = ${statusAfter(code)}, last_auth_error_code = ${code}, updated_at = now()
    where id = ${id} and credential_version = ${credentialVersion}
      and (status, last_auth_error_code) is distinct from (${statusAfter(code)}, ${code}::text)`;
}

/** After a failure while an agent used it, from `connected` only. Answers whether it moved. */
export async function recordRuntimeFailure(
  sql: AnySql,
  { id, credentialVersion }: Judged,
  code: McpFailureCode,
): Promise<boolean> {
  const { count } = await sql`
    update mcp_connections set status = ${statusAfter(code)}, last_auth_error_code = ${code}, updated_at = now()
    where id = ${id} and credential_version = ${credentialVersion} and status = 'connected'`;
  return count > 0;
}

/** Replaces URL and credentials, from any state. Null when they were changed meanwhile, or the connection is gone. */
export async function replaceTarget(
  sql: AnySql,
  { id, credentialVersion }: Judged,
  made: ValidatedTarget,
): Promise<McpConnectionRow | null> {
  const [row] = await sql<McpConnectionRow[]>`
    update mcp_connections set url = ${made.url}, auth_type = ${made.authType}, status = ${made.status},
      sealed_credentials = ${made.sealedCredentials}, credential_fragment = ${made.credentialFragment},
      credential_version = credential_version + 1, sealed_tokens = ${made.sealedTokens},
      token_version = token_version + 1, token_expires_at = ${made.tokenExpiresAt}, renewing_until = null,
      last_auth_error_code = null, oauth_issuer = ${made.oauthIssuer}, oauth_resource = ${made.oauthResource},
      updated_at = now()
    where id = ${id} and credential_version = ${credentialVersion}
    returning ${mcpConnectionColumns(sql)}`;
  return row ?? null;
}

/** Keeps what a sign-in brought; `code` says what the server made of it. False when the connection was changed meanwhile. */
export async function recordSignIn(
  sql: AnySql,
  { id, credentialVersion }: Judged,
  made: Pick<
    ValidatedTarget,
    "sealedCredentials" | "sealedTokens" | "tokenExpiresAt" | "oauthIssuer" | "oauthResource"
  >,
  code: McpFailureCode | null,
): Promise<boolean> {
  const { count } = await sql`
    update mcp_connections set status = ${statusAfter(code)}, last_auth_error_code = ${code},
      sealed_credentials = ${made.sealedCredentials}, credential_version = credential_version + 1,
      sealed_tokens = ${made.sealedTokens}, token_version = token_version + 1,
      token_expires_at = ${made.tokenExpiresAt}, renewing_until = null,
      oauth_issuer = ${made.oauthIssuer}, oauth_resource = ${made.oauthResource}, updated_at = now()
    where id = ${id} and credential_version = ${credentialVersion} and auth_type = 'oauth_authorization_code'`;
  return count > 0;
}
