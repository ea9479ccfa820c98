import type { IdOf } from "../kernel/ids.ts";
import { isToolCall } from "../messages/tool-calls.ts";
import { type ItemPrefix, itemIdOf } from "./response-id.ts";

/** An item of a response's output, as the protocol spells it. */
export interface OutputItem {
  readonly id: string;
  readonly type: "message" | "reasoning" | "function_call" | "mcp_call" | "mcp_approval_request";
  readonly [field: string]: unknown;
}

/** An item that has no place in its response yet. */
export type Unplaced = (place: (prefix: ItemPrefix) => string) => OutputItem;

/** A tool call of the model. */
export interface ToolCall {
  readonly toolCallId: string;
  readonly tool: string;
  readonly input: unknown;
}

/** How a call that ran here ended. */
export type CallEnd = { readonly output: unknown } | { readonly error: string };

/** Whose tools they are that run here: what stands for the server where the protocol names one. */
const serverLabel = "parley";

export type ItemStatus = "in_progress" | "completed" | "incomplete";

/** Returns a part of a message's content. */
export function textPart(text: string) {
  return { type: "output_text", text, annotations: [], logprobs: [] } as const;
}

/** Returns a text of the model; null is one that has not begun. */
export function messageItem(text: string | null, status: ItemStatus): Unplaced {
  const content = text === null ? [] : [textPart(text)];
  return (place) => ({ id: place("msg"), type: "message", status, role: "assistant", content });
}

/** Returns a part of a thought. */
export function summaryPart(text: string) {
  return { type: "summary_text", text } as const;
}

/** Returns a thought of the model; null is one that has not begun. */
export function reasoningItem(text: string | null, status: ItemStatus): Unplaced {
  const summary = text === null ? [] : [summaryPart(text)];
  return (place) => ({ id: place("rs"), type: "reasoning", status, summary });
}

/** Returns a call that the caller is to run. */
export function functionCallItem(call: ToolCall, status: ItemStatus): Unplaced {
  const { toolCallId, tool } = call;
  const given = status === "in_progress" ? "" : argumentsOf(call);
  return (place) => ({
    id: place("fc"),
    type: "function_call",
    status,
    call_id: toolCallId,
    name: tool,
    arguments: given,
  });
}

/** Returns the input of a call as the protocol has it: JSON as text. */
export function argumentsOf({ input }: Pick<ToolCall, "input">): string {
  return JSON.stringify(input ?? {});
}

/** Returns a call that ran here, with its end. */
export function hostedCallItem(call: ToolCall, end: CallEnd, approvalId: string | null): Unplaced {
  const isGood = "output" in end;
  return (place) => ({
    id: place("mcp"),
    type: "mcp_call",
    status: isGood ? "completed" : "failed",
    server_label: serverLabel,
    name: call.tool,
    arguments: argumentsOf(call),
    output: isGood ? outputText(end.output) : null,
    error: isGood ? null : end.error,
    approval_request_id: approvalId,
  });
}

function outputText(output: unknown): string {
  return typeof output === "string" ? output : JSON.stringify(output ?? null);
}

/** Returns a call that waits for a person's approval. */
export function approvalItem(call: ToolCall, approvalId: string): Unplaced {
  return () => ({
    id: approvalId,
    type: "mcp_approval_request",
    status: "completed",
    server_label: serverLabel,
    name: call.tool,
    arguments: argumentsOf(call),
  });
}

/** What a reader is told of a call that a person or the policy denied. */
const deniedText = "The call was denied";

/** Returns how a call ended, by the words of a denial where there are any. */
export function denialOf(reason: unknown): CallEnd {
  return { error: typeof reason === "string" && reason !== "" ? `${deniedText}: ${reason}` : `${deniedText}.` };
}

/** Returns items with their ids. */
export function placed(id: IdOf<"response">, items: readonly Unplaced[]): OutputItem[] {
  return items.map((item, place) => item((prefix) => itemIdOf(prefix, id, place)));
}

/** A part of a stored message that is a tool call. */
export interface StoredCall extends ToolCall {
  readonly state: string;
  readonly output?: unknown;
  readonly errorText?: unknown;
  readonly approval?: { readonly reason?: unknown };
}

/** Returns the tool call in a part of a message; null when it is none. */
export function callOfPart(part: unknown): StoredCall | null {
  if (!isToolCall(part)) return null;
  const { toolName } = part as { toolName?: unknown };
  const tool = part.type === "dynamic-tool" ? String(toolName ?? "") : part.type.slice("tool-".length);
  const { input } = part as { input?: unknown };
  return { ...(part as object as StoredCall), tool, input };
}

/** Returns how a stored call ended; null when it has not. */
export function endOfCall({ state, output, errorText, approval }: StoredCall): CallEnd | null {
  if (state === "output-available") return { output };
  if (state === "output-error") return { error: String(errorText) };
  if (state === "output-denied") return denialOf(approval?.reason);
  return null;
}
