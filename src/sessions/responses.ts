import { Type } from "@sinclair/typebox";
import { Closed, Metadata, Nullable, OneOf } from "../kernel/http/request-fields.ts";
import { attribution, Moment, MomentOrNull, pageOf, Text, TextOrNull, times } from "../kernel/http/response-fields.ts";
import { Id } from "../kernel/ids.ts";

/** What operations on sessions answer (document 1, "Session summary" and on), for the OpenAPI document. */

const summary = {
  id: Id("session"),
  agentVersion: Nullable(Type.Integer()),
  messageCount: Type.Integer(),
  lastMessagePreview: Text,
  ...attribution,
  ...times,
};
export const SessionListResponse = pageOf(Closed(summary));
export const LatestSessionListResponse = pageOf(
  Closed({
    ...summary,
    agentId: Id("agent"),
    model: TextOrNull,
    thinkingLevel: TextOrNull,
    status: OneOf("active", "disabled"),
  }),
);

/** A UI message of the AI SDK. */
const Message = Closed({
  id: Text,
  role: OneOf("user", "assistant"),
  parts: Type.Array(Metadata),
  metadata: Type.Optional(Type.Unknown()),
});
export const MessageResponse = Closed({ message: Message });
export const CancelResponse = Closed({ turnId: Id("turn") });

/** A page of a transcript, and what a task's run adds to it. */
export const messagePage = { data: Type.Array(Message), nextCursor: TextOrNull, latestCursor: TextOrNull };
export const MessageListResponse = Closed(messagePage);

const Approval = Closed({
  id: Id("approval"),
  sessionId: Id("session"),
  turnId: Id("turn"),
  tool: Text,
  toolCallId: Text,
  input: Type.Unknown(),
  assistantMessageId: Id("message"),
  status: OneOf("pending", "approved", "denied"),
  reason: TextOrNull,
  createdAt: Moment,
  decidedAt: MomentOrNull,
});
const Continuation = Closed({
  id: Id("continuation"),
  status: OneOf("waiting", "queued", "running", "succeeded", "failed"),
  createdAt: Moment,
  startedAt: MomentOrNull,
  finishedAt: MomentOrNull,
});
export const ToolApprovalListResponse = Closed({
  approvals: Type.Array(Approval),
  continuation: Nullable(Continuation),
});
export const ApprovalDecisionResponse = Closed({ approval: Approval, continuation: Continuation });
