import { expect, test } from "bun:test";
import { costOfCall, type PricedModel } from "../../src/model/price.ts";
import { noTokens } from "../../src/usage/tokens.ts";

const at = Date.parse("2026-03-01T12:00:00Z");
const dollars = (
  model: Omit<PricedModel, "baseUrl" | "providerId"> & { readonly baseUrl?: string },
  tokens: object,
) => {
  const { costPico, costComplete } = costOfCall(
    { providerId: null, baseUrl: null, ...model },
    { ...noTokens, ...tokens },
    at,
  );
  expect(costComplete).toBe(costPico !== null);
  return costPico === null ? null : costPico / 1e12;
};
const million = 1_000_000;

/** Prices as the vendors publish them, in dollars for a million tokens. */
test.each([
  // https://platform.openai.com/docs/pricing: gpt-4o has 2.50, cached 1.25, and 10.00 for output.
  ["llm_vendor_a", "openai/gpt-4o", { inputTokens: million }, 2.5],
  ["llm_vendor_a", "gpt-4o", { inputTokens: million, cachedInputTokens: million }, 1.25],
  ["llm_vendor_a", "gpt-4o", { outputTokens: million, reasoningTokens: million }, 10],
  // https://platform.claude.com/docs/en/build-with-claude/prompt-caching: Sonnet 4.5 has 3, written 3.75, read 0.30, and 15.
  ["llm_vendor_b", "claude-sonnet-4-5", { inputTokens: 100_000 }, 0.3],
  ["llm_vendor_b", "claude-sonnet-4-5", { inputTokens: 100_000, cacheWriteTokens: 100_000 }, 0.375],
  ["llm_vendor_b", "claude-sonnet-4-5", { inputTokens: 100_000, cachedInputTokens: 100_000 }, 0.03],
  ["llm_vendor_b", "claude-sonnet-4-5", { outputTokens: 100_000 }, 1.5],
  // https://ai.google.dev/gemini-api/docs/pricing: Gemini 2.5 Pro has 1.25 up to a prompt of 200,000 tokens, then 2.50.
  ["llm_vendor_c", "gemini-2.5-pro", { inputTokens: 200_000 }, 0.25],
  ["llm_vendor_c", "gemini-2.5-pro", { inputTokens: 200_001 }, 0.5000025],
  ["router_vendor", "anthropic/claude-sonnet-4.5", { inputTokens: 1, outputTokens: 1 }, 0.000018],
  ["gateway", "anthropic/claude-sonnet-4.5", { inputTokens: 1, outputTokens: 1 }, 0.000018],
  ["custom", "gpt-4o", { inputTokens: 2 }, 0.000005],
  ["llm_vendor_a", "no-such-model", { inputTokens: 2 }, null],
  ["custom", "no-such-model", { inputTokens: 2 }, null],
] as const)("%s: %s with %j costs %p dollars", (providerType, model, tokens, expected) => {
  expect(dollars({ providerType, model }, tokens)).toBe(expected);
  expect(dollars({ providerType, model }, tokens)).toBe(expected);
});

test("a price that changes by the time of day is the one of the moment", () => {
  // https://api-docs.deepseek.com/quick_start/pricing: half of it from 16:30 to 00:30 UTC, in the catalogue.
  const model = {
    providerId: null,
    providerType: "custom",
    baseUrl: "https://api.deepseek.com",
    model: "deepseek-chat",
  } as const;
  const cost = (moment: string) =>
    costOfCall(model, { ...noTokens, inputTokens: million }, Date.parse(moment)).costPico;
  const [day, night] = [cost("2026-03-01T12:00:00Z"), cost("2026-03-01T20:00:00Z")];
  expect(day).not.toBeNull();
  expect(night).toBe((day ?? 0) / 2);
});
