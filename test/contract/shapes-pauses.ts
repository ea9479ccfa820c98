import type { Fields } from "./notation.ts";

/** What is shown of turns that have stopped to ask. */
export const pauses: Readonly<Record<string, Fields>> = {
  ToolApprovals: { approvals: "[#ToolApproval]", continuation: "#Continuation?" },
  SessionPause: { continuation: "#Continuation" },
  ToolCalls: { toolCalls: "[#ToolCall]", continuation: "#Continuation?" },
  ToolCallSettled: { toolCall: "#ToolCall", continuation: "#Continuation" },
  ToolCall: {
    toolCallId: "text",
    tool: "text",
    input: "any",
    turnId: "turn_",
    assistantMessageId: "msg_",
    status: "=pending,done,failed",
    createdAt: "time",
  },
  ToolApprovalDecision: { approval: "#ToolApproval", continuation: "#Continuation" },
  ToolApproval: {
    id: "apr_",
    sessionId: "ss_",
    turnId: "turn_",
    tool: "text",
    toolCallId: "text",
    input: "any",
    assistantMessageId: "msg_",
    decidedBy: "#Actor?",
    status: "=pending,approved,denied",
    reason: "text?",
    createdAt: "time",
    decidedAt: "time?",
  },
  Continuation: {
    id: "cont_",
    status: "=waiting,queued,running,succeeded,failed",
    createdAt: "time",
    startedAt: "time?",
    finishedAt: "time?",
  },
};
