import type { Fields } from "./notation.ts";

/** What a usage says of tokens. */
export const tokenCounts = {
  inputTokens: "int",
  outputTokens: "int",
  cachedInputTokens: "int",
  cacheWriteTokens: "int",
  reasoningTokens: "int",
} as const;
/** What usage cost. */
export const cost = { costUsd: "text?", costIsComplete: "bool" } as const;
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
  waitedMs: "int",
  runMs: "int",
  ...tokenCounts,
  ...cost,
  usageEstimated: "bool",
  modelCalls: "int",
} as const;
/** Shapes of turns as they are listed and read. */
export const turnShapes: Readonly<Record<string, Fields>> = {
  TurnSummaryPage: { data: "[#TurnSummary]", nextCursor: "text?" },
  TurnSummary: turn,
  TurnDetails: { ...turn, error: "#TurnFailure?", steps: "[#TurnStep]", toolsLeftOut: "[#ToolLeftOut]" },
  TurnFailure: { code: "text", message: "text", "details?": "#TurnFailureDetails" },
  TurnFailureDetails: { vendor: "#VendorFailure" },
  VendorFailure: {
    providerId: "prv_",
    model: "text",
    status: "int?",
    code: "text?",
    message: "text",
    requestId: "text?",
  },
  StepFailure: {
    ...{ providerId: "prv_", model: "text", status: "int?", at: "time" },
    ...{ "code?": "text?", "message?": "text", "requestId?": "text?" },
  },
  ModelSettings: {
    ...{ "temperature?": "number", "topP?": "number", "maxOutputTokens?": "int", "stopSequences?": "[text]" },
    "seed?": "int",
  },
  TurnLimits: { "maxModelCalls?": "int", "maxTokens?": "int", "maxSeconds?": "int" },
  TurnInput: { "message?": "object", "messages?": "[object]" },
  ToolLeftOut: { tool: "text", reason: "text" },
  TurnStep: {
    index: "int",
    startedAt: "time",
    finishedAt: "time?",
    provider: "prv_?",
    model: "text",
    ...tokenCounts,
    toolCalls: "[#StepCall]",
    failures: "[#StepFailure]",
  },
  StepCall: {
    toolCallId: "text",
    tool: "text",
    status: "=running,waiting,succeeded,failed,denied,canceled",
    startedAt: "time",
    finishedAt: "time?",
  },
};
