/** The answer "Yes." in each wire format, with what the vendor says of tokens as it says it. */

const sse = (...events: readonly object[]) =>
  new Response(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(""), {
    headers: { "content-type": "text/event-stream" },
  });

/** Chat Completions, which OpenAI, OpenRouter and most others speak. */
export const chatAnswer = (usage: object) =>
  sse(
    { id: "c", choices: [{ index: 0, delta: { content: "Yes." }, finish_reason: null }] },
    { id: "c", choices: [{ index: 0, delta: {}, finish_reason: "stop" }] },
    { id: "c", choices: [], usage },
  );

/** The same of Groq, whose usage stands elsewhere. */
export const groqAnswer = (usage: object) =>
  sse(
    { id: "c", choices: [{ index: 0, delta: { content: "Yes." }, finish_reason: null }] },
    { id: "c", choices: [{ index: 0, delta: {}, finish_reason: "stop" }], x_groq: { id: "req_1", usage } },
  );

/** Anthropic's Messages: what it says at the start and at the end. */
export const anthropicAnswer = (start: object, end: object) =>
  sse(
    { type: "message_start", message: { id: "m", model: "m", role: "assistant", content: [], usage: start } },
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
    { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Yes." } },
    { type: "content_block_stop", index: 0 },
    { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: end },
    { type: "message_stop" },
  );

/** Google's generateContent. */
export const googleAnswer = (usageMetadata: object) =>
  sse({ candidates: [{ content: { parts: [{ text: "Yes." }] }, finishReason: "STOP" }], usageMetadata });

/** The AI Gateway, which sends the parts of the AI SDK. */
export const gatewayAnswer = (usage: object) =>
  sse(
    { type: "text-start", id: "1" },
    { type: "text-delta", id: "1", delta: "Yes." },
    { type: "text-end", id: "1" },
    { type: "finish", finishReason: { unified: "stop", raw: "stop" }, usage },
  );

const message = { type: "message", id: "msg_1", role: "assistant", status: "completed" };
/** OpenAI's Responses. */
export const responsesAnswer = (usage: object) =>
  sse(
    { type: "response.created", response: { id: "r", created_at: 1, model: "m" } },
    { type: "response.output_item.added", output_index: 0, item: { ...message, content: [] } },
    { type: "response.output_text.delta", item_id: "msg_1", output_index: 0, content_index: 0, delta: "Yes." },
    {
      type: "response.output_item.done",
      output_index: 0,
      item: { ...message, content: [{ type: "output_text", text: "Yes.", annotations: [] }] },
    },
    { type: "response.completed", response: { id: "r", usage } },
  );
