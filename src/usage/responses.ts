import { Type } from "@sinclair/typebox";
import { Closed, Nullable } from "../kernel/http/request-fields.ts";
import { Day, TextOrNull } from "../kernel/http/response-fields.ts";
import { Id } from "../kernel/ids.ts";

/** The response schema of usage, for the OpenAPI document. */
const totals = {
  inputTokens: Type.Integer(),
  outputTokens: Type.Integer(),
  requestCount: Type.Integer(),
  durationMs: Type.Integer(),
};
const Bucket = Closed({
  ...totals,
  day: Nullable(Day),
  agentId: Nullable(Id("agent")),
  sessionId: TextOrNull,
  userId: TextOrNull,
  provider: TextOrNull,
  model: TextOrNull,
});
export const UsageResponse = Closed({ buckets: Type.Array(Bucket), totals: Closed(totals) });
