import { Type } from "@sinclair/typebox";
import { Component, component, example } from "../kernel/http/component.ts";
import { Closed, OneOf } from "../kernel/http/request-fields.ts";
import { Failure, listPartOf, MomentOrNull, Text, TextOrNull, times } from "../kernel/http/response-fields.ts";
import { Id } from "../kernel/ids.ts";
import { authTypes } from "./schema.ts";

/** What operations on MCP connections respond with, for the OpenAPI document. */
const connection = {
  id: Id("mcpConnection"),
  name: example(Text, "Clock"),
  url: example(Text, "https://mcp.example.org/mcp"),
  authType: example(OneOf(...authTypes), "bearer"),
  status: OneOf("connected", "needs_auth", "error"),
  credentialFragment: example(Text, "3f9a"),
  lastAuthErrorCode: example(TextOrNull, null),
  oauthIssuer: example(TextOrNull, null),
  oauthResource: example(TextOrNull, null),
  tokenExpiresAt: example(MomentOrNull, null),
  ...times,
};
/** Tools of the server that cannot be used, and why; empty where there are none. */
const leftOut = example(
  Type.Array(
    Component("McpToolLeftOut", {
      name: example(Text, "#3"),
      reason: example(Text, "`inputSchema.type` is not `object`."),
    }),
  ),
  [],
);
export const McpConnectionResponse = Component("McpConnection", connection);
export const McpConnectionCreatedResponse = Component("McpConnectionCreated", { ...connection, leftOut });
export const McpConnectionListResponse = listPartOf("McpConnectionList", "mcpConnections", McpConnectionResponse);
export const McpReconnectResponse = Component("McpReconnected", {
  status: OneOf("connected", "needs_auth"),
  connection: McpConnectionResponse,
  leftOut,
});
export const SignInLinkResponse = Component("McpSignInLink", {
  url: example(Text, "https://parley.example.org/connect/mcp/0mk7q2v5c8d1f4h6j9n3p0rt"),
});
export const McpConnectionTestResponse = component(
  "McpConnectionTest",
  Type.Union([
    Closed({
      ok: Type.Literal(true),
      latencyMs: example(Type.Integer(), 120),
      server: Closed({ name: example(Text, "clock"), version: example(Text, "1.0.0") }),
      toolCount: Type.Integer(),
      toolNames: example(Type.Array(Text), ["time"]),
      leftOut,
    }),
    Closed({ ok: Type.Literal(false), error: Failure }),
  ]),
);
