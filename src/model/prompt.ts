import { convertToModelMessages, type ModelMessage, type TextPart, type Tool, type ToolSet, type UIMessage } from "ai";
import { GiveWay } from "../kernel/async/give-way.ts";
import { asResultFile, base64Of } from "../messages/result-files.ts";
import { isToolCall } from "../messages/tool-calls.ts";
import type { UiMessage } from "../messages/ui-message.ts";
import { FiledResult, filedOutput } from "../tools/filed-result.ts";
import { withPolicyReason } from "./denied-calls.ts";

/**
 * Returns a transcript as messages for the model. Tool calls without a result are left
 * out, because a provider refuses them. The messages before the first one that holds
 * anything but text are converted here, the others by the AI SDK: it takes 3 µs for each
 * message, which with 2,000 messages was half of the time before the model is called.
 */
export async function modelMessages(messages: readonly UiMessage[]): Promise<ModelMessage[]> {
  const converted: ModelMessage[] = [];
  let done = 0;
  for (const message of messages) {
    const texts = textsOf(message);
    if (texts === null) break;
    done += 1;
    if (texts.length > 0 || message.role === "user")
      converted.push({ role: message.role as "user" | "assistant", content: texts });
  }
  const way = new GiveWay();
  while (done < messages.length) {
    const end = pieceEnd(messages, done);
    for (const message of await mixedMessages(messages.slice(done, end))) converted.push(message);
    done = end;
    const turn = way.next();
    if (turn !== null) await turn;
  }
  return converted;
}

/** A piece of messages with this many parts takes the AI SDK some 3 ms; between pieces other work goes on. */
const partsPerPiece = 500;

function pieceEnd(messages: readonly UiMessage[], from: number): number {
  let parts = 0;
  let at = from;
  for (; at < messages.length && parts < partsPerPiece; at++) parts += 1 + (messages[at] as UiMessage).parts.length;
  return at;
}

/** The AI SDK converts each message by itself. */
async function mixedMessages(messages: readonly UiMessage[]): Promise<ModelMessage[]> {
  // Of no prototype: a tool may be called `__proto__`.
  const tools: ToolSet = Object.create(null) as ToolSet;
  const filed = messages.map((message) => withFiledResults(withReasons(message), tools)) as unknown as UIMessage[];
  return convertToModelMessages(filed, { ignoreIncompleteToolCalls: true, tools });
}

function withReasons(message: UiMessage): UiMessage {
  return message.role === "assistant" ? { ...message, parts: message.parts.map(withPolicyReason) } : message;
}

/**
 * Returns a message with the files that tools returned in their results: of the model's own
 * words they are no part. Those of a call that has no result are left out. `tools` is given
 * what converts the results.
 */
function withFiledResults(message: UiMessage, tools: ToolSet): UiMessage {
  if (message.role !== "assistant" || !message.parts.some((part) => asResultFile(part) !== null)) return message;
  const parts: unknown[] = [];
  /** Calls with where they stand and the files that they returned, and by its id the last one of them. */
  const calls: { readonly at: number; readonly files: ReturnedFile[] }[] = [];
  const lasts = new Map<string, (typeof calls)[number]>();
  for (const part of message.parts) {
    const file = asResultFile(part);
    if (file !== null) {
      lasts.get(file.toolCallId)?.files.push({ mediaType: file.mediaType, data: base64Of(file) });
      continue;
    }
    if (isToolCall(part)) {
      const call = { at: parts.length, files: [] };
      calls.push(call);
      lasts.set(part.toolCallId, call);
    }
    parts.push(part);
  }
  for (const { at, files } of calls) {
    const call = parts[at] as FiledCall;
    if (files.length === 0 || call.state !== "output-available") continue;
    parts[at] = { ...call, output: new FiledResult(asText(call.output), files) };
    tools[call.toolName ?? call.type.slice("tool-".length)] = filedTool;
  }
  return { ...message, parts };
}

type ReturnedFile = FiledResult["files"][number];

interface FiledCall {
  readonly type: string;
  readonly state: string;
  /** Of a dynamic tool. */
  readonly toolName?: string;
  readonly output?: unknown;
}

function asText(output: unknown): string {
  return typeof output === "string" ? output : (JSON.stringify(output) ?? "");
}

/** Only its `toModelOutput` is asked. */
const filedTool = { toModelOutput: filedOutput } as unknown as Tool;

interface Part {
  readonly type?: unknown;
  readonly text?: unknown;
  readonly providerMetadata?: unknown;
}

/**
 * Returns what a message says, where that is all it holds: a user's, or that of one step of the assistant. Null: it holds
 * something else. A loop and no closures: of 2,000 messages that is half of the time.
 */
function textsOf({ role, parts }: UiMessage): TextPart[] | null {
  if (role !== "user" && role !== "assistant") return null;
  const texts: TextPart[] = [];
  for (let index = 0; index < parts.length; index++) {
    const { type, text, providerMetadata } = parts[index] as Part;
    if (type === "text" && providerMetadata === undefined) texts.push({ type, text: text as string });
    else if (type !== "step-start" || role !== "assistant" || index > 0) return null;
  }
  return texts;
}
