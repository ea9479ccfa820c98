import { randomBytes } from "node:crypto";
import type { AuditActor } from "../../kernel/auth/actor.ts";
import type { Principal } from "../../kernel/auth/authenticator.ts";
import type { AccessRole } from "../../kernel/auth/roles.ts";
import { mayStill } from "../../kernel/auth/standing.ts";
import type { Ctx } from "../../kernel/context.ts";
import type { Tx } from "../../kernel/database/client.ts";
import { ApiError } from "../../kernel/errors.ts";
import type { IdOf } from "../../kernel/ids.ts";
import { tenantUrlFault } from "../../kernel/outbound/address.ts";
import type { Fetch } from "../../kernel/outbound/fetch.ts";
import { signInTimeoutMs } from "../limits.ts";
import { findMcpConnection, type McpConnectionRow } from "../store.ts";
import { failureOf, McpFailure, notMcp } from "../wire/failure.ts";
import { oauthFetch } from "../wire/fetches.ts";
import { computeScopeUnion, startAuthorization } from "../wire/sdk.ts";
import { browserCookie, browserSecretIn, isFromOwnPage, newBrowserSecret } from "./browser-cookie.ts";
import { callbackUrl, clientMetadata, documentedClientId } from "./client-document.ts";
import { type OAuthClient, openCredentials } from "./credentials.ts";
import { type AuthorizationServer, discoverAuthorizationServer } from "./discovery.ts";
import { asLibraryHasIt, informationOf, registerClient } from "./grants.ts";
import { htmlPage, redirect } from "./page.ts";
import { claimLink, findLink, type SignIn, type SignInFlow, storeFlow, storeLink } from "./sign-in-store.ts";

/** Who may ask for a link, and may still when the sign-in is finished. */
export const signInRole: AccessRole = "editor";
/** Random bytes of a link's token and of a flow's `state`. */
const secretBytes = 32;

/**
 * `POST /v1/mcp-connections/:id/connect`: returns a link to this service where a
 * person signs in. Throws 403 for every caller but a dashboard user or a member; 404 for a connection that
 * is missing or another tenant's, and 400 for one that does not wait for a sign-in. In form A
 * both are 500 `internal`, as its interface demands.
 */
export async function createSignInLink(
  ctx: Pick<Ctx, "publicUrl">,
  inner: Tx,
  principal: Principal,
  id: IdOf<"mcpConnection">,
): Promise<{ url: string }> {
  const isPerson = principal.kind === "member" || (principal.kind === "dashboard" && principal.authUserId !== null);
  if (!isPerson) throw new ApiError("dashboard_required");
  const row = await findMcpConnection(inner, principal.tenant.id, id);
  if (row === null) throw new ApiError("sign_in_missing");
  if (row.authType !== "oauth_authorization_code" || row.status === "connected")
    throw new ApiError("sign_in_not_awaited");
  const token = secret();
  const { id: connectionId, credentialVersion } = row;
  await storeLink(inner, token, { connectionId, credentialVersion, startedBy: principal.actor });
  return { url: `${ctx.publicUrl}/connect/mcp/${token}` };
}

/**
 * Returns the page behind a link: it says who asks for what, and has the button that begins the
 * sign-in. It changes nothing, because programs that look at links ahead of people open it too.
 */
export async function showSignIn(ctx: Ctx, token: string, request: Request): Promise<Response> {
  const known = browserSecretIn(request, ctx.publicUrl);
  const link = await findLink(ctx.sql, token, known);
  const row = link === null ? null : await connectionOf(ctx, link);
  if (link === null || row === null) return noLink();
  const asks = `${link.tenantName} asks you to sign in to the server ${new URL(row.url).origin} for its connection "${row.name}".`;
  const warns =
    "Its agents will act there as you, with the rights that you grant. Go on only if you expected this request.";
  return htmlPage(200, `Sign in to ${row.name}`, `${asks} ${warns}`, {
    button: "Continue",
    headers: browserCookie(ctx.publicUrl, known ?? newBrowserSecret()),
  });
}

/**
 * Begins the sign-in of a link whose button was pressed: finds the authorization server and
 * redirects the browser there. From now on the link is good in this browser only, for the next
 * `linkPressesMax` presses. Returns a page when that fails.
 */
