import { ApiError, type Issue, invalid, invalidAll } from "../kernel/errors.ts";
import { tenantUrlFault } from "../kernel/outbound/address.ts";
import { fragment, type Sealer } from "../kernel/seal.ts";
import type { AuthorizationServer } from "./discovery.ts";
import type { AuthType, TargetFields } from "./schema.ts";

/** A client at an authorization server. */
export interface OAuthClient {
  readonly clientId: string;
  readonly clientSecret: string | null;
  /** How it proves itself at the token endpoint; null leaves that to what the server supports. */
  readonly authMethod: string | null;
  /** Registered by us for one sign-in, not given by the tenant. */
  readonly registered: boolean;
}

/** What a connection keeps under seal beside its tokens. */
export interface McpCredentials {
  readonly bearerToken: string | null;
  readonly client: OAuthClient | null;
  readonly scope: string | null;
  /** The authorization server that the tokens are from; null before there are any. */
  readonly server: AuthorizationServer | null;
}

/** OAuth tokens as they are kept. */
export interface StoredTokens {
  readonly accessToken: string;
  readonly refreshToken: string | null;
  /** Milliseconds since 1970; null when the server did not say. */
  readonly expiresAt: number | null;
  /** When to ask for the next one: a little before the end. */
  readonly renewAt: number | null;
}

type FieldName = "bearerToken" | "clientId" | "clientSecret" | "scope";

/** Which credential fields each way takes (document 2, "POST /v1/mcp-connections"). */
const fieldsOf: Readonly<Record<AuthType, { required: readonly FieldName[]; optional: readonly FieldName[] }>> = {
  none: { required: [], optional: [] },
  bearer: { required: ["bearerToken"], optional: [] },
  oauth_client_credentials: { required: ["clientId", "clientSecret"], optional: ["scope"] },
  oauth_authorization_code: { required: [], optional: ["clientId", "clientSecret", "scope"] },
};

/** Checks which credential fields are there. Throws 400 `validation_failed`, and `mcp_connection_invalid` for an unsafe URL. */
export function readCredentials(fields: TargetFields, allowPrivate: boolean): McpCredentials {
  const { authType, url, bearerToken, clientId, clientSecret, scope } = fields;
  const { required, optional } = fieldsOf[authType];
  const issues: Issue[] = [];
  for (const name of ["bearerToken", "clientId", "clientSecret", "scope"] as const) {
    const isThere = fields[name] !== undefined;
    if (!isThere && required.includes(name)) issues.push({ path: `/${name}`, message: `is required for ${authType}` });
    if (isThere && ![...required, ...optional].includes(name))
      issues.push({ path: `/${name}`, message: `is not taken for ${authType}` });
  }
  if (issues.length > 0) throw invalidAll(issues);
  if ((clientId === undefined) !== (clientSecret === undefined))
    throw invalid(clientId === undefined ? "/clientId" : "/clientSecret", "is required beside the other");
  checkUrl(url, allowPrivate);
  const client =
    clientId === undefined || clientSecret === undefined
      ? null
      : { clientId, clientSecret, authMethod: null, registered: false };
  return { bearerToken: bearerToken ?? null, client, scope: scope ?? null, server: null };
}

function checkUrl(url: string, allowPrivate: boolean): void {
  const fault = tenantUrlFault(url, allowPrivate);
  if (fault === null) return;
  if (!URL.canParse(url)) throw invalid("/url", fault);
  throw new ApiError("mcp_connection_invalid", {
    message: `/url: ${fault}`,
    details: { issues: [{ path: "/url", message: fault }] },
  });
}

/** The last characters of what a tenant gave; empty when it gave nothing secret. */
export function credentialFragment({ bearerToken, client }: McpCredentials): string {
  return fragment(bearerToken ?? client?.clientSecret ?? "");
}

/** Seals credentials under the connection's id. */
export function sealCredentials(sealer: Sealer, id: string, credentials: McpCredentials): Buffer {
  return sealer.seal(JSON.stringify(credentials), id);
}

/** Opens what `sealCredentials` made. */
export function openCredentials(sealer: Sealer, id: string, sealed: Uint8Array | null): McpCredentials {
  if (sealed === null) return { bearerToken: null, client: null, scope: null, server: null };
  return JSON.parse(sealer.open(sealed, id)) as McpCredentials;
}

/** Seals tokens under the connection's id; they cannot stand in for its credentials. */
export function sealTokens(sealer: Sealer, id: string, tokens: StoredTokens): Buffer {
  return sealer.seal(JSON.stringify(tokens), `${id}/tokens`);
}

/** Opens what `sealTokens` made. */
export function openTokens(sealer: Sealer, id: string, sealed: Uint8Array | null): StoredTokens | null {
  return sealed === null ? null : (JSON.parse(sealer.open(sealed, `${id}/tokens`)) as StoredTokens);
}
