import { Type } from "@sinclair/typebox";
import { Closed, OneOf } from "../kernel/http/request-fields.ts";
import { Failure, listOf, MomentOrNull, Text, TextOrNull, times } from "../kernel/http/response-fields.ts";
import { Id } from "../kernel/ids.ts";
import { authTypes } from "./schema.ts";

/** The responses of the operations on MCP connections. */
export const McpConnectionResponse = Closed({
  id: Id("mcpConnection"),
  name: Text,
  url: Text,
  authType: OneOf(...authTypes),
  status: OneOf("connected", "needs_auth", "error"),
  credentialFragment: Text,
  lastAuthErrorCode: TextOrNull,
  oauthIssuer: TextOrNull,
  oauthResource: TextOrNull,
  tokenExpiresAt: MomentOrNull,
  ...times,
});
export const McpConnectionListResponse = listOf("mcpConnections", McpConnectionResponse);
export const McpReconnectResponse = Closed({
  status: OneOf("connected", "needs_auth"),
  connection: McpConnectionResponse,
});
export const SignInLinkResponse = Closed({ url: Text });
export const McpConnectionTestResponse = Type.Union([
  Closed({
    ok: Type.Literal(true),
    latencyMs: Type.Integer(),
    server: Closed({ name: Text, version: Text }),
    toolCount: Type.Integer(),
    toolNames: Type.Array(Text),
  }),
  Closed({ ok: Type.Literal(false), error: Failure }),
]);
