import { Type } from "@sinclair/typebox";
import { Component, component, example } from "../kernel/http/component.ts";
import { Closed, Metadata, Nullable, OneOf } from "../kernel/http/request-fields.ts";
import { Text, TextOrNull } from "../kernel/http/response-fields.ts";
import { Id } from "../kernel/ids.ts";

/** What the operations of this protocol respond with, for the OpenAPI document. The protocol's own document has each item and event. */

const Anything = Type.Object({}, { additionalProperties: true });
const Seconds = example(Type.Integer(), 1_790_000_000);

const ItemStatus = example(OneOf("in_progress", "completed", "incomplete"), "completed");
const call = { name: example(Text, "clock__time"), arguments: example(Text, '{"zone":"Europe/Lisbon"}') };
const hosted = { ...call, server_label: example(Text, "parley") };

const MessageItem = Component("ResponseMessageItem", {
  id: example(Text, "msg_0mk7q2v5c8d1f4h6j9n3p0rt_0"),
  type: Type.Literal("message"),
  status: ItemStatus,
  role: Type.Literal("assistant"),
  content: Type.Array(
    // Without a name: Spectral takes the example of one in a field `content` for an example of a media type.
    Closed({
      type: Type.Literal("output_text"),
      text: example(Text, "It is half past nine."),
      annotations: example(Type.Array(Anything), []),
      logprobs: example(Type.Array(Anything), []),
    }),
  ),
});
const ReasoningItem = Component("ResponseReasoningItem", {
  id: example(Text, "rs_0mk7q2v5c8d1f4h6j9n3p0rt_0"),
  type: Type.Literal("reasoning"),
  status: ItemStatus,
  summary: Type.Array(
    Component("ResponseSummaryText", {
      type: Type.Literal("summary_text"),
      text: example(Text, "Lisbon is on Western European Time."),
    }),
  ),
});
const FunctionCallItem = Component("ResponseFunctionCallItem", {
  id: example(Text, "fc_0mk7q2v5c8d1f4h6j9n3p0rt_1"),
  type: Type.Literal("function_call"),
  status: ItemStatus,
  call_id: example(Text, "call_1"),
  ...call,
});
const McpCallItem = Component("ResponseMcpCallItem", {
  id: example(Text, "mcp_0mk7q2v5c8d1f4h6j9n3p0rt_1"),
  type: Type.Literal("mcp_call"),
  status: example(OneOf("in_progress", "completed", "failed"), "completed"),
  ...hosted,
  output: example(TextOrNull, "09:30:00"),
  error: example(TextOrNull, null),
  approval_request_id: example(Nullable(Id("approval")), null),
});
const McpApprovalRequestItem = Component("ResponseMcpApprovalRequestItem", {
  id: Id("approval"),
  type: Type.Literal("mcp_approval_request"),
  status: Type.Literal("completed"),
  ...hosted,
});

const Item = component(
  "ResponseOutputItem",
  Type.Union([MessageItem, ReasoningItem, FunctionCallItem, McpCallItem, McpApprovalRequestItem]),
);

/** A function of the request, as its response says it again. */
const Tool = Component("ResponseTool", {
  type: Type.Literal("function"),
  name: example(Text, "current_location"),
  description: example(TextOrNull, null),
  parameters: example(Nullable(Anything), { type: "object" }),
  strict: example(Nullable(Type.Boolean()), null),
});
const ToolChoice = Type.Union([
  OneOf("auto", "none", "required"),
  Type.Object({ type: Type.Literal("function"), name: Text }),
]);

const Usage = Component("ResponseUsage", {
  input_tokens: example(Type.Integer(), 120),
  input_tokens_details: example(Type.Object({ cached_tokens: Type.Integer() }), { cached_tokens: 64 }),
  output_tokens: example(Type.Integer(), 40),
  output_tokens_details: example(Type.Object({ reasoning_tokens: Type.Integer() }), { reasoning_tokens: 16 }),
  total_tokens: example(Type.Integer(), 160),
});

