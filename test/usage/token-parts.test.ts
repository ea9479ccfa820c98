import { afterAll, expect, test } from "bun:test";
import { createGateway } from "@ai-sdk/gateway";
import { createOpenAI } from "@ai-sdk/openai";
import { useTenant } from "../harness/fixture.ts";
import { bothSides, onVendor } from "../harness/model-sides.ts";
import { anthropicAnswer, chatAnswer, gatewayAnswer, googleAnswer, responsesAnswer } from "../harness/said-usage.ts";
import { makeAgent, makeProvider, userMessage } from "../harness/seed.ts";
import { play, script } from "../harness/turns.ts";
import { startVendor } from "../servers/vendor.ts";

/** What vendors say of cached and thought tokens, as each of them says it, up to where it can be read. */

const { h, t } = await useTenant({ worker: true });

const whole = { prompt_tokens: 100, completion_tokens: 50, total_tokens: 150 };
const chatUsage = {
  ...whole,
  prompt_tokens_details: { cached_tokens: 40, cache_write_tokens: 20 },
  completion_tokens_details: { reasoning_tokens: 30 },
};
let answer: () => Response = () => chatAnswer(chatUsage);
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
  ["openai", "all", () => chatAnswer(chatUsage), said],
  ["custom", "all", () => chatAnswer(chatUsage), said],
  ["openrouter", "all", () => chatAnswer(chatUsage), said],
  ["custom", "DeepSeek's own field", () => chatAnswer({ ...whole, prompt_cache_hit_tokens: 40 }), [100, 50, 40, 0, 0]],
  ["custom", "nothing", () => chatAnswer(whole), [100, 50, 0, 0, 0]],
  [
    "custom",
    "nulls and oddities",
    () =>
      chatAnswer({
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
      chatAnswer({
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
      anthropicAnswer(
        { input_tokens: 40, output_tokens: 1, cache_read_input_tokens: 40, cache_creation_input_tokens: 20 },
        { output_tokens: 50, output_tokens_details: { thinking_tokens: 30 } },
      ),
    said,
  ],
  [
    "anthropic",
    "oddities, which spoil no whole",
    () =>
      anthropicAnswer(
        { input_tokens: 40, output_tokens: 1, cache_read_input_tokens: -7, cache_creation_input_tokens: null },
        { output_tokens: 50, output_tokens_details: null },
      ),
    [40, 50, 0, 0, 0],
  ],
  [
    "google",
    "all",
    () =>
      googleAnswer({
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
      googleAnswer({
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
  const respond = () =>
    responsesAnswer({
      input_tokens: 100,
      input_tokens_details: { cached_tokens: 40, cache_write_tokens: 20 },
      output_tokens: 50,
      output_tokens_details: { reasoning_tokens: 30 },
    });
  const modelAt = (baseURL: string) => createOpenAI({ baseURL, apiKey: "key" }).responses("gpt-5");
  const { usages } = await onVendor([respond, respond], modelAt, (stage) =>
    bothSides(stage, { messages: [userMessage("x")], withoutTools: true }),
  );
  expect([...usages]).toEqual([{ ...counts(said), estimated: false }] as never);
});

test("a gateway says them too", async () => {
  const respond = () =>
    gatewayAnswer({
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
  answer = () => chatAnswer(chatUsage);
  const { id: good } = await makeProvider(h, t, { baseUrl: `${vendor.url}/v1` });
  const agentId = await makeAgent(h, t, { fallbackModels: [{ providerId: good, model: "second" }] });
  const { turnId } = await play(t, agentId, null, { message: script("fail=500") });
  const { body } = await t.call("GET", "/v1/usage?groupBy=model");
  expect(body.buckets).toMatchObject([{ model: "second", ...counts(said) }]);
  expect((await t.call("GET", `/v1/turns/${turnId}`)).body).toMatchObject({ status: "succeeded", ...counts(said) });
});

test("the Responses door says them as OpenAI does", async () => {
  answer = () => chatAnswer(chatUsage);
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
