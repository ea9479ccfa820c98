import type { UIMessageChunk } from "ai";
import { closeCalls, isToolCall } from "./tool-calls.ts";
import type { UiMessage } from "./ui-message.ts";

/**
 * An answer that was cut off in the middle: what is open in it is closed, so that it can be
 * stored, shown and sent to a model like any other. There are two sides of it, which say the
 * same: the message, and the chunks for those who have read the stream so far.
 */

/** Returns the message with its open texts closed; a call without an end has this error as its output. */
export function closeParts(message: UiMessage, errorText: string): UiMessage {
  return closeCalls({ ...message, parts: message.parts.map(settlePart) }, errorText);
}

/** Returns a part with what it said last as its last word. */
function settlePart(part: unknown): unknown {
  const { type, state, preliminary } = part as { type: string; state?: string; preliminary?: boolean };
  if (isText(type)) return state === "streaming" ? { ...(part as object), state: "done" } : part;
  if (!isToolCall(part)) return part;
  // Its input had not come whole, and providers refuse a call without one.
  if (state === "input-streaming") return { ...part, input: {} };
  if (preliminary !== true) return part;
  const { output: _output, preliminary: _preliminary, ...called } = part as typeof part & Record<string, unknown>;
  return { ...called, state: "input-available" };
}

/** A call of the answer that has no end. */
interface OpenCall {
  readonly toolCallId: string;
  readonly toolName: string;
  readonly dynamic: boolean;
  /** Its input has come whole. */
  readonly isWhole: boolean;
  readonly isDenied: boolean;
}

/**
 * Returns the chunks that close what the chunks so far have left open: the ends of texts and
 * thoughts, this error for each call without an end (but a denial for one that was denied),
 * and the end of the step. `extended` is the message that the chunks go on with; null for a
 * new one.
 */
export function closingChunks(
  chunks: Iterable<UIMessageChunk>,
  extended: UiMessage | null,
  errorText: string,
): UIMessageChunk[] {
  const open = new OpenEnds();
  open.begin(extended);
  for (const chunk of chunks) open.note(chunk);
  return open.close(() => errorText);
}

/** What the chunks of a stream have left open. */
export class OpenEnds {
  readonly #texts = new Map<string, UIMessageChunk>();
  readonly #calls = new Map<string, OpenCall>();
  readonly #askedFor = new Map<string, string>();
  #inStep = false;

  /** The chunks go on with this message; null: with none. */
  begin(extended: UiMessage | null): void {
    for (const [id, call] of openCallsOf(extended)) this.#calls.set(id, call);
  }

  note(chunk: UIMessageChunk): void {
    if (chunk.type === "start-step") this.#inStep = true;
    else if (chunk.type === "finish-step") this.#inStep = false;
    else if (chunk.type.endsWith("-delta")) return;
    else if (isTextChunk(chunk)) noteText(this.#texts, chunk);
    else noteCall(this.#calls, this.#askedFor, chunk);
  }

  /** Returns the chunks that close it; `errorOf` returns the error of a call without an end, null for one that was denied. */
  close(errorOf: (toolCallId: string) => string | null): UIMessageChunk[] {
    const ends = [...this.#calls.values()].map((call) => {
      const errorText = errorOf(call.toolCallId);
      return errorText === null ? endOf({ ...call, isDenied: true }, "") : endOf(call, errorText);
    });
    return [...this.#texts.values(), ...ends, ...(this.#inStep ? [{ type: "finish-step" } as const] : [])];
  }
}

function isText(type: string): boolean {
  return type === "text" || type === "reasoning";
}

type TextChunk = Extract<UIMessageChunk, { type: `${"text" | "reasoning"}-${"start" | "delta" | "end"}` }>;

function isTextChunk(chunk: UIMessageChunk): chunk is TextChunk {
  return /^(text|reasoning)-(start|delta|end)$/.test(chunk.type);
}

/** Notes the chunk that would close a text, or that it is closed. */
function noteText(texts: Map<string, UIMessageChunk>, { type, id }: TextChunk): void {
  const kind = type.startsWith("text") ? "text" : "reasoning";
  if (type.endsWith("-start")) texts.set(`${kind}:${id}`, { type: `${kind}-end`, id });
  else if (type.endsWith("-end")) texts.delete(`${kind}:${id}`);
}

function noteCall(calls: Map<string, OpenCall>, askedFor: Map<string, string>, chunk: UIMessageChunk): void {
  switch (chunk.type) {
    case "tool-input-start":
    case "tool-input-available": {
      const { type, toolCallId, toolName, dynamic = false } = chunk;
      calls.set(toolCallId, { toolCallId, toolName, dynamic, isWhole: type !== "tool-input-start", isDenied: false });
      break;
    }
    case "tool-approval-request":
      askedFor.set(chunk.approvalId, chunk.toolCallId);
      break;
    case "tool-approval-response": {
      const call = calls.get(askedFor.get(chunk.approvalId) ?? "");
      if (call !== undefined) calls.set(call.toolCallId, { ...call, isDenied: !chunk.approved });
      break;
    }
    case "tool-output-available":
      if (chunk.preliminary !== true) calls.delete(chunk.toolCallId);
      break;
    case "tool-input-error":
    case "tool-output-error":
    case "tool-output-denied":
      calls.delete(chunk.toolCallId);
  }
}

/** Returns the calls of a message that have no end. */
function openCallsOf(message: UiMessage | null): Map<string, OpenCall> {
  const calls = new Map<string, OpenCall>();
  for (const part of message?.parts ?? []) {
    if (!isToolCall(part) || /^output-(available|error|denied)$/.test(part.state)) continue;
    const dynamic = part.type === "dynamic-tool";
    const toolName = dynamic
      ? ((part as { readonly toolName?: string }).toolName ?? "")
      : part.type.slice("tool-".length);
    const isDenied = part.approval?.approved === false;
    const isWhole = part.state !== "input-streaming";
    calls.set(part.toolCallId, { toolCallId: part.toolCallId, toolName, dynamic, isWhole, isDenied });
  }
  return calls;
}

function endOf({ toolCallId, toolName, dynamic, isWhole, isDenied }: OpenCall, errorText: string): UIMessageChunk {
  if (isDenied) return { type: "tool-output-denied", toolCallId };
  const flag = dynamic ? { dynamic: true } : {};
  // A reader that has a part of the input drops it, as the stored message does.
  if (!isWhole) return { type: "tool-input-error", toolCallId, toolName, input: {}, errorText, ...flag };
  return { type: "tool-output-error", toolCallId, errorText, ...flag };
}
