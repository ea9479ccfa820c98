import { type TSchema, Type } from "@sinclair/typebox";
import { Closed, Metadata, Nullable, OneOf } from "../kernel/http/request-fields.ts";
import { Day, Moment, MomentOrNull, Text, TextOrNull, times } from "../kernel/http/response-fields.ts";
import { Id } from "../kernel/ids.ts";
import { billingProviders, usageEventStatuses } from "./schema.ts";

/** The responses of the operations on merchant billing. */
const Connection = Closed({
  id: Id("merchantConnection"),
  provider: OneOf(...billingProviders),
  environment: OneOf("sandbox", "live"),
  status: OneOf("active", "disconnected"),
  merchantAccountId: Text,
  keyFragment: Text,
  guard: Closed({ enabled: Type.Boolean(), productIds: Type.Array(Text), meterId: TextOrNull }),
  configVersion: Type.Integer(),
  ...times,
});
export const CurrentMerchantConnectionResponse = Closed({ connection: Nullable(Connection) });
export const MerchantConnectionResponse = Closed({ connection: Connection });

const ShownBinding = Closed({ userId: Text, customerId: Text, ...times });
export const MerchantBindingResponse = Closed({ binding: ShownBinding });
export const MerchantBindingListResponse = paged("bindings", ShownBinding);

export const UsageEventResponse = Closed({
  id: Id("merchantEvent"),
  turnId: Id("turn"),
  connectionId: Id("merchantConnection"),
  provider: OneOf(...billingProviders),
  userId: Text,
  customerId: TextOrNull,
  agentId: Id("agent"),
  sessionId: Text,
  model: TextOrNull,
  modelProvider: TextOrNull,
  inputTokens: Type.Integer(),
  outputTokens: Type.Integer(),
  totalTokens: Type.Integer(),
  turnStatus: Text,
  startedAt: Moment,
  occurredAt: Moment,
  status: OneOf(...usageEventStatuses),
  payload: Nullable(Metadata),
  attemptCount: Type.Integer(),
  attemptGeneration: Type.Integer(),
  lastAttemptAt: MomentOrNull,
  lastErrorCode: TextOrNull,
  acceptedAt: MomentOrNull,
  workflowIssue: TextOrNull,
  nextAction: OneOf("wait", "retry", "bind_and_release", "investigate", "discard", "none"),
});
export const UsageEventListResponse = paged("events", UsageEventResponse);
export const UsageEventSummaryResponse = Closed({
  counts: Type.Record(Text, Type.Integer()),
  lastAcceptedAt: MomentOrNull,
  oldestPendingAt: MomentOrNull,
  series: Type.Array(
    Closed({
      day: Day,
      acceptedEvents: Type.Integer(),
      acceptedTokens: Type.Integer(),
      pendingEvents: Type.Integer(),
    }),
  ),
});

function paged(name: string, of: TSchema) {
  return Closed({ [name]: Type.Array(of), nextCursor: TextOrNull });
}
