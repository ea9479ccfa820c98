import { describe, expect, test } from "bun:test";
import { anthropicModelCatalog } from "@ai-sdk/anthropic/internal";
import { openaiModelCatalog } from "@ai-sdk/openai/internal";
import type { ProviderType } from "../../src/kernel/config.ts";
import { newId } from "../../src/kernel/ids.ts";
import { languageModel } from "../../src/providers/client.ts";
import { type ModelSettings, settingIssues, settingsWith } from "../../src/providers/model-settings.ts";
import { useService } from "../harness/fixture.ts";
import { useVendors } from "../harness/provider-fixture.ts";
import { runModelAlone } from "../harness/run-model.ts";
import { vendorWords } from "../servers/vendor-answers.ts";

/** What a model is sent, and what is known of what it takes (docs/decisions/model-settings.md). */

const h = await useService();
const servers = useVendors();
/** Each model of a catalogue is called once. */
const slowMs = 240_000;
const vendor = servers(({ path }) => {
  if (path.includes("/messages")) return vendorWords.anthropic.text("Fine.");
  if (path.includes("/models/")) return vendorWords.google.text("Fine.");
  return vendorWords.custom.text("Fine.");
});

/** Where a request of OpenAI's own API arrives here, as its DNS would have it. */
const openaiUrl = "https://api.openai.com";

// biome-ignore lint/suspicious/noExplicitAny: the bodies of five protocols.
async function sentTo(providerType: ProviderType, model: string, settings: ModelSettings, own = false): Promise<any> {
  vendor.requests.length = 0;
  const baseUrl = own ? null : `${vendor.url}/v1`;
  const provider = { id: newId("provider"), tenantId: null, providerType, baseUrl, apiKey: "sk-0123456789" };
  const network = globalThis.fetch;
  const redirected = (input: string | URL | Request, init?: RequestInit) =>
    network(String(input instanceof Request ? input.url : input).replace(openaiUrl, vendor.url), init);
  if (own) globalThis.fetch = Object.assign(redirected, { preconnect: network.preconnect });
  try {
    await runModelAlone(languageModel(h.ctx, provider, model), { settings, cache: { fixed: "", key: "session" } });
  } finally {
    globalThis.fetch = network;
  }
  expect(vendor.requests).toHaveLength(1);
  return vendor.requests[0]?.body;
}

const all = { temperature: 0.25, topP: 0.5, maxOutputTokens: 100, stopSequences: ["END"], seed: 7 };
const chat = { temperature: 0.25, top_p: 0.5, max_tokens: 100, stop: ["END"], seed: 7 };

describe("settings are sent as each protocol names them", () => {
  test.each([
    ["OpenAI's Chat Completions", "llm_vendor_a", "openai/gpt-4o", all, chat],
    [
      "OpenAI's Chat Completions, for a model that thinks",
      "llm_vendor_a",
      "openai/gpt-5",
      { maxOutputTokens: 100, seed: 7 },
      { max_completion_tokens: 100, seed: 7 },
    ],
    [
      "Anthropic",
      "llm_vendor_b",
      "anthropic/claude-sonnet-4-5",
      { temperature: 0.25, maxOutputTokens: 100, stopSequences: ["END"] },
      { temperature: 0.25, max_tokens: 100, stop_sequences: ["END"] },
    ],
    ["Anthropic", "llm_vendor_b", "anthropic/claude-sonnet-4-5", { topP: 0.5 }, { top_p: 0.5 }],
    [
      "Google",
      "llm_vendor_c",
      "google/gemini-2.5-flash",
      all,
      {
        generationConfig: { temperature: 0.25, topP: 0.5, maxOutputTokens: 100, stopSequences: ["END"], seed: 7 },
      },
    ],
    ["OpenRouter", "router_vendor", "mistralai/large", all, chat],
    ["the gateway", "gateway", "mistral/large", all, all],
    ["a custom endpoint", "custom", "any", all, chat],
  ] as const)("%s", async (_protocol, type, model, settings, sent) => {
    expect(settingIssues({ providerType: type, baseUrl: vendor.url, model, thinkingLevel: null }, settings)).toEqual(
      [],
    );
    expect(await sentTo(type, model, settings)).toMatchObject(sent);
    const bare = JSON.stringify(await sentTo(type, model, {}));
    for (const name of ["temperature", "top_p", "topP", "stop", "seed", "max_output_tokens", "maxOutputTokens"])
      expect([name, bare.includes(`"${name}"`)]).toEqual([name, false]);
  });

  test("OpenAI's Responses", async () => {
    const settings = { temperature: 0.25, topP: 0.5, maxOutputTokens: 100 };
    const sent = { temperature: 0.25, top_p: 0.5, max_output_tokens: 100 };
    expect(await sentTo("llm_vendor_a", "openai/gpt-4o", settings, true)).toMatchObject(sent);
  });

  test("the key of what begins alike, at OpenAI's own address alone", async () => {
    expect((await sentTo("llm_vendor_a", "openai/gpt-4o", {}, true)).prompt_cache_key).toBe("session");
    expect(await sentTo("llm_vendor_a", "openai/gpt-4o", {})).not.toHaveProperty("prompt_cache_key");
  });
});

const at = (providerType: ProviderType, model: string, more: { baseUrl?: string; thinkingLevel?: string } = {}) => ({
  ...{ providerType, model, baseUrl: null, thinkingLevel: null },
  ...more,
});
const names = (target: ReturnType<typeof at>, settings: ModelSettings) =>
  settingIssues(target, settings).map(({ setting }) => setting);

