import { type TSchema, Type } from "@sinclair/typebox";
import { Component, component, example } from "../kernel/http/component.ts";
import { OneOf } from "../kernel/http/request-fields.ts";
import { Text } from "../kernel/http/response-fields.ts";

/**
 * UI messages of the AI SDK, their parts and the chunks they are streamed in, for the
 * OpenAPI document. Parts and chunks are open: the SDK adds fields, and a vendor's own
 * data of a part is in `providerMetadata`. The document does not say so by the word
 * `additionalProperties`, which means the same as saying nothing: generators of clients take it for
 * fields of every name, and then `part.text` is of no type.
 */

const ProviderMetadata = Type.Record(Text, Type.Record(Text, Type.Unknown()));
const provider = { providerMetadata: Type.Optional(ProviderMetadata) };
const flag = Type.Optional(Type.Boolean());
const Anything = Type.Unknown();

/** The schema of a text that begins with `prefix`, such as `tool-search`. */
function startsWith(prefix: string, value: string): TSchema {
  return example(Type.String({ pattern: `^${prefix}` }), value);
}

const TextPart = component(
  "TextPart",
  Type.Object({
    type: Type.Literal("text"),
    text: example(Text, "What time is it in Lisbon?"),
    state: Type.Optional(OneOf("streaming", "done")),
    ...provider,
  }),
);

const FilePart = component(
  "FilePart",
  Type.Object({
    type: Type.Literal("file"),
    mediaType: example(Text, "image/png"),
    url: example(Text, "https://example.org/clock.png"),
    filename: Type.Optional(Text),
    ...provider,
  }),
);

const ReasoningPart = component(
  "ReasoningPart",
  Type.Object({
    type: Type.Literal("reasoning"),
    id: Type.Optional(Text),
    text: example(Text, "Lisbon is on Western European Time."),
    state: Type.Optional(OneOf("streaming", "done")),
    ...provider,
  }),
);

const toolStates = [
  "input-streaming",
  "input-available",
  "approval-requested",
  "approval-responded",
  "output-available",
  "output-error",
  "output-denied",
] as const;

const Approval = Type.Object({
  id: example(Text, "apr_0mk7q2v5c8d1f4h6j9n3p0rt"),
  approved: flag,
  reason: Type.Optional(Text),
  isAutomatic: flag,
});

const call = {
  toolCallId: example(Text, "call_1"),
  state: example(OneOf(...toolStates), "output-available"),
  input: Type.Optional(example(Anything, { zone: "Europe/Lisbon" })),
  output: Type.Optional(example(Anything, "09:30:00")),
  errorText: Type.Optional(Text),
  approval: Type.Optional(Approval),
  providerExecuted: flag,
  callProviderMetadata: Type.Optional(ProviderMetadata),
  resultProviderMetadata: Type.Optional(ProviderMetadata),
};

const ToolPart = component("ToolPart", Type.Object({ type: startsWith("tool-", "tool-read"), ...call }));
const DynamicToolPart = component(
  "DynamicToolPart",
  Type.Object({ type: Type.Literal("dynamic-tool"), toolName: example(Text, "clock__time"), ...call }),
);

const source = { sourceId: example(Text, "source-1") };
const SourceUrlPart = component(
  "SourceUrlPart",
  Type.Object({
    type: Type.Literal("source-url"),
    ...source,
    url: example(Text, "https://example.org/time-zones"),
    title: Type.Optional(Text),
    ...provider,
  }),
);
const SourceDocumentPart = component(
  "SourceDocumentPart",
  Type.Object({
    type: Type.Literal("source-document"),
    ...source,
    mediaType: example(Text, "application/pdf"),
    title: example(Text, "Time zones"),
    filename: Type.Optional(Text),
    ...provider,
  }),
);
const DataPart = component(
  "DataPart",
  Type.Object({ type: startsWith("data-", "data-progress"), id: Type.Optional(Text), data: example(Anything, 0.5) }),
);
const StepStartPart = component("StepStartPart", Type.Object({ type: Type.Literal("step-start") }));

/** A part of a message of either role. */
export const MessagePart = component(
  "MessagePart",
  Type.Union([
    TextPart,
    ReasoningPart,
    FilePart,
    ToolPart,
    DynamicToolPart,
    SourceUrlPart,
    SourceDocumentPart,
    DataPart,
    StepStartPart,
  ]),
);

