import type { Fields } from "./notation.ts";

const turn = {
  id: "turn_",
  agentId: "ag_",
  agentVersion: "int",
  sessionId: "ss_?",
  kind: "=session,generate,task,chat",
  status: "=queued,running,waiting,succeeded,failed,canceled",
  error: "#CopyError?",
  userId: "text",
  attempts: "int",
  requestId: "text?",
  acceptedAt: "time",
  startedAt: "time?",
  firstTextAt: "time?",
  finishedAt: "time?",
  inputTokens: "int",
  outputTokens: "int",
  usageEstimated: "bool",
  modelCalls: "int",
} as const;
/** Shapes of turns as they are listed and read. */
export const turnShapes: Readonly<Record<string, Fields>> = {
  TurnSummaryPage: { data: "[#TurnSummary]", nextCursor: "text?" },
  TurnSummary: turn,
  TurnDetails: { ...turn, steps: "[#TurnStep]", toolsLeftOut: "[#ToolLeftOut]" },
  ToolLeftOut: { tool: "text", reason: "text" },
  TurnStep: {
    index: "int",
    startedAt: "time",
    finishedAt: "time?",
    provider: "prv_?",
    model: "text",
    inputTokens: "int",
    outputTokens: "int",
    toolCalls: "[#StepCall]",
  },
  StepCall: {
    toolCallId: "text",
    tool: "text",
    status: "=running,waiting,succeeded,failed,denied,canceled",
    startedAt: "time",
    finishedAt: "time?",
  },
};
