import { Type } from "@sinclair/typebox";
import { AgentStatus } from "../../agents/responses.ts";
import { Component, example } from "../../kernel/http/component.ts";
import { Nullable, OneOf } from "../../kernel/http/request-fields.ts";
import {
  ActorResponse,
  attribution,
  costFields,
  Failure,
  Moment,
  MomentOrNull,
  NextCursor,
  pageOf,
  Text,
  TextOrNull,
  times,
  tokenParts,
} from "../../kernel/http/response-fields.ts";
import { Id } from "../../kernel/ids.ts";
import { Message } from "../../messages/schema.ts";
import { turnKinds } from "../state/turn.ts";
import { stepCallStatuses } from "../state/turn-step.ts";
import { shownStatuses } from "../state/turn-view.ts";

/** What operations on sessions respond with, for the OpenAPI document. */

const summary = {
  id: Id("session"),
  agentVersion: example(Nullable(Type.Integer()), null),
  messageCount: example(Type.Integer(), 2),
  firstMessagePreview: example(Text, "What time is it in Lisbon?"),
  lastMessagePreview: example(Text, "It is half past nine."),
  ...attribution,
  ...times,
};
export const SessionResponse = Component("Session", summary);
export const SessionListResponse = pageOf("SessionPage", SessionResponse);
export const LatestSessionListResponse = pageOf(
  "LatestSessionPage",
  Component("LatestSession", {
    ...summary,
    agentId: Id("agent"),
    model: example(TextOrNull, "gpt-5-mini"),
    thinkingLevel: example(TextOrNull, null),
    status: AgentStatus,
  }),
);

/** What a user said that the transcript does not hold yet. */
const PendingMessageResponse = Component("PendingMessage", {
  turnId: Id("turn"),
  status: example(OneOf("queued", "running", "waiting"), "running"),
  message: Message,
});
export const SessionDetailsResponse = Component("SessionDetails", {
  ...summary,
  busy: example(Type.Boolean(), true),
  activeTurnId: Nullable(Id("turn")),
  queuedTurns: example(Type.Integer(), 0),
  pending: Type.Array(PendingMessageResponse),
});

const turnView = {
  id: Id("turn"),
  agentId: Id("agent"),
  agentVersion: example(Type.Integer(), 3),
  sessionId: Nullable(Id("session")),
  kind: example(OneOf(...turnKinds), "session"),
  status: example(OneOf(...shownStatuses), "succeeded"),
  error: example(Nullable(Failure), null),
  userId: example(Text, "user-42"),
  attempts: example(Type.Integer(), 1),
  requestId: example(TextOrNull, "req_0123456789abcdefghijklmn"),
  acceptedAt: Moment,
  startedAt: MomentOrNull,
  firstTextAt: MomentOrNull,
  finishedAt: MomentOrNull,
  waitedMs: example(
    Type.Integer({
      description: "How long it waited for people and for the caller's tools; of one that waits, until now.",
    }),
    0,
  ),
  runMs: example(Type.Integer({ description: "How long workers ran it; of one that runs, until now." }), 1840),
  inputTokens: example(Type.Integer(), 120),
  outputTokens: example(Type.Integer(), 40),
  ...tokenParts,
  ...costFields,
  usageEstimated: example(Type.Boolean(), false),
  modelCalls: example(
    Type.Integer({
      description: "Those that are metered: not one that the provider refused, which is a step without tokens.",
    }),
    1,
  ),
};
export const TurnListResponse = pageOf("TurnPage", Component("TurnSummary", turnView));
const StepCallResponse = Component("TurnStepToolCall", {
  toolCallId: example(Text, "call_1"),
  tool: example(Text, "bash"),
  status: example(OneOf(...stepCallStatuses), "succeeded"),
  startedAt: Moment,
  finishedAt: MomentOrNull,
});
/** What a vendor said; a client token is shown neither code, message nor request id. */
const vendorWords = {
  providerId: Id("provider"),
  model: example(Text, "gpt-5-mini"),
  // Null where no response came.
  status: example(Nullable(Type.Integer()), 429),
};
const VendorFailureResponse = Component("VendorFailure", {
  ...vendorWords,
  code: example(TextOrNull, "insufficient_quota"),
  message: example(Text, "You exceeded your current quota."),
  requestId: example(TextOrNull, "req_011CSHoEeqs5C35K2UUqR7Fy"),
});
const StepFailureResponse = Component("TurnStepFailure", {
  ...vendorWords,
  code: Type.Optional(example(TextOrNull, "overloaded_error")),
  message: Type.Optional(example(Text, "Overloaded")),
  requestId: Type.Optional(example(TextOrNull, "req_011CSHoEeqs5C35K2UUqR7Fy")),
  at: Moment,
});
const StepResponse = Component("TurnStep", {
  index: example(Type.Integer(), 0),
  startedAt: Moment,
  finishedAt: MomentOrNull,
  provider: Nullable(Id("provider")),
  model: example(Text, "gpt-5-mini"),
  inputTokens: example(Type.Integer(), 120),
  outputTokens: example(Type.Integer(), 40),
  ...tokenParts,
  toolCalls: Type.Array(StepCallResponse),
  failures: Type.Array(StepFailureResponse),
});
const ToolLeftOutResponse = Component("ToolLeftOut", {
  tool: example(Text, "files__render"),
  reason: example(Text, "The vendor takes at most 128 tools."),
});
export const TurnDetailsResponse = Component("TurnDetails", {
  ...turnView,
  error: example(
    Nullable(
      Component("TurnFailure", {
        ...Failure.properties,
        // Where a provider of the tenant's failed, or a budget was used up; not for client tokens.
        details: Type.Optional(
          Component("TurnFailureDetails", {
            vendor: Type.Optional(VendorFailureResponse),
            budgetId: Type.Optional(Id("budget")),
          }),
        ),
      }),
    ),
    null,
  ),
  steps: Type.Array(StepResponse),
  // Tools that a model's vendor was not offered, and why.
  toolsLeftOut: Type.Array(ToolLeftOutResponse),
});

