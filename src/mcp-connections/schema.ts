import { type TSchema, Type } from "@sinclair/typebox";
import { Component, example } from "../kernel/http/component.ts";
import { Closed, listPartQuery, Name, OneOf } from "../kernel/http/request-fields.ts";

/** MCP connections that a tenant may have at once. */
export const mcpConnectionsPerTenantMax = 50;
/** A URL has at most this many characters. */
const urlLengthMax = 2_048;
/** A token, client id or client secret has at most this many characters; signed tokens are long. */
const credentialLengthMax = 8_192;
/** A scope, a list of words, has at most this many characters. */
const scopeLengthMax = 2_048;

/** How a connection authenticates at its server. */
export const authTypes = ["none", "bearer", "oauth_client_credentials", "oauth_authorization_code"] as const;
export type AuthType = (typeof authTypes)[number];

/** The states of a connection; their moves are in `status.ts`. */
export type McpConnectionStatus = "connected" | "needs_auth" | "error";

/** Credentials are sent in headers, where other characters would fail at every request. */
const Credential = Type.String({
  minLength: 1,
  maxLength: credentialLengthMax,
  pattern: "^[!-~]([ -~]*[!-~])?$",
  errorMessage: `must be 1 to ${credentialLengthMax} printable ASCII characters, without spaces around them`,
});

/** The fields that create and reconnect share: where the server is, and the credentials for it. */
const target = {
  url: example(Type.String({ minLength: 1, maxLength: urlLengthMax }), "https://mcp.example.org/mcp"),
  authType: example(OneOf(...authTypes), "bearer"),
  bearerToken: Type.Optional(example(Credential, "0123456789abcdef")),
  clientId: Type.Optional(Credential),
  clientSecret: Type.Optional(Credential),
  // RFC 6749, appendix A.4: words of printable ASCII without quotes and backslashes.
  scope: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: scopeLengthMax,
      pattern: "^[!#-\\[\\]-~]+( [!#-\\[\\]-~]+)*$",
      errorMessage: "must be words of printable ASCII characters with one space between them",
    }),
  ),
} satisfies Record<string, TSchema>;

export const McpConnectionCreate = Component("McpConnectionCreate", { name: example(Name, "Clock"), ...target });
export const McpConnectionReconnect = Component("McpConnectionReconnect", target);
export const McpConnectionRename = Component("McpConnectionUpdate", { name: example(Name, "Clock") });

export const McpConnectionListQuery = Closed(listPartQuery);

/** Where a server is and the credentials for it, after the schema's checks. */
export interface TargetFields {
  readonly url: string;
  readonly authType: AuthType;
  readonly bearerToken?: string;
  readonly clientId?: string;
  readonly clientSecret?: string;
  readonly scope?: string;
}

/** An MCP connection in the interface's form: never its credentials. */
export interface McpConnection {
  readonly id: string;
  readonly name: string;
  readonly url: string;
  readonly authType: AuthType;
  readonly status: McpConnectionStatus;
  readonly credentialFragment: string;
  readonly lastAuthErrorCode: string | null;
  readonly oauthIssuer: string | null;
  readonly oauthResource: string | null;
  readonly tokenExpiresAt: string | null;
  readonly createdAt: string;
  readonly updatedAt: string;
}