/** A part of a user's message: text, or an image as a data URL or an https URL. */
export const UserMessagePart = component("UserMessagePart", Type.Union([TextPart, FilePart]));

/** A message as a transcript holds it. */
export const Message = Component("UIMessage", {
  id: example(Text, "msg_0mk7q2v5c8d1f4h6j9n3p0rt"),
  role: example(OneOf("user", "assistant"), "assistant"),
  parts: example(Type.Array(MessagePart), [{ type: "text", text: "It is half past nine.", state: "done" }]),
  metadata: Type.Optional(Anything),
});

function chunk(type: TSchema, fields: Readonly<Record<string, TSchema>> = {}): TSchema {
  return Type.Object({ type, ...fields });
}
const literal = <T extends string>(type: T) => Type.Literal(type);
const id = { id: example(Text, "0") };
const toolCall = { toolCallId: example(Text, "call_1") };
/** What a chunk says of a call: who runs it, and what its vendor wants back with it. */
const aboutCall = { ...toolCall, dynamic: flag, providerExecuted: flag, ...provider };
const tool = { ...aboutCall, toolName: Text };

/** One event of a turn's stream: a UI message chunk of the AI SDK. */
export const MessageChunk = component(
  "UIMessageChunk",
  Type.Union([
    chunk(literal("text-delta"), { ...id, delta: example(Text, "It is"), ...provider }),
    chunk(literal("text-start"), { ...id, ...provider }),
    chunk(literal("text-end"), { ...id, ...provider }),
    chunk(literal("reasoning-start"), { ...id, ...provider }),
    chunk(literal("reasoning-delta"), { ...id, delta: Text, ...provider }),
    chunk(literal("reasoning-end"), { ...id, ...provider }),
    chunk(literal("tool-input-start"), tool),
    chunk(literal("tool-input-delta"), { ...toolCall, inputTextDelta: Text }),
    chunk(literal("tool-input-available"), { ...tool, input: Anything }),
    chunk(literal("tool-input-error"), { ...tool, input: Anything, errorText: Text }),
    chunk(literal("tool-approval-request"), { ...toolCall, approvalId: Text, isAutomatic: flag }),
    chunk(literal("tool-approval-response"), {
      approvalId: Text,
      approved: Type.Boolean(),
      reason: Type.Optional(Text),
    }),
    chunk(literal("tool-output-available"), { ...aboutCall, output: Anything, preliminary: flag }),
    chunk(literal("tool-output-error"), { ...aboutCall, errorText: Text }),
    chunk(literal("tool-output-denied"), toolCall),
    chunk(literal("file"), { url: Text, mediaType: Text, ...provider }),
    chunk(literal("source-url"), { sourceId: Text, url: Text, title: Type.Optional(Text), ...provider }),
    chunk(literal("source-document"), {
      sourceId: Text,
      mediaType: Text,
      title: Text,
      filename: Type.Optional(Text),
      ...provider,
    }),
    chunk(startsWith("data-", "data-tool-progress"), {
      data: example(Anything, { toolCallId: "call_1", progress: 1, total: 4, message: "Reading" }),
      transient: flag,
    }),
    chunk(literal("start"), { messageId: Type.Optional(Text), messageMetadata: Type.Optional(Anything) }),
    chunk(literal("start-step")),
    chunk(literal("finish-step")),
    chunk(literal("message-metadata"), { messageMetadata: Anything }),
    chunk(literal("finish"), { finishReason: Type.Optional(Text), messageMetadata: Type.Optional(Anything) }),
    chunk(literal("abort"), { reason: Type.Optional(Text) }),
    chunk(literal("error"), { errorText: Text }),
  ]),
);

/** What a turn's stream sends: each event's `data` is a chunk as JSON, and the last one's is `[DONE]`. */
export const MessageStream = component(
  "UIMessageStream",
  example(
    Type.String({
      description:
        "Server-sent events. The `data` of each is a UI message chunk as JSON, and its `id` may be sent back as " +
        "`Last-Event-ID` when the stream is joined again; the `data` of the last one is `[DONE]`.",
      contentMediaType: "text/event-stream",
      contentSchema: MessageChunk,
    }),
    'id: turn_0mk7q2v5c8d1f4h6j9n3p0rt:2\ndata: {"type":"text-delta","id":"0","delta":"It is"}\n\ndata: [DONE]\n\n',
  ),
);