export const TurnInputResponse = Component("TurnInput", {
  message: Type.Optional(Message),
  // Of a stateless generation.
  messages: Type.Optional(Type.Array(Message)),
});

export const MessageResponse = Component("Turn", {
  message: Message,
  // Why the model ended its answer; `length` and `content-filter` say that it is not whole.
  finishReason: Type.Optional(example(Text, "stop")),
  // Of a turn with a `responseFormat`: the value of the message's final text.
  output: Type.Optional(example(Type.Unknown(), { celsius: 21.5 })),
});
export const CancelResponse = Component("TurnCanceled", { canceled: example(Type.Integer(), 1) });

/** A page of a transcript, and what a task's run adds to it. */
export const messagePage = { data: Type.Array(Message), nextCursor: NextCursor, latestCursor: NextCursor };
const OpenMessageResponse = Component("TranscriptMessage", {
  ...Message.properties,
  pending: Type.Optional(Type.Literal(true)),
});
export const MessageListResponse = Component("MessagePage", { ...messagePage, data: Type.Array(OpenMessageResponse) });

const Approval = Component("ToolApproval", {
  id: Id("approval"),
  sessionId: Id("session"),
  turnId: Id("turn"),
  tool: example(Text, "bash"),
  toolCallId: example(Text, "call_1"),
  input: example(Type.Unknown(), { command: "ls" }),
  assistantMessageId: Id("message"),
  status: example(OneOf("pending", "approved", "denied"), "approved"),
  reason: example(TextOrNull, null),
  createdAt: Moment,
  decidedAt: MomentOrNull,
  decidedBy: Nullable(ActorResponse),
});
const Continuation = Component("Continuation", {
  id: Id("continuation"),
  status: OneOf("waiting", "queued", "running", "succeeded", "failed"),
  createdAt: Moment,
  startedAt: example(MomentOrNull, null),
  finishedAt: example(MomentOrNull, null),
});
const ToolCall = Component("ClientToolCall", {
  toolCallId: example(Text, "call_1"),
  tool: example(Text, "current_location"),
  input: example(Type.Unknown(), { precise: true }),
  turnId: Id("turn"),
  assistantMessageId: Id("message"),
  status: example(OneOf("pending", "done", "failed"), "pending"),
  createdAt: Moment,
});
export const ToolCallListResponse = Component("ClientToolCalls", {
  toolCalls: Type.Array(ToolCall),
  continuation: Nullable(Continuation),
});
export const ToolCallSettledResponse = Component("ClientToolCallSettled", {
  toolCall: ToolCall,
  continuation: Continuation,
});
/** What is left of a pause after a message settled a part of it. */
export const PauseResponse = Component("SessionPause", { continuation: Continuation });
export const ToolApprovalListResponse = Component("ToolApprovals", {
  approvals: Type.Array(Approval),
  continuation: Nullable(Continuation),
});
export const ApprovalDecisionResponse = Component("ToolApprovalDecided", {
  approval: Approval,
  continuation: Continuation,
});
