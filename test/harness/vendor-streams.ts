import { block, closing, opening, said, textOf, thought } from "./anthropic-events.ts";

/**
 * Streams as the vendors' documentation and public recordings have them, with the fields that they
 * send beside the answer: what each says is "Half of it", some with thoughts and with tools that the
 * vendor runs itself.
 */
export interface VendorStream {
  readonly vendor: string;
  readonly providerType: "custom" | "openai" | "openrouter" | "anthropic" | "google";
  readonly text: string;
}

const lines = (...events: readonly object[]) =>
  `${events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("")}`;
const done = "data: [DONE]\n\n";

const chunk = (delta: object, more: object = {}, choice: object = {}) => ({
  id: "chatcmpl-1",
  object: "chat.completion.chunk",
  created: 1_700_000_000,
  model: "m",
  choices: [{ index: 0, delta, logprobs: null, finish_reason: null, ...choice }],
  ...more,
});
const end = (reason: string, more: object = {}) => chunk({}, more, { finish_reason: reason });
const usage = { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 };
const only = (counts: object) => ({ ...chunk({}), choices: [], usage: counts });

const openai = lines(
  { ...chunk({ role: "assistant", content: "", refusal: null }), service_tier: "default", system_fingerprint: "fp_1" },
  chunk({ content: "Half " }, { usage: null, obfuscation: "x" }),
  chunk({ content: "of it" }),
  end("stop"),
  only({ ...usage, prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 } }),
);

const deepSeek = lines(
  chunk({ role: "assistant", content: null, reasoning_content: "" }),
  chunk({ content: null, reasoning_content: "Let me see." }),
  chunk({ content: "Half of it", reasoning_content: null }),
  end("stop", { usage: { ...usage, prompt_cache_hit_tokens: 0, prompt_cache_miss_tokens: 7 } }),
);

const mistral = lines(
  chunk({ role: "assistant", content: [{ type: "thinking", thinking: [{ type: "text", text: "Let me see." }] }] }),
  chunk({ content: [{ type: "text", text: "Half of it" }] }),
  end("stop", { usage, p: "abcdef" }),
);

const groq = lines(
  { ...chunk({ role: "assistant", content: "" }), x_groq: { id: "req_1" } },
  chunk({ reasoning: "Let me see." }),
  chunk({ content: "Half of it" }),
  end("stop", { x_groq: { id: "req_1", usage: { queue_time: 0.1, ...usage } } }),
);

const xai = lines(
  chunk({ role: "assistant", reasoning_content: "Let me see." }),
  chunk({ content: "Half of it" }),
  end("stop"),
  { ...only({ ...usage, num_sources_used: 0 }), citations: ["https://example.org/a"], system_fingerprint: "fp_1" },
);

const moonshot = lines(
  chunk({ role: "assistant", content: "" }),
  chunk({ reasoning_content: "Let me see." }),
  chunk({ content: "Half of it" }),
  chunk({}, {}, { finish_reason: "stop", usage }),
);

const openrouter = [
  ": OPENROUTER PROCESSING\n\n",
  lines(
    {
      ...chunk({
        role: "assistant",
        content: "",
        reasoning: "Let me see.",
        reasoning_details: [
          { type: "reasoning.text", text: "Let me see.", format: "anthropic-claude-v1", index: 0 },
          { type: "reasoning.text", signature: "signed", format: "anthropic-claude-v1", index: 0 },
        ],
      }),
      provider: "Anthropic",
    },
    { ...chunk({ role: "assistant", content: "Half of it" }), provider: "Anthropic" },
    chunk({ content: "" }, { provider: "Anthropic" }, { finish_reason: "stop", native_finish_reason: "end_turn" }),
    only({ ...usage, cost: 0.001, is_byok: false, cost_details: { upstream_inference_cost: null } }),
  ),
].join("");

const usageOfAnthropic = {
  input_tokens: 7,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
  cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 },
  output_tokens: 1,
  service_tier: "standard",
  inference_geo: "global",
};
const search = { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: {} };
const found = {
  type: "web_search_tool_result",
  tool_use_id: "srvtoolu_1",
  content: [
    { type: "web_search_result", url: "https://example.org", title: "A", encrypted_content: "x", page_age: null },
  ],
};
const citation = {
  type: "web_search_result_location",
  cited_text: "Half",
  url: "https://example.org",
  title: "A",
  encrypted_index: "y",
};
const anthropic = textOf(
  { ...opening, message: { ...opening.message, stop_reason: null, stop_sequence: null, usage: usageOfAnthropic } },
  { type: "ping" },
  ...thought(0, "Let me see."),
  ...block(1, search, { type: "input_json_delta", partial_json: '{"query":"half"}' }),
  ...block(2, found),
  ...block(
    3,
    { type: "text", text: "" },
    { type: "citations_delta", citation },
    { type: "text_delta", text: "Half of it" },
  ),
  ...closing("end_turn"),
);
/** Results of a tool that was never called, and a call that gets no result. */
const anthropicTorn = textOf(
  opening,
  ...block(0, { ...found, tool_use_id: "srvtoolu_9" }),
  ...block(1, search),
  ...said(2, "Half of it"),
  ...closing("pause_turn"),
);

