/** What a vendor says on the wire, as its documentation and recordings have it, and what is shown of it. */
interface RefusalWords {
  readonly body: object | readonly object[];
  readonly headers?: Record<string, string>;
  readonly shown: { readonly code: string | null; readonly message: string; readonly requestId: string | null };
}
export interface FailingVendor {
  readonly providerType: "custom" | "openai" | "openrouter" | "anthropic" | "google" | "gateway";
  readonly refusals: Readonly<Record<400 | 401 | 429 | 500, RefusalWords>>;
  /** The end of a stream that began well, and what is shown of that. */
  readonly broken: { readonly event: string; readonly status: number; readonly shown: object };
  /** The beginning of a stream. */
  readonly begun: string;
  /** It is called at its own address. */
  readonly isAtHome?: true;
}

const event = (value: object, name = "") =>
  `${name === "" ? "" : `event: ${name}\n`}data: ${JSON.stringify(value)}\n\n`;
const chatBegun = event({ id: "c", choices: [{ index: 0, delta: { content: "Half" }, finish_reason: null }] });
/** Quoted in refusals. */
export const quotedKey = "sk-proj-Zy12Xw34Vu56Ts78Rq90";
export const answerIds = { "x-request-id": "req_3b1e0f6c8d7a4e21b5c0" };
const requestId = answerIds["x-request-id"];

const openai = (message: string, type: string, code: string | null): RefusalWords => ({
  body: { error: { message, type, param: null, code } },
  headers: answerIds,
  shown: { code: code ?? type, message, requestId },
});
const openaiRefusals = {
  400: openai(
    "This model's maximum context length is 8192 tokens.",
    "invalid_request_error",
    "context_length_exceeded",
  ),
  401: {
    ...openai(`Incorrect API key provided: ${quotedKey}.`, "invalid_request_error", "invalid_api_key"),
    shown: { code: "invalid_api_key", message: "Incorrect API key provided: [redacted].", requestId },
  },
  429: openai("You exceeded your current quota, please check your plan.", "insufficient_quota", "insufficient_quota"),
  500: openai("The server had an error while processing your request.", "server_error", null),
};

const anthropic = (type: string, message: string, shown = message): RefusalWords => ({
  body: { type: "error", error: { type, message }, request_id: "req_011CSHoEeqs5C35K2UUqR7Fy" },
  headers: { "request-id": "req_011CSHoEeqs5C35K2UUqR7Fy" },
  shown: { code: type, message: shown, requestId: "req_011CSHoEeqs5C35K2UUqR7Fy" },
});
const google = (code: number, status: string, message: string): RefusalWords => ({
  body: { error: { code, message, status, details: [{ "@type": "type.googleapis.com/google.rpc.ErrorInfo" }] } },
  shown: { code: status, message, requestId: null },
});
const router = (code: number, message: string, metadata?: object, shown = message): RefusalWords => ({
  body: { error: { code, message, ...(metadata === undefined ? {} : { metadata }) }, user_id: "user_1" },
  headers: { "x-generation-id": "gen-1761-abc" },
  shown: { code: String(code), message: shown, requestId: "gen-1761-abc" },
});
const gateway = (type: string, message: string): RefusalWords => ({
  body: { error: { message, type }, generationId: "gen_01K8" },
  shown: { code: type, message, requestId: "gen_01K8" },
});

