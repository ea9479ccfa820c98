import type { Attributes } from "@opentelemetry/api";
import type { FinishReason } from "ai";

/**
 * What was said to a model and by it, as the attributes that OpenTelemetry's generative-AI
 * conventions name for it. JSON text, because spans hold no objects. Used only where an
 * operator has asked for contents in traces.
 */

/** Contents of one attribute have at most this many characters; of a longer prompt the oldest messages are left out. */
export const contentCharactersMax = 65_536;
/** One text, or one call's input or result, has at most this many of them; the rest is cut. */
const pieceCharactersMax = 16_384;

/** A part of a message, in the words of the conventions. */
type Part = Readonly<Record<string, unknown>>;
interface Message {
  readonly role: string;
  readonly parts: readonly Part[];
}

/** A message of the prompt as the AI SDK hands it to a vendor's client. */
export interface PromptMessage {
  readonly role: string;
  readonly content: string | readonly PromptPart[];
}

/** A part of it, as far as it is read here. */
interface PromptPart {
  readonly type: string;
  readonly text?: string;
  readonly toolCallId?: string;
  readonly toolName?: string;
  readonly input?: unknown;
  readonly output?: unknown;
  readonly data?: unknown;
  readonly mediaType?: string;
}

/** A part of an answer as a vendor's client gives it, as far as it is read here. */
export interface ReceivedPart {
  readonly type: string;
  readonly id?: string;
  readonly delta?: string;
  readonly toolCallId?: string;
  readonly toolName?: string;
  readonly input?: unknown;
}

/** Returns the attributes of a prompt: the agent's instructions, and the messages. Bytes of files are left out. */
export function promptContent(prompt: readonly PromptMessage[]): Attributes {
  const system = prompt.filter(({ role }) => role === "system").map(({ content }) => text(String(content)));
  const messages = prompt.filter(({ role }) => role !== "system").map(messageOf);
  return {
    ...(system.length === 0 ? {} : { "gen_ai.system_instructions": newest(system) }),
    "gen_ai.input.messages": newest(messages),
  };
}

/** Returns the attributes of a tool call: what it was given. */
export function inputContent(input: unknown): Attributes {
  return { "gen_ai.tool.call.arguments": cut(jsonOf(input)) };
}

/** Returns the attributes of a tool call that succeeded. */
export function resultContent(result: unknown): Attributes {
  return { "gen_ai.tool.call.result": cut(jsonOf(result)) };
}

/** What a model has said so far in one call. It keeps at most `contentCharactersMax` characters. */
export class AnswerContent {
  readonly #parts = new Map<string, { readonly type: "text" | "reasoning"; content: string }>();
  readonly #calls: Part[] = [];
  #characters = 0;

  /** Takes a part of the answer. */
  came({ type, id = "", delta = "", toolCallId, toolName, input }: ReceivedPart): void {
    if (this.#characters >= contentCharactersMax) return;
    if (type === "text-delta" || type === "reasoning-delta") {
      const kind = type === "text-delta" ? "text" : "reasoning";
      const part = this.#parts.get(`${kind}:${id}`) ?? { type: kind, content: "" };
      this.#parts.set(`${kind}:${id}`, part);
      part.content += delta;
      this.#characters += delta.length;
    } else if (type === "tool-call") {
      const call = { type: "tool_call", id: toolCallId, name: toolName, arguments: cut(jsonOf(input)) };
      this.#calls.push(call);
      this.#characters += call.arguments.length;
    }
  }

  /** Returns the attributes of what was said until now. */
  content(finishReason: FinishReason): Attributes {
    const texts = [...this.#parts.values()].map(({ type, content }) => ({ type, content: cut(content) }));
    const message = { role: "assistant", parts: [...texts, ...this.#calls], finish_reason: reasonOf(finishReason) };
    return { "gen_ai.output.messages": newest([message]) };
  }
}

function messageOf({ role, content }: PromptMessage): Message {
  return { role, parts: typeof content === "string" ? [text(content)] : content.map(partOf) };
}

function partOf({ type, text: said = "", toolCallId: id, toolName: name, input, output, data, mediaType }: PromptPart) {
  switch (type) {
    case "text":
      return text(said);
    case "reasoning":
      return { type: "reasoning", content: cut(said) };
    case "tool-call":
      return { type: "tool_call", id, name, arguments: cut(jsonOf(input)) };
    case "tool-result":
      return { type: "tool_call_response", id, response: cut(jsonOf(output)) };
    case "file": {
      const file = { modality: mediaType?.split("/", 1)[0] ?? "file", mime_type: mediaType ?? null };
      return data instanceof URL
        ? { type: "uri", ...file, uri: cut(data.href) }
        : { type: "blob", ...file, content: "" };
    }
    default:
      return { type };
  }
}

function text(content: string): Part {
  return { type: "text", content: cut(content) };
}

const reasons: Readonly<Record<string, string>> = { "content-filter": "content_filter", "tool-calls": "tool_call" };

function reasonOf(reason: FinishReason): string {
  return reasons[reason] ?? reason;
}

function jsonOf(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "null");
}

function cut(said: string): string {
  return said.length <= pieceCharactersMax ? said : `${said.slice(0, pieceCharactersMax).toWellFormed()}…`;
}

/** Returns the newest of these as a JSON list within the limit. */
function newest(list: readonly unknown[]): string {
  const kept: string[] = [];
  let characters = 2;
  for (const one of [...list].reverse()) {
    const json = JSON.stringify(one);
    characters += json.length + 1;
    if (characters > contentCharactersMax) break;
    kept.unshift(json);
  }
  return `[${kept.join(",")}]`;
}