export async function startSignIn(ctx: Ctx, token: string, request: Request): Promise<Response> {
  if (!isFromOwnPage(request, ctx.publicUrl))
    return htmlPage(403, "This is not our page", "Open the link itself, and press the button there.");
  const browser = browserSecretIn(request, ctx.publicUrl) ?? newBrowserSecret();
  const link = await findLink(ctx.sql, token, browser);
  const row = link === null ? null : await connectionOf(ctx, link);
  if (link === null || row === null || !(await claimLink(ctx.sql, token, browser))) return noLink();
  try {
    const url = await startFlow(ctx, row, { startedBy: link.startedBy, browser });
    return redirect(url, browserCookie(ctx.publicUrl, browser));
  } catch (error) {
    return failedPage(ctx, row, failureOf(error));
  }
}

function noLink(): Response {
  return htmlPage(
    410,
    "This link is no longer valid",
    "It was used before, in another browser perhaps, or is too old. Ask for a new one.",
  );
}

async function startFlow(
  ctx: Ctx,
  row: McpConnectionRow,
  { startedBy, browser }: { readonly startedBy: AuditActor; readonly browser: string },
): Promise<string> {
  const fetch = oauthFetch(ctx, AbortSignal.timeout(signInTimeoutMs));
  const { client: given, scope: givenScope } = openCredentials(ctx.sealer, row.id, row.sealedCredentials);
  const server = await discoverAuthorizationServer(fetch, row.url);
  const asked = givenScope ?? server.askedScope ?? (server.scopesSupported.join(" ") || null);
  const scope = computeScopeUnion(asked ?? undefined, row.missingScope ?? undefined) ?? null;
  checkCanSignIn(server);
  const client = given === null || given.registered ? await ownClient(ctx, fetch, server, scope) : given;
  const state = secret();
  const { authorizationUrl, codeVerifier } = await startAuthorization(server.issuer, {
    metadata: asLibraryHasIt(server.metadata),
    clientInformation: informationOf(client),
    redirectUrl: callbackUrl(ctx),
    ...(scope === null ? {} : { scope }),
    state,
    resource: server.resource,
  });
  // A hostile server may have named this address as well.
  if (tenantUrlFault(authorizationUrl.href, ctx.config.allowPrivateNetwork) !== null)
    throw new McpFailure("mcp_connection_invalid", "The authorization server's address is not one to send people to.");
  const flow: SignInFlow = { codeVerifier, client, server };
  const { id: connectionId, credentialVersion } = row;
  await storeFlow(ctx.sql, ctx.sealer, { state, browser }, { connectionId, credentialVersion, startedBy }, flow);
  return authorizationUrl.href;
}

/** Throws `McpFailure`, which names the field, for an authorization server where no sign-in of this service can work. */
function checkCanSignIn({ metadata }: AuthorizationServer): void {
  const fault = (field: string, why: string) => notMcp(`The authorization server's metadata: \`${field}\` ${why}.`);
  const { authorization_endpoint, response_types_supported, code_challenge_methods_supported: challenges } = metadata;
  if (authorization_endpoint === undefined) throw fault("authorization_endpoint", "is missing");
  if (!response_types_supported.includes("code")) throw fault("response_types_supported", "does not have `code`");
  if (challenges !== undefined && !challenges.includes("S256"))
    throw fault("code_challenge_methods_supported", "does not have `S256`");
}

/** Returns the connection of a sign-in; null when its credentials were changed since, or the member who asked for it may not any more. */
export async function connectionOf(
  ctx: Ctx,
  { tenantId, connectionId, credentialVersion, startedBy }: SignIn & { tenantId: string },
) {
  if (!(await mayStill(ctx.sql, startedBy, signInRole))) return null;
  const row = await findMcpConnection(ctx.sql, tenantId, connectionId);
  return row?.credentialVersion === credentialVersion ? row : null;
}

/** Returns the page that tells of a failure, which the log has too. */
export function failedPage(ctx: Ctx, row: McpConnectionRow, { code, message }: McpFailure): Response {
  ctx.log.warn({ tenantId: row.tenantId, mcpConnectionId: row.id, code, reason: message }, "a sign-in failed");
  return htmlPage(502, "The sign-in failed", `${row.name} could not be connected. ${message}`);
}

/** Returns this service as a client of an authorization server: by its document where the server takes that, else registered. */
async function ownClient(
  ctx: Ctx,
  fetch: Fetch,
  server: AuthorizationServer,
  scope: string | null,
): Promise<OAuthClient> {
  const clientId = documentedClientId(ctx, server);
  if (clientId !== null) return { clientId, clientSecret: null, authMethod: "none", registered: true };
  return registerClient(fetch, server, clientMetadata(ctx), scope);
}

function secret(): string {
  return randomBytes(secretBytes).toString("base64url");
}
