import { type TSchema, Type } from "@sinclair/typebox";
import { Component, example } from "../kernel/http/component.ts";
import { Closed, Metadata, Nullable, OneOf } from "../kernel/http/request-fields.ts";
import { Day, Moment, MomentOrNull, NextCursor, Text, TextOrNull, times } from "../kernel/http/response-fields.ts";
import { Id } from "../kernel/ids.ts";
import { billingProviders, usageEventStatuses } from "./schema.ts";

/** What operations on merchant billing respond with, for the OpenAPI document. */
const Connection = Component("MerchantConnection", {
  id: Id("merchantConnection"),
  provider: OneOf(...billingProviders),
  environment: OneOf("sandbox", "live"),
  status: OneOf("active", "disconnected"),
  merchantAccountId: example(Text, "acct_1"),
  keyFragment: example(Text, "3f9a"),
  guard: Closed({
    enabled: Type.Boolean(),
    productIds: example(Type.Array(Text), ["prod_1"]),
    meterId: example(TextOrNull, null),
  }),
  configVersion: Type.Integer(),
  ...times,
});
export const CurrentMerchantConnectionResponse = Component("CurrentMerchantConnection", {
  connection: Nullable(Connection),
});
export const MerchantConnectionResponse = Component("SavedMerchantConnection", { connection: Connection });

const Binding = Component("MerchantBinding", {
  userId: example(Text, "user-42"),
  customerId: example(Text, "cus_1"),
  ...times,
});
export const MerchantBindingResponse = Component("SavedMerchantBinding", { binding: Binding });
export const MerchantBindingListResponse = paged("MerchantBindingPage", "bindings", Binding);

export const UsageEventResponse = Component("MerchantEvent", {
  id: Id("merchantEvent"),
  turnId: Id("turn"),
  connectionId: Id("merchantConnection"),
  provider: OneOf(...billingProviders),
  userId: example(Text, "user-42"),
  customerId: example(TextOrNull, "cus_1"),
  agentId: Id("agent"),
  sessionId: example(Text, "ss_0mk7q2v5c8d1f4h6j9n3p0rt"),
  model: example(TextOrNull, "gpt-5-mini"),
  modelProvider: example(TextOrNull, "llm_vendor_a"),
  inputTokens: example(Type.Integer(), 812),
  outputTokens: example(Type.Integer(), 96),
  totalTokens: example(Type.Integer(), 908),
  turnStatus: example(Text, "succeeded"),
  startedAt: Moment,
  occurredAt: Moment,
  status: example(OneOf(...usageEventStatuses), "accepted"),
  payload: example(Nullable(Metadata), null),
  attemptCount: Type.Integer(),
  attemptGeneration: Type.Integer(),
  lastAttemptAt: MomentOrNull,
  lastErrorCode: example(TextOrNull, null),
  acceptedAt: MomentOrNull,
  workflowIssue: example(TextOrNull, null),
  nextAction: example(OneOf("wait", "retry", "bind_and_release", "investigate", "discard", "none"), "none"),
});
export const UsageEventListResponse = paged("MerchantEventPage", "events", UsageEventResponse);
export const UsageEventSummaryResponse = Component("MerchantEventSummary", {
  counts: example(Type.Record(Text, Type.Integer()), { accepted: 240, pending: 3 }),
  lastAcceptedAt: MomentOrNull,
  oldestPendingAt: MomentOrNull,
  series: Type.Array(
    Closed({
      day: Day,
      acceptedEvents: example(Type.Integer(), 240),
      acceptedTokens: example(Type.Integer(), 218_000),
      pendingEvents: example(Type.Integer(), 3),
    }),
  ),
});

function paged(component: string, name: string, of: TSchema) {
  return Component(component, { [name]: Type.Array(of), nextCursor: NextCursor });
}
