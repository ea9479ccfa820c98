/**
 * What the Open Responses specification of 2026-04-24 says of responses, items and events, as JSON schemas:
 * the fields that must be there, and their types. Further fields are allowed, as they are there.
 */
type Schema = Readonly<Record<string, unknown>>;

const text: Schema = { type: "string" };
const whole: Schema = { type: "integer" };
const number: Schema = { type: "number" };
const yesNo: Schema = { type: "boolean" };
const orNull = (schema: Schema): Schema => ({ anyOf: [schema, { type: "null" }] });
const listOf = (items: Schema): Schema => ({ type: "array", items });
const one = (...values: readonly string[]): Schema => ({ enum: values });

/** An object with these fields. */
function fields(properties: Readonly<Record<string, Schema>>): Schema {
  return { type: "object", required: Object.keys(properties), properties };
}

const status = one("in_progress", "completed", "incomplete");
const outputText = fields({ type: one("output_text"), text, annotations: { type: "array" } });
const summaryText = fields({ type: one("summary_text"), text });
const message = fields({ type: one("message"), id: text, status, role: one("assistant"), content: listOf(outputText) });
const reasoning = fields({ type: one("reasoning"), id: text, summary: listOf(summaryText) });
const functionCall = fields({
  type: one("function_call"),
  id: text,
  call_id: text,
  name: text,
  arguments: text,
  status,
});
// Items of OpenAI's protocol, which this specification leaves to extensions.
const hosted = fields({
  type: one("mcp_call", "mcp_approval_request"),
  id: text,
  name: text,
  arguments: text,
  server_label: text,
});
const item: Schema = { anyOf: [message, reasoning, functionCall, hosted] };
const functionTool = fields({
  type: one("function"),
  name: text,
  description: orNull(text),
  parameters: orNull({ type: "object" }),
  strict: orNull(yesNo),
});
const usage = fields({
  input_tokens: whole,
  output_tokens: whole,
  total_tokens: whole,
  input_tokens_details: fields({ cached_tokens: whole }),
  output_tokens_details: fields({ reasoning_tokens: whole }),
});

/** A response. */
export const responseSchema = fields({
  id: text,
  object: one("response"),
  created_at: whole,
  completed_at: orNull(whole),
  status: text,
  incomplete_details: orNull(fields({ reason: text })),
  model: text,
  previous_response_id: orNull(text),
  instructions: orNull(text),
  output: listOf(item),
  error: orNull(fields({ code: text, message: text })),
  tools: listOf(functionTool),
  tool_choice: { anyOf: [one("none", "auto", "required"), fields({ type: one("function"), name: text })] },
  truncation: one("auto", "disabled"),
  parallel_tool_calls: yesNo,
  text: fields({ format: fields({ type: text }) }),
  top_p: number,
  presence_penalty: number,
  frequency_penalty: number,
  top_logprobs: whole,
  temperature: number,
  reasoning: orNull({ type: "object" }),
  usage: orNull(usage),
  max_output_tokens: orNull(whole),
  max_tool_calls: orNull(whole),
  store: yesNo,
  background: yesNo,
  service_tier: text,
  metadata: { type: "object" },
  safety_identifier: orNull(text),
  prompt_cache_key: orNull(text),
});

const ofResponse = { response: responseSchema };
const ofItem = { output_index: whole, item };
const at = { item_id: text, output_index: whole };
const eventFields: Readonly<Record<string, Readonly<Record<string, Schema>>>> = {
  "response.created": ofResponse,
  "response.in_progress": ofResponse,
  "response.completed": ofResponse,
  "response.failed": ofResponse,
  "response.incomplete": ofResponse,
  "response.output_item.added": ofItem,
  "response.output_item.done": ofItem,
  "response.content_part.added": { ...at, content_index: whole, part: outputText },
  "response.content_part.done": { ...at, content_index: whole, part: outputText },
  "response.output_text.delta": { ...at, content_index: whole, delta: text },
  "response.output_text.done": { ...at, content_index: whole, text },
  "response.function_call_arguments.delta": { ...at, delta: text },
  "response.function_call_arguments.done": { ...at, arguments: text },
  "response.reasoning_summary_part.added": { ...at, summary_index: whole, part: summaryText },
  "response.reasoning_summary_part.done": { ...at, summary_index: whole, part: summaryText },
  "response.reasoning_summary_text.delta": { ...at, summary_index: whole, delta: text },
  "response.reasoning_summary_text.done": { ...at, summary_index: whole, text },
};

/** An event of this type; one that the specification does not name fits nothing. */
export function eventSchema(type: string): Schema {
  const own = eventFields[type];
  return own === undefined ? { not: {} } : fields({ type: one(type), sequence_number: whole, ...own });
}

/** An event as it was sent. */
export interface SentEvent {
  readonly name: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into events freely.
  readonly data: any;
}

/** The events of a stream, with their names; the last is `[DONE]`. Comments and `retry` are left out. */
export function eventsOf(sse: string): SentEvent[] {
  return sse
    .split("\n\n")
    .filter((block) => /^data: /m.test(block))
    .map((block) => {
      const [, name = ""] = /^event: (.*)$/m.exec(block) ?? [];
      const [, data = ""] = /^data: (.*)$/m.exec(block) ?? [];
      return { name, data: data === "[DONE]" ? data : JSON.parse(data) };
    });
}
