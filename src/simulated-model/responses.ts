/** The wire format of `POST /v1/responses`, read and printed: as much of it as text, reasoning and function calls need. */
import { randomUUID } from "node:crypto";
import { newCallId } from "./chat-completions.ts";
import {
  arrayOf,
  type Conversation,
  contentOf,
  countTokens,
  InvalidRequest,
  imageTokens,
  type Json,
  objectOf,
  type ToolResult,
} from "./conversation.ts";
import { errorBody, scriptedFailureMessage } from "./errors.ts";
import type { ModelReply } from "./reply.ts";
import type { Frames } from "./send.ts";

/** Reads a request body; item references are not looked up. Throws InvalidRequest. */
export function readResponsesRequest(body: Json): Conversation {
  if (typeof body.model !== "string") throw new InvalidRequest("model must be a string.");
  const items = typeof body.input === "string" ? [{ role: "user", content: body.input }] : itemsOf(body.input);
  const last = items.findLastIndex((item) => item.role === "user");
  const { text: prompt, images } = contentOf(items[last]?.content);
  const since = items.slice(last + 1);
  const calls = since.filter((item) => item.type === "function_call");
  const toolOfCall = new Map(calls.map((call) => [call.call_id, String(call.name)]));
  const toolResults: ToolResult[] = since
    .filter((item) => item.type === "function_call_output")
    .map((item) => ({ tool: toolOfCall.get(item.call_id) ?? "unknown", output: contentOf(item.output).text }));
  const tools = arrayOf(body.tools, "tools").map((entry) => objectOf(entry, "A tool"));
  return {
    model: body.model,
    prompt,
    images,
    stepsPlayed: countSteps(since),
    toolResults,
    tools: body.tool_choice === "none" ? [] : tools.map(({ name, parameters }) => ({ name: String(name), parameters })),
    inputTokens: countInputTokens(items),
  };
}

function itemsOf(input: unknown): Json[] {
  const items = arrayOf(input, "input").map((item) => objectOf(item, "An input item"));
  if (items.length === 0) throw new InvalidRequest("input must hold at least one item.");
  return items;
}

/** Calls that no result separates were made together. */
function countSteps(items: ReadonlyArray<Json>): number {
  let steps = 0;
  let open = false;
  for (const { type } of items) {
    if (type === "function_call" && !open) steps += 1;
    if (type === "function_call") open = true;
    if (type === "function_call_output") open = false;
  }
  return steps;
}

function countInputTokens(items: ReadonlyArray<Json>): number {
  let units = 0;
  let imageCount = 0;
  for (const item of items) {
    const { text, images } = contentOf(item.content ?? item.output);
    units += text.length + String(item.arguments ?? "").length;
    imageCount += images;
  }
  return countTokens(units) + imageCount * imageTokens;
}

/** Returns the events of a streamed answer. */
export function responsesFrames(reply: ModelReply, model: string): Frames {
  const response = envelope(model, "in_progress");
  const items = itemsOfReply(reply);
  const chunks = items.flatMap((item, index) =>
    item.pieces.map((piece, at) => event(item.delta(index, piece), at, item, index)),
  );
  return {
    opening: frame({ type: "response.created", response }),
    chunks,
    closing:
      items.map((item, index) => frame(itemEvent("done", item, index))).join("") + frame(ended(reply, response, items)),
    last: "",
    failure: frame({ type: "error", sequence_number: 0, ...errorBody(reply.status ?? 500, scriptedFailureMessage) }),
  };
}

/** Returns the whole answer, for a request that does not stream. */
export function responsesBody(reply: ModelReply, model: string): Json {
  const items = itemsOfReply(reply);
  return { ...ended(reply, envelope(model, "completed"), items).response, output: items.map(({ whole }) => whole) };
}

interface OutputItem {
  /** The item as it is announced, before its content. */
  readonly start: Json;
  readonly whole: Json;
  readonly pieces: ReadonlyArray<string>;
  delta(index: number, piece: string): Json;
}

function itemsOfReply(reply: ModelReply): OutputItem[] {
  const items: OutputItem[] = [];
  if (reply.reasoning.length > 0) items.push(reasoningItem(reply.reasoning));
  if (reply.text.length > 0) items.push(messageItem(reply.text));
  for (const call of reply.calls) items.push(callItem(call.tool, call.arguments));
  return items;
}

function reasoningItem(pieces: ReadonlyArray<string>): OutputItem {
  const start = { type: "reasoning", id: `rs_${randomUUID()}`, summary: [] };
  return {
    start,
    whole: { ...start, summary: [{ type: "summary_text", text: pieces.join("") }] },
    pieces,
    delta: (index, delta) => ({
      type: "response.reasoning_summary_text.delta",
      item_id: start.id,
      output_index: index,
      summary_index: 0,
      delta,
    }),
  };
}

function messageItem(pieces: ReadonlyArray<string>): OutputItem {
  const start = { type: "message", id: `msg_${randomUUID()}`, role: "assistant", content: [] };
  return {
    start,
    whole: { ...start, content: [{ type: "output_text", text: pieces.join(""), annotations: [] }] },
    pieces,
    delta: (index, delta) => ({
      type: "response.output_text.delta",
      item_id: start.id,
      output_index: index,
      content_index: 0,
      delta,
    }),
  };
}

function callItem(name: string, input: string): OutputItem {
  const start = { type: "function_call", id: `fc_${randomUUID()}`, call_id: newCallId(), name, arguments: "" };
  return {
    start,
    whole: { ...start, arguments: input, status: "completed" },
    pieces: [input],
    delta: (index, delta) => ({
      type: "response.function_call_arguments.delta",
      item_id: start.id,
      output_index: index,
      delta,
    }),
  };
}

/** A chunk; the first of an item announces it. */
function event(delta: Json, at: number, item: OutputItem, index: number): string {
  return (at === 0 ? frame(itemEvent("added", item, index)) : "") + frame(delta);
}

function itemEvent(state: "added" | "done", item: OutputItem, index: number): Json {
  const printed = state === "added" ? item.start : item.whole;
  return { type: `response.output_item.${state}`, output_index: index, item: printed };
}

function ended(reply: ModelReply, response: Json, items: ReadonlyArray<OutputItem>) {
  const reason =
    reply.finish === "length" ? "max_output_tokens" : reply.finish === "content_filter" ? reply.finish : null;
  const status = reason === null ? "completed" : "incomplete";
  return {
    type: `response.${status}`,
    response: {
      ...response,
      status,
      incomplete_details: reason === null ? null : { reason },
      output: items.map(({ whole }) => whole),
      ...(reply.usage !== null && {
        usage: {
          input_tokens: reply.usage.inputTokens,
          output_tokens: reply.usage.outputTokens,
          total_tokens: reply.usage.inputTokens + reply.usage.outputTokens,
        },
      }),
    },
  };
}

function envelope(model: string, status: string): Json {
  const created = Math.floor(Date.now() / 1000);
  return { id: `resp_${randomUUID()}`, object: "response", created_at: created, model, status, output: [] };
}

function frame(payload: Json): string {
  return `data: ${JSON.stringify(payload)}\n\n`;
}
