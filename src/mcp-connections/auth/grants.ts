import type { Fetch } from "../../kernel/outbound/fetch.ts";
import { notMcp } from "../wire/failure.ts";
import {
  exchangeAuthorization,
  fetchToken,
  type OAuthClientInformationMixed,
  type OAuthClientMetadata,
  type OAuthClientProvider,
  type OAuthMetadata,
  type OAuthTokens,
  refreshAuthorization,
  registerClient as register,
  selectClientAuthMethod,
} from "../wire/sdk.ts";
import type { OAuthClient, StoredTokens } from "./credentials.ts";
import type { AuthorizationServer } from "./discovery.ts";
import { readingFetch, registrationAnswer, tokenAnswer } from "./oauth-documents.ts";
import type { ServerMetadata } from "./server-metadata.ts";

/** Tokens are renewed this long before they expire. */
const renewBeforeMs = 30_000;
/** Tokens of a short lifetime are renewed after this part of it. */
const renewAfterPart = 0.8;

/** A client and the authorization server that knows it. */
export interface GrantClient {
  readonly fetch: Fetch;
  readonly server: AuthorizationServer;
  readonly client: OAuthClient;
}

/** Requests tokens with the client's own credentials. Throws errors that `failureOf` reads. */
export async function grantToClient(
  { fetch, server, client }: GrantClient,
  scope: string | null,
): Promise<StoredTokens> {
  const requestedScope = scope ?? server.askedScope;
  const provider = {
    redirectUrl: undefined,
    clientMetadata: { redirect_uris: [] },
    clientInformation: () => informationOf(client),
    prepareTokenRequest: () =>
      new URLSearchParams({
        grant_type: "client_credentials",
        ...(requestedScope === null ? {} : { scope: requestedScope }),
      }),
  } as unknown as OAuthClientProvider;
  const { resource } = server;
  return toTokens(await fetchToken(provider, server.issuer, { ...asked(fetch, server), resource }), null);
}

/** What a sign-in brought back. */
interface SignInAnswer {
  readonly code: string;
  /** The issuer that the answer names (RFC 9207); null when it names none. */
  readonly issuer: string | null;
  readonly codeVerifier: string;
  readonly redirectUri: string;
}

/** Exchanges the code of a sign-in for tokens. Throws errors that `failureOf` reads. */
export async function grantForCode(
  { fetch, server, client }: GrantClient,
  { code, issuer, codeVerifier, redirectUri }: SignInAnswer,
): Promise<StoredTokens> {
  const tokens = await exchangeAuthorization(server.issuer, {
    ...asked(fetch, server),
    clientInformation: informationOf(client),
    authorizationCode: code,
    ...(issuer === null ? {} : { iss: issuer }),
    codeVerifier,
    redirectUri,
    resource: server.resource,
  });
  return toTokens(tokens, null);
}

/** Exchanges a refresh token for new tokens; when the response has no new refresh token, the old one stays valid. Throws errors that `failureOf` reads. */
export async function grantForRefresh(
  { fetch, server, client }: GrantClient,
  refreshToken: string,
): Promise<StoredTokens> {
  const tokens = await refreshAuthorization(server.issuer, {
    ...asked(fetch, server),
    clientInformation: informationOf(client),
    refreshToken,
    resource: server.resource,
  });
  return toTokens(tokens, refreshToken);
}

/** Where tokens are asked for, and by which fetch. */
function asked(fetch: Fetch, { metadata }: AuthorizationServer) {
  return { metadata: asLibraryHasIt(metadata), fetchFn: readingFetch(fetch, () => tokenAnswer) };
}

/** Returns metadata as the library's types have them; it reads the endpoint that is asked for and no other. */
export function asLibraryHasIt(metadata: ServerMetadata): OAuthMetadata {
  return metadata as OAuthMetadata;
}

/** Registers a client for one connection (RFC 7591). Throws errors that `failureOf` reads. */
export async function registerClient(
  fetch: Fetch,
  server: AuthorizationServer,
  clientMetadata: OAuthClientMetadata,
  scope: string | null,
): Promise<OAuthClient> {
  if (server.metadata.registration_endpoint === undefined)
    throw notMcp(
      "The authorization server's metadata: `registration_endpoint` is missing, so the connection needs a client id and secret.",
    );
  const made = await register(server.issuer, {
    metadata: asLibraryHasIt(server.metadata),
    clientMetadata,
    ...(scope === null ? {} : { scope }),
    fetchFn: readingFetch(fetch, () => registrationAnswer),
  });
  return {
    clientId: made.client_id,
    clientSecret: made.client_secret ?? null,
    authMethod: made.token_endpoint_auth_method ?? null,
    registered: true,
  };
}

/** Revokes tokens if the server has an endpoint for it (RFC 7009). Throws when one could not be revoked. */
export async function revokeTokens({ fetch, server, client }: GrantClient, tokens: StoredTokens): Promise<void> {
  const endpoint = server.metadata.revocation_endpoint;
  if (endpoint === undefined) return;
  const hints = { refresh_token: tokens.refreshToken, access_token: tokens.accessToken };
  for (const [hint, token] of Object.entries(hints)) {
    if (token === null) continue;
    const headers = new Headers({ "content-type": "application/x-www-form-urlencoded" });
    const body = new URLSearchParams({ token, token_type_hint: hint });
    authenticate(client, server, headers, body);
    const response = await fetch(endpoint, { method: "POST", headers, body: body.toString() });
    await response.body?.cancel();
    if (!response.ok) throw new Error(`The revocation endpoint answered HTTP ${response.status}.`);
  }
}

function authenticate(client: OAuthClient, server: AuthorizationServer, headers: Headers, body: URLSearchParams): void {
  const { clientId, clientSecret } = client;
  const supported = server.metadata.token_endpoint_auth_methods_supported ?? [];
  const method = selectClientAuthMethod(informationOf(client), supported);
  if (method === "client_secret_basic" && clientSecret !== null) {
    headers.set("authorization", `Basic ${btoa(`${clientId}:${clientSecret}`)}`);
    return;
  }
  body.set("client_id", clientId);
  if (method === "client_secret_post" && clientSecret !== null) body.set("client_secret", clientSecret);
}

/** Returns the client in the SDK's form. */
export function informationOf({ clientId, clientSecret, authMethod }: OAuthClient): OAuthClientInformationMixed {
  return {
    client_id: clientId,
    ...(clientSecret === null ? {} : { client_secret: clientSecret }),
    ...(authMethod === null ? {} : { token_endpoint_auth_method: authMethod }),
  } as OAuthClientInformationMixed;
}

function toTokens(tokens: OAuthTokens, previousRefreshToken: string | null): StoredTokens {
  const { access_token, refresh_token, expires_in } = tokens;
  const lifetimeMs = expires_in === undefined ? null : Math.max(0, expires_in * 1000);
  return {
    accessToken: access_token,
    refreshToken: refresh_token ?? previousRefreshToken,
    expiresAt: lifetimeMs === null ? null : Date.now() + lifetimeMs,
    renewAt:
      lifetimeMs === null ? null : Date.now() + Math.max(lifetimeMs - renewBeforeMs, lifetimeMs * renewAfterPart),
  };
}
