import { withoutFinishReason } from "./finish-reason.ts";
import type { UiMessage } from "./ui-message.ts";

interface CallPart {
  readonly type: string;
  readonly toolCallId: string;
  readonly state: string;
  readonly approval?: { readonly id: string; readonly approved?: boolean; readonly reason?: string };
}

/** Returns whether a part of a message is a tool call. */
export function isToolCall(part: unknown): part is CallPart {
  const { type, toolCallId } = part as { type?: unknown; toolCallId?: unknown };
  return (
    typeof type === "string" && (type === "dynamic-tool" || type.startsWith("tool-")) && typeof toolCallId === "string"
  );
}

const finalStates = new Set(["output-available", "output-error", "output-denied"]);

/** Returns whether a part of a message is a tool call that has not ended. */
export function isOpenCall(part: unknown): part is CallPart {
  return isToolCall(part) && !finalStates.has(part.state);
}

/** Returns the message with every call that has no result in a final state, so that it can be sent to a model again. */
export function closeCalls(message: UiMessage, errorText: string): UiMessage {
  if (!message.parts.some(isOpenCall)) return message;
  return {
    ...withoutFinishReason(message),
    parts: message.parts.map((part) => (isOpenCall(part) ? close(part, errorText) : part)),
  };
}

/** A person's denial stays a denial, with its reason; every other call without a result becomes an error. */
function close({ approval, ...part }: CallPart, errorText: string): object {
  if (approval?.approved === false) return { ...part, state: "output-denied", approval };
  const approved = approval?.approved === true ? { approval } : {};
  return { ...part, state: "output-error", errorText, ...approved };
}

/** A person's decision on a call. */
export interface CallDecision {
  readonly toolCallId: string;
  readonly approved: boolean;
  readonly reason: string | null;
}

/** Returns the message with the decisions written into its calls, as the AI SDK expects them when a turn resumes. */
export function withDecisions(message: UiMessage, decisions: readonly CallDecision[]): UiMessage {
  const byCall = new Map(decisions.map((decision) => [decision.toolCallId, decision]));
  return {
    ...withoutFinishReason(message),
    parts: message.parts.map((part) => {
      const decision =
        isToolCall(part) && part.state === "approval-requested" ? byCall.get(part.toolCallId) : undefined;
      if (decision === undefined || !isToolCall(part)) return part;
      const reason = decision.reason === null ? {} : { reason: decision.reason };
      return {
        ...part,
        state: "approval-responded",
        approval: { ...part.approval, approved: decision.approved, ...reason },
      };
    }),
  };
}

/** What a caller says of a call of one of its tools. */
export type CallResult = { readonly toolCallId: string } & (
  | { readonly output: unknown }
  | { readonly errorText: string }
);

/** Returns the message with the results of client tools written into their calls, as the AI SDK's client does it. */
export function withResults(message: UiMessage, results: readonly CallResult[]): UiMessage {
  const byCall = new Map(results.map((result) => [result.toolCallId, result]));
  return {
    ...message,
    parts: message.parts.map((part) => {
      const found = isToolCall(part) && part.state === "input-available" ? byCall.get(part.toolCallId) : undefined;
      if (found === undefined) return part;
      const { toolCallId: _named, ...result } = found;
      return { ...(part as object), state: "output" in result ? "output-available" : "output-error", ...result };
    }),
  };
}

/** A call of a client tool that waits for the caller's result. */
export interface ClientCall {
  readonly tool: string;
  readonly toolCallId: string;
  readonly input: unknown;
}

/** Returns the calls of a message's last step, of tools with these names, that wait for a result. */
export function clientCalls(message: UiMessage, names: ReadonlySet<string>): ClientCall[] {
  return lastStepOf(message).flatMap((part) => {
    if (!isToolCall(part) || part.state !== "input-available") return [];
    const tool = part.type.slice("tool-".length);
    const { input, providerExecuted } = part as { input?: unknown; providerExecuted?: boolean };
    return names.has(tool) && providerExecuted !== true ? [{ tool, toolCallId: part.toolCallId, input }] : [];
  });
}

/** Returns the parts of a message's last step. */
export function lastStepOf({ parts }: UiMessage): readonly unknown[] {
  return parts.slice(parts.findLastIndex((part) => (part as { type?: unknown }).type === "step-start") + 1);
}

/** A call that waits for a person's decision. */
export interface PendingCall {
  readonly id: string;
  readonly tool: string;
  readonly toolCallId: string;
  readonly input: unknown;
}

/** Returns the calls of a message that wait for a person's decision. */
export function pendingCalls(message: UiMessage): PendingCall[] {
  return message.parts.flatMap((part) => {
    if (!isToolCall(part) || part.state !== "approval-requested" || part.approval === undefined) return [];
    const { toolName, input } = part as { toolName?: string; input?: unknown };
    const tool = part.type === "dynamic-tool" ? (toolName ?? "") : part.type.slice("tool-".length);
    return [{ id: part.approval.id, tool, toolCallId: part.toolCallId, input }];
  });
}
