import type { Fetch } from "../kernel/outbound/fetch.ts";
import { notMcp } from "./failure.ts";
import {
  type AuthorizationServerMetadata,
  checkResourceAllowed,
  discoverOAuthServerInfo,
  extractWWWAuthenticateParams,
  LATEST_PROTOCOL_VERSION,
  type OAuthMetadata,
  resourceUrlFromServerUrl,
} from "./sdk.ts";
import { clientInfo } from "./session.ts";

/** What tokens need to know of an MCP server's authorization server. It is stored, so that credentials are never sent to another one. */
export interface AuthorizationServer {
  readonly issuer: string;
  readonly metadata: OAuthMetadata;
  /** The `resource` that tokens are asked for (RFC 8707). */
  readonly resource: string;
  /** The scope that the MCP server named when it refused the request without a token; null when it named none. */
  readonly askedScope: string | null;
  /** All scopes of the resource that its metadata list. */
  readonly scopesSupported: readonly string[];
}

/**
 * Finds the authorization server of an MCP server: by protected resource metadata
 * (RFC 9728), then authorization server metadata (RFC 8414 or OpenID Connect). A
 * server that publishes neither is its own authorization server, at the
 * conventional paths. `fetch` must be a bounded one, because a hostile server names
 * the addresses here. Throws errors that `failureOf` reads.
 */
export async function discoverAuthorizationServer(fetch: Fetch, url: string): Promise<AuthorizationServer> {
  const { resourceMetadataUrl, scope } = await challenge(fetch, url);
  const { authorizationServerUrl, authorizationServerMetadata, resourceMetadata } = await discoverOAuthServerInfo(url, {
    fetchFn: fetch,
    ...(resourceMetadataUrl === undefined ? {} : { resourceMetadataUrl }),
  });
  const requestedResource = resourceUrlFromServerUrl(url);
  const resource = resourceMetadata?.resource ?? requestedResource.href;
  if (!checkResourceAllowed({ requestedResource, configuredResource: resource }))
    throw notMcp("The server's metadata describe another resource.");
  const metadata =
    authorizationServerMetadata === undefined
      ? metadataByConvention(authorizationServerUrl)
      : pickMetadata(authorizationServerMetadata);
  return {
    issuer: metadata.issuer,
    metadata,
    resource,
    askedScope: scope ?? null,
    scopesSupported: resourceMetadata?.scopes_supported ?? [],
  };
}

/** Sends a request without a credential: the refusal says where the metadata are; without a response, the server is unreachable. */
async function challenge(fetch: Fetch, url: string): Promise<ReturnType<typeof extractWWWAuthenticateParams>> {
  const params = {
    protocolVersion: LATEST_PROTOCOL_VERSION,
    capabilities: {},
    clientInfo,
  };
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 0, method: "initialize", params }),
  });
  await response.body?.cancel();
  return extractWWWAuthenticateParams(response);
}

/** Keeps only what tokens need, because it is sealed and stored. */
function pickMetadata(metadata: AuthorizationServerMetadata): OAuthMetadata {
  const {
    issuer,
    authorization_endpoint,
    token_endpoint,
    registration_endpoint,
    response_types_supported,
    code_challenge_methods_supported,
    token_endpoint_auth_methods_supported,
  } = metadata;
  // Fields that the SDK's type for OpenID providers does not name; both documents may hold them.
  const { revocation_endpoint, authorization_response_iss_parameter_supported, client_id_metadata_document_supported } =
    metadata as Record<string, unknown>;
  return {
    issuer,
    authorization_endpoint,
    token_endpoint,
    registration_endpoint,
    revocation_endpoint: typeof revocation_endpoint === "string" ? revocation_endpoint : undefined,
    response_types_supported,
    code_challenge_methods_supported,
    token_endpoint_auth_methods_supported,
    authorization_response_iss_parameter_supported: authorization_response_iss_parameter_supported === true,
    client_id_metadata_document_supported: client_id_metadata_document_supported === true,
  };
}

function metadataByConvention(authorizationServerUrl: string): OAuthMetadata {
  const at = (path: string) => new URL(path, authorizationServerUrl).href;
  return {
    issuer: new URL(authorizationServerUrl).origin,
    authorization_endpoint: at("/authorize"),
    token_endpoint: at("/token"),
    registration_endpoint: at("/register"),
    response_types_supported: ["code"],
  };
}
