import { Type } from "@sinclair/typebox";
import { roles } from "../kernel/auth/roles.ts";
import { Component, example } from "../kernel/http/component.ts";
import { OneOf } from "../kernel/http/request-fields.ts";
import { listPartOf, Moment, MomentOrNull, Text } from "../kernel/http/response-fields.ts";
import { Id } from "../kernel/ids.ts";

/** What operations on API keys respond with, for the OpenAPI document. */
const ApiKeyResponse = Component("ApiKey", {
  id: Id("apiKey"),
  name: example(Text, "Production"),
  keyFragment: example(Text, "3f9a"),
  createdAt: Moment,
  expiresAt: example(MomentOrNull, null),
  role: example(OneOf(...roles), "runner"),
  agentIds: example(Type.Union([Type.Array(Id("agent")), Type.Null()]), null),
  lastUsedAt: MomentOrNull,
});
export const ApiKeyCreatedResponse = Component("ApiKeyCreated", {
  apiKey: ApiKeyResponse,
  token: example(Text, "parley_0mk7q2v5c8d1f4h6j9n3p0rt"),
});
export const ApiKeyListResponse = listPartOf("ApiKeyList", "apiKeys", ApiKeyResponse);