describe("what a model is known not to take", () => {
  const elsewhere = { baseUrl: "https://models.test/v1" };
  test.each([
    ["a seed, at Anthropic", at("llm_vendor_b", "claude-sonnet-4-5"), { seed: 1 }, ["seed"]],
    ["a seed, at Anthropic by a router", at("router_vendor", "anthropic/claude-sonnet-4.5"), { seed: 1 }, ["seed"]],
    [
      "a temperature above 1, at Anthropic",
      at("llm_vendor_b", "claude-sonnet-4-5"),
      { temperature: 1.5 },
      ["temperature"],
    ],
    ["both, at Anthropic", at("llm_vendor_b", "claude-sonnet-4-5"), { temperature: 0.5, topP: 0.5 }, ["topP"]],
    [
      "a temperature beside thinking, at Anthropic",
      at("llm_vendor_b", "claude-sonnet-4-5", { thinkingLevel: "low" }),
      { temperature: 0.5 },
      ["temperature"],
    ],
    ["a temperature, at a newer Claude", at("llm_vendor_b", "claude-opus-5-5"), { temperature: 0.5 }, ["temperature"]],
    ["more than it can say", at("llm_vendor_b", "claude-opus-4-1"), { maxOutputTokens: 32_001 }, ["maxOutputTokens"]],
    ["a blank text to stop at", at("llm_vendor_b", "claude-sonnet-4-5"), { stopSequences: ["\n"] }, ["stopSequences"]],
    [
      "a temperature, at a model of OpenAI that thinks",
      at("llm_vendor_a", "openai/o3"),
      { temperature: 0 },
      ["temperature"],
    ],
    ["the same, by its snapshot", at("llm_vendor_a", "gpt-5-2025-08-07"), { topP: 0 }, ["topP"]],
    ["the same, unless it is told not to think", at("llm_vendor_a", "gpt-5.1"), { temperature: 0 }, ["temperature"]],
    ["stop texts and a seed, at OpenAI's Responses", at("llm_vendor_a", "gpt-4o"), all, ["stopSequences", "seed"]],
    ["few tokens, at OpenAI's Responses", at("llm_vendor_a", "gpt-4o"), { maxOutputTokens: 15 }, ["maxOutputTokens"]],
    [
      "five stop texts, at Chat Completions",
      at("llm_vendor_a", "gpt-4o", elsewhere),
      { stopSequences: ["1", "2", "3", "4", "5"] },
      ["stopSequences"],
    ],
    [
      "six, at Google",
      at("llm_vendor_c", "gemini-2.5-flash"),
      { stopSequences: ["1", "2", "3", "4", "5", "6"] },
      ["stopSequences"],
    ],
  ] as const)("%s", (_what, target, settings, refused) => {
    expect(names(target, settings)).toEqual([...refused]);
  });

  test("nothing of a custom endpoint, nor of what the catalogue does not know; and 1, which such models do anyway", () => {
    expect(names(at("custom", "openai/o3"), { ...all, temperature: 2 })).toEqual([]);
    expect(names(at("router_vendor", "qwen/qwen3"), { ...all, temperature: 2 })).toEqual([]);
    expect(names(at("llm_vendor_a", "gpt-5"), { temperature: 1, topP: 1 })).toEqual([]);
    expect(names(at("llm_vendor_a", "gpt-5.1", { thinkingLevel: "none" }), { temperature: 0 })).toEqual([]);
  });

  test("of two of which a model takes one, what a request sets replaces the agent's", () => {
    const claude = at("llm_vendor_b", "claude-sonnet-4-5");
    expect(settingsWith(claude, { temperature: 0.5 }, { topP: 0.1 })).toEqual({ topP: 0.1 });
    expect(settingsWith(at("custom", "m"), { temperature: 0.5 }, { topP: 0.1 })).toEqual({
      temperature: 0.5,
      topP: 0.1,
    });
  });
});

/** What the vendors' clients do with each model of their catalogues, and of families that are in none. */
describe("what is refused is what the installed client would drop", () => {
  const openai = [
    ...Object.keys(openaiModelCatalog),
    "o1",
    "o3",
    "o4-mini",
    "gpt-5.1-codex",
    "gpt-4.1",
    "gpt-5-chat-latest",
  ];
  const spoken = openai.filter(
    (id) => /^(gpt-\d|o\d)/.test(id) && !/image|audio|realtime|transcribe|tts|search/.test(id),
  );
  test(
    "at OpenAI",
    async () => {
      expect(spoken.length).toBeGreaterThan(10);
      for (const id of spoken) {
        const body = await sentTo("llm_vendor_a", id, { temperature: 0.5, topP: 0.5 });
        const target = at("llm_vendor_a", id, { baseUrl: vendor.url });
        const isDropped = body.temperature === undefined && body.top_p === undefined;
        expect([id, names(target, { temperature: 0.5 }).length > 0]).toEqual([id, isDropped]);
      }
    },
    slowMs,
  );

  test(
    "at Anthropic",
    async () => {
      for (const id of [...Object.keys(anthropicModelCatalog), "claude-of-tomorrow"]) {
        const body = await sentTo("llm_vendor_b", id, { temperature: 0.5, maxOutputTokens: 500_000 });
        expect([id, names(at("llm_vendor_b", id), { temperature: 0.5 }).length > 0]).toEqual([
          id,
          body.temperature === undefined,
        ]);
        const isCut = body.max_tokens !== 500_000;
        expect([id, names(at("llm_vendor_b", id), { maxOutputTokens: 500_000 }).length > 0]).toEqual([id, isCut]);
      }
    },
    slowMs,
  );
});