const ratings = [{ category: "HARM_CATEGORY_HARASSMENT", probability: "NEGLIGIBLE" }];
const part = (one: object, more: object = {}) => ({
  candidates: [{ content: { role: "model", parts: [one] }, index: 0, safetyRatings: ratings, ...more }],
  usageMetadata: {
    promptTokenCount: 7,
    candidatesTokenCount: 3,
    totalTokenCount: 10,
    promptTokensDetails: [{ modality: "TEXT", tokenCount: 7 }],
    trafficType: "ON_DEMAND",
  },
  modelVersion: "gemini-3-pro",
  responseId: "r",
});
const google = lines(
  part({ text: "Let me see.", thought: true }),
  part({ executableCode: { language: "PYTHON", code: "print(1/2)", id: "x" }, thoughtSignature: "signed" }),
  part({ codeExecutionResult: { outcome: "OUTCOME_OK", output: "0.5\n", id: "x" } }),
  part({ text: "Half of it" }, { groundingMetadata: { groundingChunks: [{ web: { uri: "https://example.org" } }] } }),
  part({ text: "", thoughtSignature: "signed" }, { finishReason: "STOP" }),
);

export const vendorStreams: readonly VendorStream[] = [
  { vendor: "OpenAI", providerType: "openai", text: openai + done },
  { vendor: "DeepSeek", providerType: "custom", text: deepSeek + done },
  { vendor: "Mistral", providerType: "custom", text: mistral + done },
  { vendor: "Groq", providerType: "custom", text: groq + done },
  { vendor: "xAI", providerType: "custom", text: xai + done },
  { vendor: "Moonshot", providerType: "custom", text: moonshot + done },
  { vendor: "OpenRouter", providerType: "openrouter", text: openrouter + done },
  { vendor: "Anthropic", providerType: "anthropic", text: anthropic },
  { vendor: "Anthropic, a tool's call and result apart", providerType: "anthropic", text: anthropicTorn },
  { vendor: "Google", providerType: "google", text: google },
];

const about = { id: "resp_1", object: "response", created_at: 1, model: "gpt-5", service_tier: "default" };
const at = (output_index: number, item_id: string) => ({ output_index, item_id, sequence_number: 1 });
/** OpenAI's Responses: thoughts, a search that it runs itself, a text with a citation. */
export const responsesStream = lines(
  { type: "response.created", response: { ...about, status: "in_progress", output: [] } },
  { type: "response.in_progress", response: { ...about, status: "in_progress" } },
  { type: "response.output_item.added", output_index: 0, item: { type: "reasoning", id: "rs_1", summary: [] } },
  { type: "response.reasoning_summary_part.added", ...at(0, "rs_1"), summary_index: 0, part: { type: "summary_text" } },
  { type: "response.reasoning_summary_text.delta", ...at(0, "rs_1"), summary_index: 0, delta: "Let me see." },
  { type: "response.reasoning_summary_part.done", ...at(0, "rs_1"), summary_index: 0 },
  {
    type: "response.output_item.done",
    output_index: 0,
    item: { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "signed" },
  },
  {
    type: "response.output_item.added",
    output_index: 1,
    item: { type: "web_search_call", id: "ws_1", status: "in_progress" },
  },
  { type: "response.web_search_call.searching", ...at(1, "ws_1") },
  {
    type: "response.output_item.done",
    output_index: 1,
    item: { type: "web_search_call", id: "ws_1", status: "completed", action: { type: "search", query: "half" } },
  },
  { type: "response.output_item.added", output_index: 2, item: { type: "message", id: "msg_1", role: "assistant" } },
  { type: "response.content_part.added", ...at(2, "msg_1"), content_index: 0, part: { type: "output_text", text: "" } },
  {
    type: "response.output_text.delta",
    ...at(2, "msg_1"),
    content_index: 0,
    delta: "Half of it",
    logprobs: [],
    obfuscation: "x",
  },
  {
    type: "response.output_text.annotation.added",
    ...at(2, "msg_1"),
    annotation: { type: "url_citation", url: "https://example.org", title: "A", start_index: 0, end_index: 4 },
  },
  {
    type: "response.output_item.done",
    output_index: 2,
    item: { type: "message", id: "msg_1", role: "assistant", status: "completed" },
  },
  {
    type: "response.completed",
    response: { ...about, status: "completed", usage: { input_tokens: 7, output_tokens: 3, total_tokens: 10 } },
  },
);
