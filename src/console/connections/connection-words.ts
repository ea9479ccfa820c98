import type { McpConnection, McpConnectionReconnect } from "parley/client";

/** How a connection authenticates: how a request names it, and what people call it. */
export const authTypeChoices = [
  ["none", "Nothing: the server is open"],
  ["bearer", "Bearer token"],
  ["oauth_client_credentials", "OAuth, as an application"],
  ["oauth_authorization_code", "OAuth, a person signs in"],
] as const;

/** What people call a way to authenticate. */
export function authTypeText(authType: McpConnection["authType"]): string {
  return authTypeChoices.find(([value]) => value === authType)?.[1] ?? authType;
}

/** Where a server is and the credentials for it, as they are typed. */
export interface TargetForm {
  readonly url: string;
  readonly authType: string;
  readonly bearerToken: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly scope: string;
}

/** The fields that each way to authenticate has. */
export const fieldsOfAuthType: {
  readonly [authType: string]: readonly ("bearerToken" | "clientId" | "clientSecret" | "scope")[];
} = {
  none: [],
  bearer: ["bearerToken"],
  oauth_client_credentials: ["clientId", "clientSecret", "scope"],
  oauth_authorization_code: ["clientId", "clientSecret", "scope"],
};

/** The request's fields: those of the chosen way to authenticate, without the empty ones. */
export function targetOfForm(form: TargetForm): McpConnectionReconnect {
  const target: { [field: string]: string } = { url: form.url.trim(), authType: form.authType };
  for (const field of fieldsOfAuthType[form.authType] ?? [])
    if (form[field].trim() !== "") target[field] = form[field].trim();
  return target as unknown as McpConnectionReconnect;
}

/** Why a connection has the status that it has; null where there is nothing to say. */
export function statusReason({ status, authType, lastAuthErrorCode }: McpConnection): string | null {
  if (status === "connected") return null;
  if (lastAuthErrorCode !== null) return reasons[lastAuthErrorCode] ?? lastAuthErrorCode;
  if (status === "needs_auth" && authType === "oauth_authorization_code") return "Somebody has to sign in.";
  return null;
}

const reasons: { readonly [code: string]: string | undefined } = {
  mcp_connection_authentication_failed: "The server refused the credentials, or asks for more than they allow.",
  mcp_connection_unreachable: "The server cannot be reached.",
  mcp_connection_discovery_failed: "The server does not say how to sign in, or does not speak the protocol.",
  mcp_connection_invalid: "The server's address, or one that it names, cannot be used.",
};

/** Why the connect button does nothing for this connection and person; null where it does. */
export function signInHindrance({ status, authType }: McpConnection, userId: string | null): string | null {
  if (authType !== "oauth_authorization_code" || status === "connected") return "Nobody has to sign in.";
  if (userId === null)
    return "Signing in belongs to a dashboard user: sign in to the console with a dashboard token to do it, not with an API key.";
  return null;
}
