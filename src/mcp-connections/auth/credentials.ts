import { ApiError, type Issue, invalid, invalidAll } from "../../kernel/errors.ts";
import type { IdOf } from "../../kernel/ids.ts";
import { tenantUrlFault } from "../../kernel/outbound/address.ts";
import { fragment, type Sealer } from "../../kernel/seal.ts";
import type { AuthType, TargetFields } from "../schema.ts";
import type { ValidatedTarget } from "../store.ts";
import type { AuthorizationServer } from "./discovery.ts";

/** A client at an authorization server. */
export interface OAuthClient {
  readonly clientId: string;
  readonly clientSecret: string | null;
  /** How it authenticates at the token endpoint; null: by what the server supports. */
  readonly authMethod: string | null;
  /** Registered by this service for one sign-in, not given by the tenant. */
  readonly registered: boolean;
}

/** What a connection stores sealed, beside its tokens. */
export interface McpCredentials {
  readonly bearerToken: string | null;
  readonly client: OAuthClient | null;
  readonly scope: string | null;
  /** The authorization server that issued the tokens; null before there are any. */
  readonly server: AuthorizationServer | null;
}

/** OAuth tokens as they are stored. */
export interface StoredTokens {
  readonly accessToken: string;
  readonly refreshToken: string | null;
  /** Milliseconds since 1970; null when the server did not say. */
  readonly expiresAt: number | null;
  /** When to renew, a little before the expiry; null when there is none. */
  readonly renewAt: number | null;
}

type FieldName = "bearerToken" | "clientId" | "clientSecret" | "scope";

/** The credential fields of each `authType` (`POST /v1/mcp-connections`). */
const fieldsOf: Readonly<Record<AuthType, { required: readonly FieldName[]; optional: readonly FieldName[] }>> = {
  none: { required: [], optional: [] },
  bearer: { required: ["bearerToken"], optional: [] },
  oauth_client_credentials: { required: ["clientId", "clientSecret"], optional: ["scope"] },
  oauth_authorization_code: { required: [], optional: ["clientId", "clientSecret", "scope"] },
};

/** Returns the credentials in a request's fields. Throws 400 `validation_failed`, and `mcp_connection_invalid` for an unsafe URL. */
export function readCredentials(fields: TargetFields, allowPrivate: boolean): McpCredentials {
  const { authType, url, bearerToken, clientId, clientSecret, scope } = fields;
  const { required, optional } = fieldsOf[authType];
  const issues: Issue[] = [];
  for (const name of ["bearerToken", "clientId", "clientSecret", "scope"] as const) {
    const isGiven = fields[name] !== undefined;
    if (!isGiven && required.includes(name)) issues.push({ path: `/${name}`, message: `is required for ${authType}` });
    if (isGiven && ![...required, ...optional].includes(name))
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

/** Returns the last characters of the secret that a tenant gave; empty when it gave none. */
export function credentialFragment({ bearerToken, client }: McpCredentials): string {
  return fragment(bearerToken ?? client?.clientSecret ?? "");
}

/** Returns credentials sealed under the connection's id. */
export function sealCredentials(sealer: Sealer, id: IdOf<"mcpConnection">, credentials: McpCredentials): Buffer {
  return sealer.seal(JSON.stringify(credentials), id);
}

/** Unseals what `sealCredentials` returned. Null opens as no credentials. */
export function openCredentials(sealer: Sealer, id: IdOf<"mcpConnection">, sealed: Uint8Array | null): McpCredentials {
  if (sealed === null) return { bearerToken: null, client: null, scope: null, server: null };
  return JSON.parse(sealer.open(sealed, id)) as McpCredentials;
}

/** Returns what a connection's tokens are sealed for. */
export function tokensSealedFor(id: string): string {
  return `${id}/tokens`;
}

/** Returns tokens sealed under the connection's id, in such a way that they do not unseal as its credentials. */
export function sealTokens(sealer: Sealer, id: IdOf<"mcpConnection">, tokens: StoredTokens): Buffer {
  return sealer.seal(JSON.stringify(tokens), tokensSealedFor(id));
}

/** Unseals what `sealTokens` returned. */
export function openTokens(sealer: Sealer, id: IdOf<"mcpConnection">, sealed: Uint8Array | null): StoredTokens | null {
  return sealed === null ? null : (JSON.parse(sealer.open(sealed, tokensSealedFor(id))) as StoredTokens);
}

/** Returns tokens as a row stores them. */
export function sealedTokens(
  sealer: Sealer,
  id: IdOf<"mcpConnection">,
  tokens: StoredTokens | null,
): Pick<ValidatedTarget, "sealedTokens" | "tokenExpiresAt"> {
  if (tokens === null) return { sealedTokens: null, tokenExpiresAt: null };
  const tokenExpiresAt = tokens.expiresAt === null ? null : new Date(tokens.expiresAt);
  return { sealedTokens: sealTokens(sealer, id, tokens), tokenExpiresAt };
}

/** Returns what the interface shows of the authorization server. */
export function shownServer({ server }: McpCredentials): Pick<ValidatedTarget, "oauthIssuer" | "oauthResource"> {
  return { oauthIssuer: server?.issuer ?? null, oauthResource: server?.resource ?? null };
}
