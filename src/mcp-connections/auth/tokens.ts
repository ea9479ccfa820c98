import { sleep } from "../../kernel/async/wait.ts";
import type { Ctx } from "../../kernel/context.ts";
import { tx } from "../../kernel/database/transaction.ts";
import { renewLeaseMs, renewPollMs, renewWaitMs } from "../limits.ts";
import type { AuthType } from "../schema.ts";
import type { McpConnectionRow } from "../store.ts";
import { authenticationFailed, failureOf, unreachable } from "../wire/failure.ts";
import { oauthFetch } from "../wire/fetches.ts";
import { OAuthError, OAuthErrorCode } from "../wire/sdk.ts";
import { type McpCredentials, openCredentials, openTokens, type StoredTokens, sealTokens } from "./credentials.ts";
import { type GrantClient, grantForRefresh, grantToClient } from "./grants.ts";

/**
 * The state of a connection's tokens: moved by guarded updates on `token_version`.
 *
 *     usable ──expired, or refused by the server──▶ renewable
 *     renewable ──lease──▶ being renewed (`renewing_until` in the future)
 *     being renewed ──new tokens─────────────────▶ usable, next version
 *                   ──refresh token refused──────▶ no tokens, next version
 *                   ──another failure, or lease over──▶ renewable
 */

/** The renewals that run in this process, so that its callers share one. */
const renewals = new WeakMap<Ctx, Map<string, Promise<StoredTokens>>>();

type Renewable = Pick<McpConnectionRow, "id" | "credentialVersion">;

interface TokenRow {
  authType: AuthType;
  sealedCredentials: Uint8Array | null;
  sealedTokens: Uint8Array | null;
  tokenVersion: number;
}

/** Returns whether tokens can be used: not the refused one, and not about to expire. */
export function isUsable(tokens: StoredTokens, rejected: string | null): boolean {
  return tokens.accessToken !== rejected && (tokens.renewAt === null || tokens.renewAt > Date.now());
}

/**
 * Returns the tokens of a stored OAuth connection, other than the `rejected` one,
 * renewed if necessary. Renewals are serialised over all processes: a refresh token
 * that rotates is valid for one use, and a second use may revoke all tokens. Throws
 * `McpFailure`.
 */
export function renewTokens(ctx: Ctx, connection: Renewable, rejected: string | null): Promise<StoredTokens> {
  const running = renewals.get(ctx) ?? new Map<string, Promise<StoredTokens>>();
  renewals.set(ctx, running);
  const key = JSON.stringify([connection.id, connection.credentialVersion, rejected]);
  const known = running.get(key);
  if (known !== undefined) return known;
  const renewal = renewOnce(ctx, connection, rejected)
    .catch((error: unknown) => {
      throw failureOf(error);
    })
    .finally(() => running.delete(key));
  running.set(key, renewal);
  return renewal;
}

async function renewOnce(ctx: Ctx, connection: Renewable, rejected: string | null): Promise<StoredTokens> {
  for (const expiresAt = Date.now() + renewWaitMs; Date.now() < expiresAt; ) {
    const row = await readTokens(ctx, connection);
    const tokens = openTokens(ctx.sealer, connection.id, row.sealedTokens);
    if (tokens !== null && isUsable(tokens, rejected)) return tokens;
    const credentials = openCredentials(ctx.sealer, connection.id, row.sealedCredentials);
    const grant = grantOf(ctx, row.authType, credentials, tokens);
    if (await takeLease(ctx, connection, row.tokenVersion))
      return renewWithLease(ctx, connection, row.tokenVersion, grant);
    await sleep(renewPollMs);
  }
  throw unreachable("Another process is still renewing the tokens.");
}

async function readTokens(ctx: Ctx, { id, credentialVersion }: Renewable): Promise<TokenRow> {
  const [row] = await ctx.sql<TokenRow[]>`
    select auth_type, sealed_credentials, sealed_tokens, token_version
    from mcp_connections where id = ${id} and credential_version = ${credentialVersion}`;
  if (row === undefined) throw authenticationFailed("The connection's credentials were changed or deleted.");
  return row;
}

/** Returns the function that requests the next tokens. Throws when only a person can get them. */
function grantOf(
  ctx: Ctx,
  authType: AuthType,
  { client, server, scope }: McpCredentials,
  tokens: StoredTokens | null,
): () => Promise<StoredTokens> {
  if (client === null || server === null) throw authenticationFailed("Nobody has signed in yet.");
  const grantor: GrantClient = { fetch: oauthFetch(ctx), server, client };
  const refreshToken = tokens?.refreshToken ?? null;
  if (refreshToken !== null) return () => grantForRefresh(grantor, refreshToken);
  if (authType !== "oauth_client_credentials")
    throw authenticationFailed("The sign-in has ended and must be repeated.");
  return () => grantToClient(grantor, scope);
}

/** renewable → being renewed, for this version of the tokens. The lease expires if its process dies. Returns false when another process has it. */
async function takeLease(ctx: Ctx, { id, credentialVersion }: Renewable, tokenVersion: number): Promise<boolean> {
  const { count } = await ctx.sql`
    update mcp_connections set renewing_until = now() + ${renewLeaseMs} * interval '1 millisecond'
    where id = ${id} and credential_version = ${credentialVersion} and token_version = ${tokenVersion}
      and (renewing_until is null or renewing_until < now())`;
  return count > 0;
}

async function renewWithLease(
  ctx: Ctx,
  connection: Renewable,
  tokenVersion: number,
  grant: () => Promise<StoredTokens>,
): Promise<StoredTokens> {
  const tokens = await grant().catch(async (error: unknown) => {
    // A refresh token that was refused will not work again; any other failure may pass.
    if (error instanceof OAuthError && error.code === OAuthErrorCode.InvalidGrant)
      await store(ctx, connection, tokenVersion, null);
    else await release(ctx, connection, tokenVersion);
    throw error;
  });
  await store(ctx, connection, tokenVersion, tokens);
  return tokens;
}

/** being renewed → usable, or no tokens. */
async function store(
  ctx: Ctx,
  connection: Renewable,
  tokenVersion: number,
  tokens: StoredTokens | null,
): Promise<void> {
  const { id, credentialVersion } = connection;
  const sealed = tokens === null ? null : sealTokens(ctx.sealer, id, tokens);
  const expiresAt = tokens === null || tokens.expiresAt === null ? null : new Date(tokens.expiresAt);
  // In a transaction, because that is retried when the database is briefly unavailable: tokens that are not written are lost.
  await tx(
    ctx.sql,
    (inner) => inner`
      update mcp_connections set sealed_tokens = ${sealed}, token_version = token_version + 1,
        token_expires_at = ${expiresAt}, renewing_until = null
      where id = ${id} and credential_version = ${credentialVersion} and token_version = ${tokenVersion}`,
  );
}

/** being renewed → renewable. */
async function release(ctx: Ctx, { id }: Renewable, tokenVersion: number): Promise<void> {
  await ctx.sql`
    update mcp_connections set renewing_until = null where id = ${id} and token_version = ${tokenVersion}`;
}
