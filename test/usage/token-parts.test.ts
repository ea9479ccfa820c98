import { afterAll, expect, test } from "bun:test";
import { createGateway } from "@ai-sdk/gateway";
import { createOpenAI } from "@ai-sdk/openai";
import { useTenant } from "../harness/fixture.ts";
import { bothSides, onVendor } from "../harness/model-sides.ts";
import { makeAgent, makeProvider, userMessage } from "../harness/seed.ts";
import { play, script } from "../harness/turns.ts";
import { startVendor } from "../servers/vendor.ts";

/** What vendors say of cached and thought tokens, as each of them says it, up to where it can be read. */

const { h, t } = await useTenant({ worker: true });

const sse = (...events: readonly object[]) =>
  new Response(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(""), {
    headers: { "content-type": "text/event-stream" },
  });
const chat = (usage: object) =>
  sse(
    { id: "c", choices: [{ index: 0, delta: { content: "Yes." }, finish_reason: null }] },
    { id: "c", choices: [{ index: 0, delta: {}, finish_reason: "stop" }] },
    { id: "c", choices: [], usage },
  );
const whole = { prompt_tokens: 100, completion_tokens: 50, total_tokens: 150 };
const chatUsage = {
  ...whole,
  prompt_tokens_details: { cached_tokens: 40, cache_write_tokens: 20 },
  completion_tokens_details: { reasoning_tokens: 30 },
};
const anthropic = (start: object, end: object) =>
  sse(
    { type: "message_start", message: { id: "m", model: "m", role: "assistant", content: [], usage: start } },
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
    { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Yes." } },
    { type: "content_block_stop", index: 0 },
    { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: end },
    { type: "message_stop" },
  );
const google = (usageMetadata: object) =>
  sse({ candidates: [{ content: { parts: [{ text: "Yes." }] }, finishReason: "STOP" }], usageMetadata });
const gateway = (usage: object) =>
  sse(
    { type: "text-start", id: "1" },
    { type: "text-delta", id: "1", delta: "Yes." },
    { type: "text-end", id: "1" },
    { type: "finish", finishReason: { unified: "stop", raw: "stop" }, usage },
  );

let answer: () => Response = () => chat(chatUsage);
const vendor = startVendor(({ body }) =>
  // The list of models.
  body === null ? new Response("no", { status: 404 }) : answer(),
);
afterAll(() => vendor.stop());

const counts = ([input, output, cached, written, thought]: readonly number[]) => ({
  inputTokens: input,
  outputTokens: output,
  cachedInputTokens: cached,
  cacheWriteTokens: written,
  reasoningTokens: thought,
});
const said = [100, 50, 40, 20, 30] as const;

test.each<
  [
    type: "openai" | "custom" | "openrouter" | "anthropic" | "google",
    what: string,
    said: () => Response,
    expected: readonly number[],
  ]
>([
  ["openai", "all", () => chat(chatUsage), said],
  ["custom", "all", () => chat(chatUsage), said],
  ["openrouter", "all", () => chat(chatUsage), said],
  ["custom", "DeepSeek's own field", () => chat({ ...whole, prompt_cache_hit_tokens: 40 }), [100, 50, 40, 0, 0]],
  ["custom", "nothing", () => chat(whole), [100, 50, 0, 0, 0]],
  [
    "custom",
    "nulls and oddities",
    () =>
      chat({
        ...whole,
        prompt_tokens_details: { cached_tokens: null, cache_write_tokens: "many" },
        completion_tokens_details: { reasoning_tokens: -4 },
      }),
    [100, 50, 0, 0, 0],
  ],
  [
    "custom",
    "parts larger than their whole",
    () =>
      chat({
        ...whole,
        prompt_tokens_details: { cached_tokens: 4_000 },
        completion_tokens_details: { reasoning_tokens: 51 },
      }),
    [100, 50, 100, 0, 50],
  ],
  [
    "anthropic",
    "all",
    () =>
      anthropic(
        { input_tokens: 40, output_tokens: 1, cache_read_input_tokens: 40, cache_creation_input_tokens: 20 },
        { output_tokens: 50, output_tokens_details: { thinking_tokens: 30 } },
      ),
    said,
  ],
  [
    "anthropic",
    "oddities, which spoil no whole",
    () =>
      anthropic(
        { input_tokens: 40, output_tokens: 1, cache_read_input_tokens: -7, cache_creation_input_tokens: null },
        { output_tokens: 50, output_tokens_details: null },
      ),
    [40, 50, 0, 0, 0],
  ],
  [
    "google",
    "all",
    () =>
      google({
        promptTokenCount: 100,
        cachedContentTokenCount: 40,
        candidatesTokenCount: 20,
        thoughtsTokenCount: 30,
        totalTokenCount: 150,
      }),
    [100, 50, 40, 0, 30],
  ],
  [
    "google",
    "oddities, which spoil no whole",
    () =>
      google({
        promptTokenCount: 100,
        cachedContentTokenCount: "x",
        candidatesTokenCount: 20,
        thoughtsTokenCount: -3,
        totalTokenCount: 120,
      }),
    [100, 20, 0, 0, 0],
  ],
])(
  "%s says %s, and it is kept in the turn, its step and the tenant's usage",
  async (providerType, _what, respond, expected) => {
    answer = respond;
    const owner = await h.tenant();
    const provider = await makeProvider(h, owner, { providerType, baseUrl: `${vendor.url}/v1` });
    const agentId = await makeAgent(h, owner, { providerId: provider.id, model: "vendor/model" });
    const { turnId, sessionId } = await play(owner, agentId, null, { message: userMessage("x"), stream: false });
    const { body: turn } = await owner.call("GET", `/v1/turns/${turnId}`);
    expect(turn).toMatchObject({ status: "succeeded", ...counts(expected) });
    expect(turn.steps).toMatchObject([counts(expected)]);
    for (const query of ["groupBy=day", "groupBy=model", "groupBy=user", "groupBy=session", `sessionId=${sessionId}`]) {
      const { body } = await owner.call("GET", `/v1/usage?${query}`);
      expect(body).toMatchObject({ buckets: [counts(expected)], totals: counts(expected) });
    }
  },
);

test("OpenAI's Responses say them too", async () => {
  const message = { type: "message", id: "msg_1", role: "assistant", status: "completed" };
  const respond = () =>
    sse(
      { type: "response.created", response: { id: "r", created_at: 1, model: "m" } },
      { type: "response.output_item.added", output_index: 0, item: { ...message, content: [] } },
      { type: "response.output_text.delta", item_id: "msg_1", output_index: 0, content_index: 0, delta: "Yes." },
      {
        type: "response.output_item.done",
        output_index: 0,
        item: { ...message, content: [{ type: "output_text", text: "Yes.", annotations: [] }] },
      },
      {
        type: "response.completed",
        response: {
          id: "r",
          usage: {
            input_tokens: 100,
            input_tokens_details: { cached_tokens: 40, cache_write_tokens: 20 },
            output_tokens: 50,
            output_tokens_details: { reasoning_tokens: 30 },
          },
        },
      },
    );
  const modelAt = (baseURL: string) => createOpenAI({ baseURL, apiKey: "key" }).responses("gpt-5");
  const { usages } = await onVendor([respond, respond], modelAt, (stage) =>
    bothSides(stage, { messages: [userMessage("x")], withoutTools: true }),
  );
  expect([...usages]).toEqual([{ ...counts(said), estimated: false }] as never);
});

test("a gateway says them too", async () => {
  const respond = () =>
    gateway({
      inputTokens: { total: 100, noCache: 40, cacheRead: 40, cacheWrite: 20 },
      outputTokens: { total: 50, text: 20, reasoning: 30 },
    });
  const modelAt = (baseURL: string) => createGateway({ baseURL, apiKey: "key" })("vendor/model");
  const { usages } = await onVendor([respond, respond], modelAt, (stage) =>
    bothSides(stage, { messages: [userMessage("x")], withoutTools: true }),
  );
  expect([...usages]).toEqual([{ ...counts(said), estimated: false }] as never);
});

test("an own model and the one where it failed have their parts apart, and together", async () => {
  answer = () => chat(chatUsage);
  const { id: good } = await makeProvider(h, t, { baseUrl: `${vendor.url}/v1` });
  const agentId = await makeAgent(h, t, { fallbackModels: [{ providerId: good, model: "second" }] });
  const { turnId } = await play(t, agentId, null, { message: script("fail=500") });
  const { body } = await t.call("GET", "/v1/usage?groupBy=model");
  expect(body.buckets).toMatchObject([{ model: "second", ...counts(said) }]);
  expect((await t.call("GET", `/v1/turns/${turnId}`)).body).toMatchObject({ status: "succeeded", ...counts(said) });
});

test("the Responses door says them as OpenAI does", async () => {
  answer = () => chat(chatUsage);
  const provider = await makeProvider(h, t, { baseUrl: `${vendor.url}/v1` });
  const agentId = await makeAgent(h, t, { providerId: provider.id });
  const { body } = await t.call("POST", "/v1/responses", { body: { model: agentId, input: "x" } });
  expect(body.usage).toEqual({
    input_tokens: 100,
    input_tokens_details: { cached_tokens: 40 },
    output_tokens: 50,
    output_tokens_details: { reasoning_tokens: 30 },
    total_tokens: 150,
  });
});
