import type postgres from "postgres";
import type { AnySql } from "../kernel/database/client.ts";
import { tellWebhooks } from "../webhooks/events.ts";
import type { McpConnectionStatus } from "./schema.ts";
import { type McpConnectionRow, mcpConnectionColumns, type ValidatedTarget } from "./store.ts";
import type { McpFailure, McpFailureCode } from "./wire/failure.ts";

/**
 * The state machine of an MCP connection's status (docs/decisions/mcp.md): every
 * move is guarded by the credential version that was tried, because the result says
 * nothing about newer credentials.
 *
 *     create ──▶ connected, or needs_auth when a person has to sign in
 *
 *     connected ──────── a failure during a turn ────────▶ needs_auth | error
 *     any ──── a test, a sign-in: a success ─────────────▶ connected
 *     any ──── a test, a sign-in: refused credentials ───▶ needs_auth
 *     any ──── a test, a sign-in: any other failure ─────▶ error
 *     any ──── reconnect ────────────────────────────────▶ connected | needs_auth
 *
 * A creation inserts the row (`store.ts`); renewed tokens change no status (`auth/tokens.ts`).
 */

/** Keeps which revision of the protocol the server speaks, so that it is not asked each time. */
export async function recordProtocol(sql: AnySql, { id, credentialVersion }: TriedConnection, protocolVersion: string) {
  await sql`
    update mcp_connections set protocol_version = ${protocolVersion}
    where id = ${id} and credential_version = ${credentialVersion} and protocol_version is distinct from ${protocolVersion}`;
}

/** The status that a failure leads to; null: a success. */
function statusAfter(code: McpFailureCode | null): McpConnectionStatus {
  if (code === null) return "connected";
  return code === "mcp_connection_authentication_failed" ? "needs_auth" : "error";
}

/** What of a failure is kept. */
type RecordedFailure = Pick<McpFailure, "code" | "missingScope">;

type TriedConnection = Pick<McpConnectionRow, "id" | "credentialVersion">;

/** Records a test, from any status; `failure` is null when it succeeded. */
export async function recordTest(
  sql: AnySql,
  { id, credentialVersion }: TriedConnection,
  failure: RecordedFailure | null,
) {
  const code = failure?.code ?? null;
  await move(
    sql,
    sql`
    update mcp_connections set status = ${statusAfter(code)}, last_auth_error_code = ${code},
      missing_scope = ${failure?.missingScope ?? null}, updated_at = now()
    where id = ${id} and credential_version = ${credentialVersion}
      and (status, last_auth_error_code) is distinct from (${statusAfter(code)}, ${code}::text)`,
  );
}

/** Records a failure during a turn, from `connected` only. Returns whether the status moved. */
export async function recordRuntimeFailure(
  sql: AnySql,
  { id, credentialVersion }: TriedConnection,
  { code, missingScope }: RecordedFailure,
): Promise<boolean> {
  const moved = await move(
    sql,
    sql`
    update mcp_connections set status = ${statusAfter(code)}, last_auth_error_code = ${code},
      missing_scope = ${missingScope}, updated_at = now()
    where id = ${id} and credential_version = ${credentialVersion} and status = 'connected'`,
  );
  return moved !== null;
}

/** Replaces URL and credentials, from any status. Returns null when they were changed meanwhile, or the connection is deleted. */
export async function replaceTarget(
  sql: AnySql,
  { id, credentialVersion }: TriedConnection,
  made: ValidatedTarget,
): Promise<McpConnectionRow | null> {
  return move(
    sql,
    sql`
    update mcp_connections set url = ${made.url}, auth_type = ${made.authType}, status = ${made.status},
      sealed_credentials = ${made.sealedCredentials}, credential_fragment = ${made.credentialFragment},
      credential_version = credential_version + 1, sealed_tokens = ${made.sealedTokens},
      token_version = token_version + 1, token_expires_at = ${made.tokenExpiresAt}, renewing_until = null,
      last_auth_error_code = null, protocol_version = null, missing_scope = null, oauth_issuer = ${made.oauthIssuer}, oauth_resource = ${made.oauthResource},
      updated_at = now()
    where id = ${id} and credential_version = ${credentialVersion}`,
  );
}

/** Stores what a sign-in obtained; `failure` is that of the probe after it, or null. Returns false when the connection was changed meanwhile. */
export async function recordSignIn(
  sql: AnySql,
  { id, credentialVersion }: TriedConnection,
  made: Pick<
    ValidatedTarget,
    "sealedCredentials" | "sealedTokens" | "tokenExpiresAt" | "oauthIssuer" | "oauthResource"
  >,
  failure: RecordedFailure | null,
): Promise<boolean> {
  const code = failure?.code ?? null;
  const moved = await move(
    sql,
    sql`
    update mcp_connections set status = ${statusAfter(code)}, last_auth_error_code = ${code},
      sealed_credentials = ${made.sealedCredentials}, credential_version = credential_version + 1,
      sealed_tokens = ${made.sealedTokens}, token_version = token_version + 1,
      token_expires_at = ${made.tokenExpiresAt}, renewing_until = null,
      missing_scope = ${failure?.missingScope ?? null}, oauth_issuer = ${made.oauthIssuer}, oauth_resource = ${made.oauthResource}, updated_at = now()
    where id = ${id} and credential_version = ${credentialVersion} and auth_type = 'oauth_authorization_code'`,
  );
  return moved !== null;
}

/** Runs the update of a move, and tells webhooks of it in the same statement. Returns the row as it is now; null when the guard held the move back. */
async function move(sql: AnySql, update: postgres.Fragment): Promise<McpConnectionRow | null> {
  const told = tellWebhooks(sql, [
    {
      type: "mcp_connection.changed",
      from: sql`moved m`,
      tenantId: sql`m.tenant_id`,
      ids: { mcpConnectionId: sql`m.id` },
      status: sql`m.status`,
    },
  ]);
  // `jobs` is selected so that Postgres adds them (`tellWebhooks`).
  const [row] = await sql<McpConnectionRow[]>`
    with moved as (${update} returning *), ${told}
    select ${mcpConnectionColumns(sql)}, (select count(*) from webhook_enqueued) as jobs from moved`;
  return row ?? null;
}
