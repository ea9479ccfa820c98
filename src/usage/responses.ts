import { Type } from "@sinclair/typebox";
import { Component, example } from "../kernel/http/component.ts";
import { Nullable } from "../kernel/http/request-fields.ts";
import { costFields, Day, TextOrNull, tokenParts } from "../kernel/http/response-fields.ts";
import { Id } from "../kernel/ids.ts";

/** What operations on usage respond with, for the OpenAPI document. */
const totals = {
  inputTokens: example(Type.Integer(), 81_200),
  outputTokens: example(Type.Integer(), 9_600),
  ...tokenParts,
  ...costFields,
  requestCount: example(Type.Integer(), 100),
  durationMs: example(Type.Integer(), 240_000),
};
const Bucket = Component("UsageBucket", {
  ...totals,
  day: Nullable(Day),
  agentId: example(Nullable(Id("agent")), null),
  sessionId: example(TextOrNull, null),
  userId: example(TextOrNull, null),
  provider: example(TextOrNull, null),
  model: example(TextOrNull, null),
});
export const UsageResponse = Component("Usage", {
  buckets: Type.Array(Bucket),
  totals: Component("UsageTotals", totals),
});