/** How vendors say that a call of their model failed, by status and amid an answer. */
export const failingVendors: Readonly<Record<string, FailingVendor>> = {
  "OpenAI's Chat Completions": {
    providerType: "openai",
    refusals: openaiRefusals,
    begun: chatBegun,
    broken: {
      event: event({ error: { message: "The server is overloaded.", type: "server_error", code: "overloaded" } }),
      status: 503,
      shown: { code: "overloaded", message: "The server is overloaded.", requestId },
    },
  },
  "OpenAI's Responses": {
    providerType: "openai",
    isAtHome: true,
    refusals: openaiRefusals,
    begun: [
      event({
        type: "response.created",
        response: { id: "r", created_at: 1, model: "m", output: [], status: "in_progress" },
      }),
      event({
        type: "response.output_item.added",
        output_index: 0,
        item: { id: "i", type: "message", role: "assistant", content: [], status: "in_progress" },
      }),
      event({ type: "response.output_text.delta", item_id: "i", output_index: 0, content_index: 0, delta: "Half" }),
    ].join(""),
    broken: {
      event: event({
        type: "response.failed",
        response: {
          id: "r",
          status: "failed",
          error: { code: "server_error", message: "The model failed to generate a response." },
        },
      }),
      status: 500,
      shown: { code: "server_error", message: "The model failed to generate a response.", requestId },
    },
  },
  "OpenAI-compatible servers": {
    providerType: "custom",
    refusals: {
      ...openaiRefusals,
      // FastAPI, as vLLM and others have it.
      400: {
        body: { detail: [{ loc: ["body", "messages"], msg: "field required", type: "value_error.missing" }] },
        shown: { code: null, message: "field required", requestId: null },
      },
      // Ollama.
      500: {
        body: { error: "model runner has stopped" },
        shown: { code: null, message: "model runner has stopped", requestId: null },
      },
    },
    begun: chatBegun,
    broken: {
      event: event({ error: { message: "CUDA out of memory", type: "InternalServerError", code: 500 } }),
      status: 500,
      shown: { code: "InternalServerError", message: "CUDA out of memory", requestId },
    },
  },
  Anthropic: {
    providerType: "anthropic",
    refusals: {
      400: anthropic("invalid_request_error", "Your credit balance is too low to access the Anthropic API."),
      401: anthropic("authentication_error", `invalid x-api-key ${quotedKey}`, "invalid x-api-key [redacted]"),
      429: anthropic(
        "rate_limit_error",
        "This request would exceed your organization's rate limit of 50,000 input tokens per minute.",
      ),
      500: anthropic("api_error", "Internal server error"),
    },
    begun: [
      event({
        type: "message_start",
        message: {
          id: "c",
          model: "m",
          role: "assistant",
          type: "message",
          content: [],
          stop_reason: null,
          usage: { input_tokens: 1, output_tokens: 1 },
        },
      }),
      event({ type: "content_block_start", index: 0, content_block: { type: "text", text: "" } }),
      event({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Half" } }),
    ].join(""),
    broken: {
      event: event({ type: "error", error: { type: "overloaded_error", message: "Overloaded" } }, "error"),
      status: 529,
      shown: { code: "overloaded_error", message: "Overloaded", requestId },
    },
  },
  Google: {
    providerType: "google",
    refusals: {
      400: google(400, "INVALID_ARGUMENT", "Request contains an invalid argument."),
      401: google(401, "UNAUTHENTICATED", "Request had invalid authentication credentials."),
      429: google(429, "RESOURCE_EXHAUSTED", "You exceeded your current quota."),
      500: google(500, "INTERNAL", "An internal error has occurred."),
    },
    begun: event({ candidates: [{ content: { parts: [{ text: "Half" }], role: "model" }, index: 0 }] }),
    broken: {
      event: event({ error: { code: 503, message: "The model is overloaded.", status: "UNAVAILABLE" } }),
      status: 503,
      shown: { code: "UNAVAILABLE", message: "The model is overloaded.", requestId },
    },
  },
  OpenRouter: {
    providerType: "openrouter",
    refusals: {
      400: router(
        400,
        "Provider returned error",
        { provider_name: "Fireworks", raw: JSON.stringify({ error: { message: "prompt is too long" } }) },
        "Provider returned error: prompt is too long",
      ),
      401: router(401, "No auth credentials found"),
      429: router(429, "Rate limit exceeded: free-models-per-day"),
      500: router(500, "Internal Server Error"),
    },
    begun: event({ id: "c", model: "m", choices: [{ index: 0, delta: { content: "Half" }, finish_reason: null }] }),
    broken: {
      event: event({
        id: "c",
        error: { code: "server_error", message: "Provider disconnected unexpectedly" },
        choices: [{ index: 0, delta: { content: "" }, finish_reason: "error" }],
      }),
      status: 200,
      shown: { code: "server_error", message: "Provider disconnected unexpectedly", requestId },
    },
  },
  "Vercel AI Gateway": {
    providerType: "gateway",
    isAtHome: true,
    refusals: {
      400: gateway("invalid_request_error", "Invalid input: expected string at messages"),
      401: gateway("authentication_error", "Invalid API key"),
      429: gateway("rate_limit_exceeded", "Rate limit exceeded"),
      500: gateway("internal_server_error", "Something went wrong upstream"),
    },
    begun: [
      event({ type: "stream-start", warnings: [] }),
      event({ type: "text-start", id: "0" }),
      event({ type: "text-delta", id: "0", delta: "Half" }),
    ].join(""),
    broken: {
      event: event({ type: "error", error: { message: "Upstream went away", type: "internal_server_error" } }),
      status: 200,
      shown: { code: "internal_server_error", message: "Upstream went away", requestId },
    },
  },
};