export const ResponseResponse = Component("Response", {
  id: Id("response"),
  object: Type.Literal("response"),
  created_at: Seconds,
  completed_at: Nullable(Seconds),
  status: example(OneOf("queued", "in_progress", "completed", "failed", "incomplete", "cancelled"), "completed"),
  background: example(Type.Boolean(), false),
  error: example(
    Nullable(
      Component("ResponseError", {
        code: example(Text, "provider_error"),
        message: example(Text, "The model provider failed."),
        type: OneOf("model_error", "server_error"),
        param: Type.Null(),
      }),
    ),
    null,
  ),
  incomplete_details: example(
    Nullable(
      Component("ResponseIncompleteDetails", {
        reason: OneOf("approval_required", "max_output_tokens", "content_filter"),
        // The response that goes on once everything is decided.
        next_response_id: Type.Optional(Id("response")),
      }),
    ),
    null,
  ),
  instructions: example(TextOrNull, null),
  metadata: Metadata,
  model: Id("agent"),
  output: Type.Array(Item),
  previous_response_id: example(Nullable(Id("response")), null),
  store: example(Type.Boolean(), true),
  text: example(Anything, { format: { type: "text" } }),
  tool_choice: example(ToolChoice, "auto"),
  tools: Type.Array(Tool),
  usage: Nullable(Usage),
  user: example(TextOrNull, null),
  truncation: example(Text, "auto"),
  parallel_tool_calls: example(Type.Boolean(), true),
  top_p: example(Type.Number(), 1),
  presence_penalty: example(Type.Number(), 0),
  frequency_penalty: example(Type.Number(), 0),
  top_logprobs: example(Type.Integer(), 0),
  temperature: example(Type.Number(), 1),
  reasoning: example(
    Nullable(Component("ResponseReasoning", { effort: example(Text, "low"), summary: Type.Null() })),
    null,
  ),
  max_output_tokens: example(Type.Union([Type.Integer(), Type.Null()]), null),
  max_tool_calls: Type.Null(),
  service_tier: example(Text, "default"),
  safety_identifier: Type.Null(),
  prompt_cache_key: Type.Null(),
});

const StreamEvent = component(
  "ResponseStreamEvent",
  example(Type.Object({ type: Text, sequence_number: Type.Integer() }, { additionalProperties: true }), {
    type: "response.output_text.delta",
    sequence_number: 4,
    item_id: "msg_0mk7q2v5c8d1f4h6j9n3p0rt_0",
    output_index: 0,
    content_index: 0,
    delta: "It is",
    logprobs: [],
  }),
);

/** What a response's stream sends: each event's `data` as JSON, its `event` the same as the `type` in it, and the last one's `data` is `[DONE]`. */
export const ResponseStream = component(
  "ResponseStream",
  example(
    Type.String({
      description:
        "Server-sent events of the Open Responses protocol. Each has its `type` as its name too and a `sequence_number` from 0; the `data` of the last one is `[DONE]`.",
      contentMediaType: "text/event-stream",
      contentSchema: StreamEvent,
    }),
    'event: response.output_text.delta\ndata: {"type":"response.output_text.delta","sequence_number":4,"item_id":"msg_0mk7q2v5c8d1f4h6j9n3p0rt_0","output_index":0,"content_index":0,"delta":"It is","logprobs":[]}\n\ndata: [DONE]\n\n',
  ),
);

export const ResponseDeletedResponse = Component("ResponseDeleted", {
  id: Id("response"),
  object: Type.Literal("response"),
  deleted: Type.Literal(true),
});

export const ModelResponse = Component("Model", {
  id: Id("agent"),
  object: Type.Literal("model"),
  created: Seconds,
  owned_by: Id("tenant"),
  name: example(Text, "Support"),
});
export const ModelListResponse = Component("ModelList", {
  object: Type.Literal("list"),
  data: Type.Array(ModelResponse),
});
