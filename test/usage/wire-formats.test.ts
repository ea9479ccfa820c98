import { afterAll, describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { createGateway } from "@ai-sdk/gateway";
import { createOpenAI } from "@ai-sdk/openai";
import type { LanguageModel } from "ai";
import type { ProviderType } from "../../src/kernel/config.ts";
import { costOfCall } from "../../src/model/price.ts";
import { type TokenCounts, tokenCountNames } from "../../src/usage/tokens.ts";
import { useTenant } from "../harness/fixture.ts";
import { bothSides, onVendor } from "../harness/model-sides.ts";
import { inRepository } from "../harness/repository.ts";
import {
  anthropicAnswer,
  chatAnswer,
  gatewayAnswer,
  googleAnswer,
  groqAnswer,
  responsesAnswer,
} from "../harness/said-usage.ts";
import { makeAgent, makeProvider, userMessage } from "../harness/seed.ts";
import { play } from "../harness/turns.ts";
import { startVendor } from "../servers/vendor.ts";

/** For each vendor's wire format: what it says of tokens, what is stored, and what that costs. `docs/vendors.md` has the table. */

const { h, t } = await useTenant({ worker: true });

interface WireFormat {
  readonly name: string;
  readonly type: "openai" | "anthropic" | "google" | "openrouter" | "gateway" | "custom";
  readonly model: string;
  /** What it says, as it says it. */
  readonly said: object;
  readonly answer: (said: never) => Response;
  /** Input, output, cached, written and reasoning tokens. */
  readonly stored: readonly [number, number, number, number, number];
  readonly usd: string | null;
}

const details = { prompt_tokens_details: { cached_tokens: 40 } };
const thoughts = { completion_tokens_details: { reasoning_tokens: 30 } };
const whole = { prompt_tokens: 100, completion_tokens: 50, total_tokens: 150 };
const anthropicSaid = {
  message_start: { input_tokens: 40, cache_read_input_tokens: 40, cache_creation_input_tokens: 20, output_tokens: 1 },
  message_delta: { output_tokens: 50 },
};
const formats: readonly WireFormat[] = [
  {
    name: "OpenAI, Responses",
    type: "openai",
    model: "gpt-5",
    said: {
      input_tokens: 100,
      input_tokens_details: { cached_tokens: 40 },
      output_tokens: 50,
      output_tokens_details: { reasoning_tokens: 30 },
    },
    answer: responsesAnswer,
    stored: [100, 50, 40, 0, 30],
    usd: "0.00058",
  },
  {
    name: "OpenAI, Chat Completions",
    type: "openai",
    model: "gpt-5",
    said: { ...whole, ...details, ...thoughts },
    answer: chatAnswer,
    stored: [100, 50, 40, 0, 30],
    usd: "0.00058",
  },
  {
    name: "Anthropic",
    type: "anthropic",
    model: "claude-sonnet-4-5",
    said: anthropicSaid,
    answer: ({ message_start, message_delta }: typeof anthropicSaid) => anthropicAnswer(message_start, message_delta),
    stored: [100, 50, 40, 20, 0],
    usd: "0.000957",
  },
  {
    name: "Google",
    type: "google",
    model: "gemini-2.5-pro",
    said: { promptTokenCount: 100, cachedContentTokenCount: 40, candidatesTokenCount: 20, thoughtsTokenCount: 30 },
    answer: googleAnswer,
    stored: [100, 50, 40, 0, 30],
    usd: "0.00058",
  },
  {
    name: "OpenRouter",
    type: "openrouter",
    model: "anthropic/claude-sonnet-4.5",
    said: {
      ...whole,
      prompt_tokens_details: { cached_tokens: 40, cache_write_tokens: 20 },
      ...thoughts,
      cost: 0.000957,
    },
    answer: chatAnswer,
    stored: [100, 50, 40, 20, 30],
    usd: "0.000957",
  },
  {
    name: "AI Gateway (Bedrock and others behind it)",
    type: "gateway",
    model: "anthropic/claude-sonnet-4.5",
    said: { inputTokens: { total: 100, cacheRead: 40, cacheWrite: 20 }, outputTokens: { total: 50, reasoning: 30 } },
    answer: gatewayAnswer,
    stored: [100, 50, 40, 20, 30],
    usd: "0.000957",
  },
  {
    name: "DeepSeek",
    type: "custom",
    model: "deepseek-chat",
    said: { ...whole, prompt_cache_hit_tokens: 40, prompt_cache_miss_tokens: 60, ...thoughts },
    answer: chatAnswer,
    stored: [100, 50, 40, 0, 30],
    usd: "0.000074",
  },
  {
    name: "Mistral",
    type: "custom",
    model: "mistral-large-latest",
    said: whole,
    answer: chatAnswer,
    stored: [100, 50, 0, 0, 0],
    usd: "0.0005",
  },
  {
    name: "xAI, whose thoughts are beside the completion",
    type: "custom",
    model: "grok-4",
    said: { prompt_tokens: 100, completion_tokens: 20, total_tokens: 150, ...details, ...thoughts },
    answer: chatAnswer,
    stored: [100, 50, 40, 0, 30],
    usd: "0.00096",
  },
  {
    name: "Moonshot",
    type: "custom",
    model: "kimi-k2-thinking",
    said: { ...whole, cached_tokens: 40 },
    answer: chatAnswer,
    stored: [100, 50, 40, 0, 0],
    usd: "0.000167",
  },
  {
    name: "Groq",
    type: "custom",
    model: "openai/gpt-oss-120b",
    said: { x_groq: { usage: { ...whole, ...details } } },
    answer: ({ x_groq }: { x_groq: { usage: object } }) => groqAnswer(x_groq.usage),
    stored: [100, 50, 40, 0, 0],
    usd: "0.0000129",
  },
  {
    name: "a server without a price in the catalogue",
    type: "custom",
    model: "my-own-model",
    said: whole,
    answer: chatAnswer,
    stored: [100, 50, 0, 0, 0],
    usd: null,
  },
];

/** Some prices change by the time of day. */
const pricedAt = Date.parse("2026-03-01T12:00:00Z");
const internalTypes: Readonly<Record<WireFormat["type"], ProviderType>> = {
  openai: "llm_vendor_a",
  anthropic: "llm_vendor_b",
  google: "llm_vendor_c",
  openrouter: "router_vendor",
  gateway: "gateway",
  custom: "custom",
};

let current = formats[0] as WireFormat;
const answerOf = ({ said, answer }: WireFormat) => answer(said as never);
const vendor = startVendor(({ body }) =>
  // The list of models.
  body === null ? new Response("no", { status: 404 }) : answerOf(current),
);
afterAll(() => vendor.stop());

const countsOf = ([
  inputTokens,
  outputTokens,
  cachedInputTokens,
  cacheWriteTokens,
  reasoningTokens,
]: WireFormat["stored"]) =>
  ({ inputTokens, outputTokens, cachedInputTokens, cacheWriteTokens, reasoningTokens }) satisfies TokenCounts;

/** Those whose address is the vendor's own: they are asked through its client alone. */
const ownAddress: Readonly<Record<string, (baseURL: string, model: string) => LanguageModel>> = {
  "OpenAI, Responses": (baseURL, model) => createOpenAI({ baseURL, apiKey: "key" }).responses(model),
  "AI Gateway (Bedrock and others behind it)": (baseURL, model) => createGateway({ baseURL, apiKey: "key" })(model),
};

describe("what is said, stored and priced", () => {
  test.each(formats.filter(({ name }) => !(name in ownAddress)))("by $name", async (format) => {
    current = format;
    const { type: providerType, model } = format;
    const provider = await makeProvider(h, t, { providerType, baseUrl: `${vendor.url}/v1` });
    const agentId = await makeAgent(h, t, { providerId: provider.id, model });
    const { turnId } = await play(t, agentId, null, { message: userMessage("x"), stream: false });
    const { body: turn } = await t.call("GET", `/v1/turns/${turnId}`);
    expect(turn).toMatchObject({ status: "succeeded", ...countsOf(format.stored), usageEstimated: false });
    expect([turn.costIsComplete, turn.costUsd === null]).toEqual([format.usd !== null, format.usd === null]);
    expect(priceOf(format)).toBe(format.usd);
  });

  test.each(Object.entries(ownAddress))("by %s", async (name, open) => {
    const format = formats.find((one) => one.name === name) as WireFormat;
    const respond = () => answerOf(format);
    const modelAt = (baseURL: string) => open(baseURL, format.model);
    const { usages } = await onVendor([respond, respond], modelAt, (stage) =>
      bothSides(stage, { messages: [userMessage("x")], withoutTools: true }),
    );
    expect([...usages]).toEqual([{ ...countsOf(format.stored), estimated: false }]);
    expect(priceOf(format)).toBe(format.usd);
  });
});

function priceOf({ type, model, stored }: WireFormat): string | null {
  const priced = { providerId: null, providerType: internalTypes[type], baseUrl: null, model };
  const { costPico } = costOfCall(priced, countsOf(stored), pricedAt);
  return costPico === null ? null : (costPico / 1e12).toFixed(12).replace(/\.?0+$/, "");
}

const page = inRepository("docs/vendors.md");
const [begin, end] = ["<!-- usage -->\n", "<!-- /usage -->"];

/** `WRITE=1` writes the table instead. */
test("docs/vendors.md has the table", () => {
  const rows = formats.map(({ name, model, said, stored, usd }) => {
    const json = JSON.stringify(said).replaceAll('"', "");
    return `| ${name} | \`${json}\` | ${stored.join(" | ")} | \`${model}\`: ${usd ?? "null"} |`;
  });
  const head = `| wire format | what it says | ${tokenCountNames.map((name) => name.replace("Tokens", "")).join(" | ")} | \`costUsd\` |`;
  const made = [head, "|---|---|---|---|---|---|---|---|", ...rows, ""].join("\n");
  const text = readFileSync(page, "utf8");
  const place = [text.indexOf(begin) + begin.length, text.indexOf(end)] as const;
  expect(place[0]).toBeLessThanOrEqual(place[1]);
  if (process.env.WRITE === "1") writeFileSync(page, text.slice(0, place[0]) + made + text.slice(place[1]));
  else expect(text.slice(...place)).toBe(made);
});
