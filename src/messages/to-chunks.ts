import type { UIMessageChunk } from "ai";
import { isToolCall, lastStepOf } from "./tool-calls.ts";
import type { UiMessage } from "./ui-message.ts";

/**
 * Returns the chunks of a stored message, for a follower whose turn log is no longer in
 * the relay. The AI SDK assembles the same message from them, but for what people decided of
 * calls; and the division into deltas differs from the original stream.
 */
export function chunksOf(message: UiMessage): unknown[] {
  const chunks: unknown[] = [];
  let inStep = false;
  for (const [index, part] of message.parts.entries()) {
    const { type, ...fields } = part as Record<string, unknown> & { type: string };
    if (type === "step-start") {
      if (inStep) chunks.push({ type: "finish-step" });
      chunks.push({ type: "start-step" });
      inStep = true;
      continue;
    }
    // A reasoning part keeps its id in the message, a text does not.
    chunks.push(...chunksOfPart(type, fields, typeof fields.id === "string" ? fields.id : `part-${index}`));
  }
  if (inStep) chunks.push({ type: "finish-step" });
  return chunks;
}

/**
 * Returns the chunks that lead from a message that had stopped to ask to what became of it:
 * the ends of its calls, and what came after them.
 */
export function chunksSince(before: UiMessage, after: UiMessage): unknown[] {
  const known = before.parts.length;
  const ends = after.parts.slice(0, known).flatMap((part, index) => {
    const now = part as ToolFields;
    return isEnded(now.state) && !isEnded((before.parts[index] as ToolFields).state) ? [endChunk(now)] : [];
  });
  return [...ends, ...chunksOf({ ...after, parts: after.parts.slice(known) })];
}

/** How far a reader has come in a call. */
export interface SeenCall {
  /** It has all of the input. */
  readonly isWhole: boolean;
  /** It was told that the call waits for an approval. */
  readonly isAsked: boolean;
  readonly isEnded: boolean;
}

/**
 * Returns the chunks that a reader misses of a call as it is stored, who has seen this of it, or nothing (null); none for a part
 * that is no call.
 */
export function callChunks(part: unknown, seen: SeenCall | null): unknown[] {
  const fields = part as ToolFields;
  const { toolCallId, state, approval } = fields;
  if (typeof toolCallId !== "string" || seen?.isEnded === true) return [];
  const denial = isDenied(state, approval) ? [{ type: "tool-output-denied", toolCallId }] : [];
  return [
    ...inputChunks(fields, seen),
    ...(seen?.isAsked === true ? [] : approvalChunks(fields)),
    ...(isEnded(state) ? [endChunk(fields)] : denial),
  ];
}

/**
 * Returns the chunks of a call's input. To a reader who has seen nothing of it, one that has run is shown without a chunk
 * `tool-input-available`, which makes a client run its own tool.
 */
function inputChunks(fields: ToolFields, seen: SeenCall | null): unknown[] {
  const { toolCallId, input, state, callProviderMetadata: providerMetadata } = fields;
  const call = { ...nameOf(fields), ...(providerMetadata === undefined ? {} : { providerMetadata }) };
  const whole = { type: "tool-input-available", ...call, input };
  // The chunk of an error has the input.
  if (seen !== null) return seen.isWhole || state === "output-error" ? [] : [whole];
  if (state === "output-denied" || !isEnded(state)) return [whole];
  const told = { type: "tool-input-delta", toolCallId, inputTextDelta: JSON.stringify(input) };
  return [{ type: "tool-input-start", ...call }, ...(input === undefined ? [] : [told])];
}

/**
 * Returns the chunks of the results that client tools with these names have in the last step of a
 * message: a continuation begins with them, for readers who have the message as it was before.
 */
export function resultChunks(message: UiMessage, names: ReadonlySet<string>): UIMessageChunk[] {
  return lastStepOf(message).flatMap((part): UIMessageChunk[] => {
    if (!isToolCall(part) || !names.has(part.type.slice("tool-".length))) return [];
    const { toolCallId, state } = part;
    const { output, errorText = "" } = part as { output?: unknown; errorText?: string };
    if (state === "output-available") return [{ type: "tool-output-available", toolCallId, output }];
    return state === "output-error" ? [{ type: "tool-output-error", toolCallId, errorText }] : [];
  });
}

function chunksOfPart(type: string, fields: Record<string, unknown>, id: string): unknown[] {
  if (type === "text" || type === "reasoning") return textChunks(type, fields, id);
  if (type === "dynamic-tool" || type.startsWith("tool-")) return callChunks({ type, ...fields }, null);
  if (type === "file" || type.startsWith("source-") || type.startsWith("data-")) return [{ type, ...fields }];
  return [];
}

function textChunks(
  type: "text" | "reasoning",
  { text, providerMetadata }: Record<string, unknown>,
  id: string,
): unknown[] {
  const extra = providerMetadata === undefined ? {} : { providerMetadata };
  return [
    { type: `${type}-start`, id, ...extra },
    { type: `${type}-delta`, id, delta: text },
    { type: `${type}-end`, id, ...extra },
  ];
}

type ToolFields = Record<string, unknown> & { readonly type: string };

/** What names a call in its chunks. */
function nameOf({ type, toolCallId, toolName, providerExecuted }: ToolFields): object {
  const dynamic = type === "dynamic-tool";
  return {
    toolCallId,
    toolName: dynamic ? toolName : type.slice("tool-".length),
    ...(providerExecuted === undefined ? {} : { providerExecuted }),
    ...(dynamic ? { dynamic } : {}),
  };
}

function isEnded(state: unknown): boolean {
  return state === "output-available" || state === "output-error" || state === "output-denied";
}

/** Returns the chunk that ends a call. */
function endChunk(fields: ToolFields): object {
  const { type, toolCallId, input, output, errorText, state, resultProviderMetadata: providerMetadata } = fields;
  const more = providerMetadata === undefined ? {} : { providerMetadata };
  if (state === "output-denied") return { type: "tool-output-denied", toolCallId };
  // With the input: an error of a call alone would leave the text that its input was read from in the message.
  if (state === "output-error") return { type: "tool-input-error", ...nameOf(fields), input, errorText, ...more };
  const flag = type === "dynamic-tool" ? { dynamic: true } : {};
  return { type: "tool-output-available", toolCallId, output, ...flag, ...more };
}

/**
 * Returns the chunk that asks for a call's approval; none for one that was approved, which is a call that
 * runs, or has run. No chunk says that an approval was given: version 6 of the AI SDK's client
 * knows none, and gives a stream up in which it comes.
 */
function approvalChunks({ toolCallId, approval }: Record<string, unknown>): unknown[] {
  if (typeof approval !== "object" || approval === null) return [];
  const { id: approvalId, approved, isAutomatic } = approval as Readonly<Record<string, unknown>>;
  if (approved === true) return [];
  return [{ type: "tool-approval-request", approvalId, toolCallId, ...(isAutomatic === true ? { isAutomatic } : {}) }];
}

/** Returns whether a person has denied a call that has no end yet. */
function isDenied(state: unknown, approval: unknown): boolean {
  return !isEnded(state) && (approval as { readonly approved?: boolean } | null | undefined)?.approved === false;
}
