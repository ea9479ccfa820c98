/** The wire format of `POST /v1/chat/completions`, read and printed. */
import { randomUUID } from "node:crypto";
import {
  arrayOf,
  type Conversation,
  contentOf,
  countTokens,
  InvalidRequest,
  imageTokens,
  type Json,
  type OfferedTool,
  objectOf,
  type ToolResult,
} from "./conversation.ts";
import { errorBody, scriptedFailureMessage } from "./errors.ts";
import { cutEvenly } from "./pieces.ts";
import type { ModelReply } from "./reply.ts";
import type { Frames } from "./send.ts";

/** Reads a request body. Throws InvalidRequest. */
export function readChatRequest(body: Json): Conversation {
  const messages = arrayOf(body.messages, "messages").map((message) => objectOf(message, "A message"));
  if (messages.length === 0) throw new InvalidRequest("messages must hold at least one message.");
  if (typeof body.model !== "string") throw new InvalidRequest("model must be a string.");
  const last = messages.findLastIndex((message) => message.role === "user");
  const { text: prompt, images } = contentOf(messages[last]?.content);
  const since = messages.slice(last + 1);
  const steps = since.filter((message) => arrayOf(message.tool_calls, "tool_calls").length > 0);
  const toolOfCall = new Map(
    steps
      .flatMap((step) => arrayOf(step.tool_calls, "tool_calls"))
      .map((entry) => {
        const call = objectOf(entry, "A tool call");
        return [call.id, String(objectOf(call.function, "A tool call's function").name)];
      }),
  );
  const toolResults: ToolResult[] = since
    .filter((message) => message.role === "tool")
    .map((message) => ({
      tool: toolOfCall.get(message.tool_call_id) ?? "unknown",
      output: contentOf(message.content).text,
    }));
  return {
    model: body.model,
    prompt,
    images,
    stepsPlayed: steps.length,
    toolResults,
    tools: body.tool_choice === "none" ? [] : toolsOf(body),
    inputTokens: countInputTokens(messages),
  };
}

function toolsOf(body: Json): OfferedTool[] {
  return arrayOf(body.tools, "tools").map((entry) => {
    const { name, parameters } = objectOf(objectOf(entry, "A tool").function, "A tool's function");
    return { name: String(name), parameters };
  });
}

function countInputTokens(messages: ReadonlyArray<Json>): number {
  let units = 0;
  let imageCount = 0;
  for (const message of messages) {
    const { text, images } = contentOf(message.content);
    units += text.length;
    imageCount += images;
    for (const entry of arrayOf(message.tool_calls, "tool_calls")) {
      const { name, arguments: input } = objectOf(objectOf(entry, "A tool call").function, "A tool call's function");
      units += String(name).length + String(input).length;
    }
  }
  return countTokens(units) + imageCount * imageTokens;
}

/** Returns the events of a streamed answer; a usage event follows them when the request asked for it. */
export function chatFrames(reply: ModelReply, model: string, includeUsage: boolean): Frames {
  const head = `data: ${JSON.stringify(envelope("chat.completion.chunk", model)).slice(0, -1)},`;
  const frame = (delta: string, finish = "null") =>
    `${head}"choices":[{"index":0,"delta":${delta},"finish_reason":${finish}}]}\n\n`;
  const usage = includeUsage && reply.usage !== null ? JSON.stringify(usageOf(reply.usage)) : null;
  return {
    opening: frame('{"role":"assistant","content":""}'),
    chunks: [
      ...reply.reasoning.map((piece) => frame(`{"reasoning_content":${JSON.stringify(piece)}}`)),
      ...reply.text.map((piece) => frame(`{"content":${JSON.stringify(piece)}}`)),
      ...reply.calls.flatMap((call, index) =>
        callDeltas(call.tool, call.arguments, index).map((delta) => frame(delta)),
      ),
    ],
    closing:
      frame("{}", JSON.stringify(reply.finish)) + (usage === null ? "" : `${head}"choices":[],"usage":${usage}}\n\n`),
    last: "data: [DONE]\n\n",
    failure: `data: ${JSON.stringify(errorBody(reply.status ?? 500, scriptedFailureMessage))}\n\n`,
  };
}

/** A call's arguments are streamed in this many pieces. */
const argumentPieces = 3;

function callDeltas(tool: string, input: string, index: number): string[] {
  const first = { index, id: newCallId(), type: "function", function: { name: tool, arguments: "" } };
  const rest = cutEvenly(input, argumentPieces).map((piece) => ({ index, function: { arguments: piece } }));
  return [first, ...rest].map((call) => JSON.stringify({ tool_calls: [call] }));
}

/** Returns the whole answer, for a request that does not stream. */
export function chatBody(reply: ModelReply, model: string): Json {
  const message = {
    role: "assistant",
    content: reply.text.length > 0 || reply.calls.length === 0 ? reply.text.join("") : null,
    ...(reply.reasoning.length > 0 && { reasoning_content: reply.reasoning.join("") }),
    ...(reply.calls.length > 0 && {
      tool_calls: reply.calls.map((call) => ({
        id: newCallId(),
        type: "function",
        function: { name: call.tool, arguments: call.arguments },
      })),
    }),
  };
  return {
    ...envelope("chat.completion", model),
    choices: reply.empty ? [] : [{ index: 0, message, finish_reason: reply.finish }],
    ...(reply.usage !== null && { usage: usageOf(reply.usage) }),
  };
}

/** Returns a new tool call id: unlike the content of an answer it must never repeat. */
export function newCallId(): string {
  return `call_${randomUUID().replaceAll("-", "").slice(0, 24)}`;
}

function envelope(kind: string, model: string): Json {
  return { id: `chatcmpl-${randomUUID()}`, object: kind, created: Math.floor(Date.now() / 1000), model };
}

function usageOf({ inputTokens, outputTokens }: NonNullable<ModelReply["usage"]>): Json {
  return { prompt_tokens: inputTokens, completion_tokens: outputTokens, total_tokens: inputTokens + outputTokens };
}
