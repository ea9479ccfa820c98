import type { Fetch } from "../../kernel/outbound/fetch.ts";
import { failureOfStatus, type McpFailure, notMcp } from "../wire/failure.ts";
import {
  checkResourceAllowed,
  clientInfo,
  discoverOAuthServerInfo,
  extractWWWAuthenticateParams,
  LATEST_PROTOCOL_VERSION,
  resourceUrlFromServerUrl,
} from "../wire/sdk.ts";
import { type Discovered, discoveryReaders, readingFetch } from "./oauth-documents.ts";
import type { ServerMetadata } from "./server-metadata.ts";

/** What tokens need to know of an MCP server's authorization server. It is stored, so that credentials are never sent to another one. */
export interface AuthorizationServer {
  readonly issuer: string;
  readonly metadata: ServerMetadata;
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
  const requestedResource = resourceUrlFromServerUrl(url);
  const found: Discovered = { metadata: null, scopesSupported: [], fault: null };
  const { authorizationServerUrl, resourceMetadata } = await discoverOAuthServerInfo(url, {
    fetchFn: readingFetch(fetch, discoveryReaders(requestedResource, found)),
    ...(resourceMetadataUrl === undefined ? {} : { resourceMetadataUrl }),
  }).catch((error: unknown) => {
    throw found.fault ?? statusFailure(error) ?? error;
  });
  if (found.fault !== null) throw found.fault;
  const resource = resourceMetadata?.resource ?? requestedResource.href;
  if (!checkResourceAllowed({ requestedResource, configuredResource: resource }))
    throw notMcp("The MCP server's resource metadata: `resource` is another one.");
  const metadata = found.metadata ?? metadataByConvention(authorizationServerUrl);
  return {
    issuer: metadata.issuer,
    metadata,
    resource,
    askedScope: scope ?? null,
    scopesSupported: found.scopesSupported,
  };
}

/** The library tells of a status in the text of its error alone. */
function statusFailure(error: unknown): McpFailure | null {
  const status = error instanceof Error ? /^HTTP (\d{3}) trying to load/.exec(error.message)?.[1] : undefined;
  return status === undefined ? null : failureOfStatus(Number(status), "The authorization server");
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

function metadataByConvention(authorizationServerUrl: string): ServerMetadata {
  const at = (path: string) => new URL(path, authorizationServerUrl).href;
  return {
    issuer: new URL(authorizationServerUrl).origin,
    authorization_endpoint: at("/authorize"),
    token_endpoint: at("/token"),
    registration_endpoint: at("/register"),
    response_types_supported: ["code"],
  };
}
