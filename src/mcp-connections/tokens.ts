import type { Ctx } from "../kernel/context.ts";
import { tx } from "../kernel/database/client.ts";
import { type McpCredentials, openCredentials, openTokens, type StoredTokens, sealTokens } from "./credentials.ts";
import { failureOf, notAllowedIn, unreachable } from "./failure.ts";
import { oauthFetch } from "./fetches.ts";
import { type GrantClient, grantForRefresh, grantToClient } from "./grants.ts";
import { renewLeaseMs, renewLookMs, renewWaitMs } from "./limits.ts";
import type { AuthType } from "./schema.ts";
import { InvalidGrantError } from "./sdk.ts";
import type { McpConnectionRow } from "./store.ts";

/** Renewals under way in this process, so that its callers share one. */
const renewals = new WeakMap<Ctx, Map<string, Promise<StoredTokens>>>();

type Renewable = Pick<McpConnectionRow, "id" | "credentialVersion">;

interface TokenRow {
  authType: AuthType;
  sealedCredentials: Uint8Array | null;
  sealedTokens: Uint8Array | null;
  tokenVersion: number;
}

/** Whether tokens can be used as they are: not the refused one, and not about to end. */
export function isUsable(tokens: StoredTokens, rejected: string | null): boolean {
  return tokens.accessToken !== rejected && (tokens.renewAt === null || tokens.renewAt > Date.now());
}

/**
 * Tokens of a stored OAuth connection other than the `rejected` one, renewed
 * when need be. Renewals are serialised over all processes: a refresh token that
 * rotates is good for one use, and a second use may revoke them all. Throws
 * `McpFailure`.
 */
export function renewTokens(ctx: Ctx, connection: Renewable, rejected: string | null): Promise<StoredTokens> {
  const underWay = renewals.get(ctx) ?? new Map<string, Promise<StoredTokens>>();
  renewals.set(ctx, underWay);
  const key = JSON.stringify([connection.id, connection.credentialVersion, rejected]);
  const known = underWay.get(key);
  if (known !== undefined) return known;
  const renewal = renewInTurn(ctx, connection, rejected)
    .catch((error: unknown) => {
      throw failureOf(error);
    })
    .finally(() => underWay.delete(key));
  underWay.set(key, renewal);
  return renewal;
}

async function renewInTurn(ctx: Ctx, connection: Renewable, rejected: string | null): Promise<StoredTokens> {
  for (const expiresAt = Date.now() + renewWaitMs; Date.now() < expiresAt; ) {
    const row = await readTokens(ctx, connection);
    const tokens = openTokens(ctx.sealer, connection.id, row.sealedTokens);
    if (tokens !== null && isUsable(tokens, rejected)) return tokens;
    const credentials = openCredentials(ctx.sealer, connection.id, row.sealedCredentials);
    const grant = grantOf(ctx, row.authType, credentials, tokens);
    if (await claim(ctx, connection, row.tokenVersion)) return keep(ctx, connection, row.tokenVersion, grant);
    await new Promise((resolve) => setTimeout(resolve, renewLookMs));
  }
  throw unreachable("Another process is still renewing the tokens.");
}

async function readTokens(ctx: Ctx, { id, credentialVersion }: Renewable): Promise<TokenRow> {
  const [row] = await ctx.sql<TokenRow[]>`
    select auth_type as "authType", sealed_credentials as "sealedCredentials", sealed_tokens as "sealedTokens", token_version as "tokenVersion"
    from mcp_connections where id = ${id} and credential_version = ${credentialVersion}`;
  if (row === undefined) throw notAllowedIn("The connection's credentials were changed or deleted.");
  return row;
}

/** How the next tokens are to be had. Throws when only a person can get them. */
function grantOf(
  ctx: Ctx,
  authType: AuthType,
  { client, server, scope }: McpCredentials,
  tokens: StoredTokens | null,
): () => Promise<StoredTokens> {
  if (client === null || server === null) throw notAllowedIn("Nobody has signed in yet.");
  const grantor: GrantClient = { fetch: oauthFetch(ctx), server, client };
  const refreshToken = tokens?.refreshToken ?? null;
  if (refreshToken !== null) return () => grantForRefresh(grantor, refreshToken);
  if (authType !== "oauth_client_credentials") throw notAllowedIn("The sign-in has ended and must be repeated.");
  return () => grantToClient(grantor, scope);
}

/** Takes the right to renew these very tokens. The lease ends by itself when its process dies. */
async function claim(ctx: Ctx, { id, credentialVersion }: Renewable, tokenVersion: number): Promise<boolean> {
  const { count } = await ctx.sql`
    update mcp_connections set renewing_until = now() + ${renewLeaseMs} * interval '1 millisecond'
    where id = ${id} and credential_version = ${credentialVersion} and token_version = ${tokenVersion}
      and (renewing_until is null or renewing_until < now())`;
  return count > 0;
}

async function keep(
  ctx: Ctx,
  connection: Renewable,
  tokenVersion: number,
  grant: () => Promise<StoredTokens>,
): Promise<StoredTokens> {
  const tokens = await grant().catch(async (error: unknown) => {
    // A refresh token that is refused is good for nothing; whatever else fails may pass.
    if (error instanceof InvalidGrantError) await store(ctx, connection, tokenVersion, null);
    else await release(ctx, connection, tokenVersion);
    throw error;
  });
  await store(ctx, connection, tokenVersion, tokens);
  return tokens;
}

async function store(
  ctx: Ctx,
  connection: Renewable,
  tokenVersion: number,
  tokens: StoredTokens | null,
): Promise<void> {
  const { id, credentialVersion } = connection;
  const sealed = tokens === null ? null : sealTokens(ctx.sealer, id, tokens);
  const expiresAt = tokens === null || tokens.expiresAt === null ? null : new Date(tokens.expiresAt);
  // In a transaction, because that is tried again over a blip: tokens that were not written are lost.
  await tx(
    ctx.sql,
    (inner) => inner`
      update mcp_connections set sealed_tokens = ${sealed}, token_version = token_version + 1,
        token_expires_at = ${expiresAt}, renewing_until = null
      where id = ${id} and credential_version = ${credentialVersion} and token_version = ${tokenVersion}`,
  );
}

async function release(ctx: Ctx, { id }: Renewable, tokenVersion: number): Promise<void> {
  await ctx.sql`
    update mcp_connections set renewing_until = null where id = ${id} and token_version = ${tokenVersion}`;
}
