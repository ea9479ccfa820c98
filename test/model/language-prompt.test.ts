import { expect, test } from "bun:test";
import { createAnthropic } from "@ai-sdk/anthropic";
import { createGateway } from "@ai-sdk/gateway";
import { createGoogle } from "@ai-sdk/google";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { createOpenRouter } from "@openrouter/ai-sdk-provider";
import type { ModelMessage } from "ai";
import { convertToLanguageModelPrompt, resolveLanguageModel } from "ai/internal";
import { languagePrompt } from "../../src/model/language-prompt.ts";

const text = (said: string) => ({ type: "text", text: said });
const options = { vendor: { cached: true } };
const result = (toolCallId: string) => ({
  type: "tool-result",
  toolCallId,
  toolName: "read",
  output: { type: "text", value: "done" },
});
const called = (toolCallId: string) => ({ type: "tool-call", toolCallId, toolName: "read", input: { path: "/" } });
const png = { type: "file", mediaType: "image/png", data: "iVBORw0KGgo=" };

/** What a transcript is put together of: each is a run of messages. */
const runs: readonly (readonly object[])[] = [
  [{ role: "user", content: [text("one")] }],
  [{ role: "user", content: [text("one"), text("two")] }],
  [{ role: "assistant", content: [text("three")] }],
  [{ role: "assistant", content: [text("four"), text("five")] }],
  [{ role: "user", content: [] }],
  [{ role: "assistant", content: [] }],
  [{ role: "user", content: "six" }],
  [{ role: "assistant", content: "" }],
  [{ role: "user", content: [text(""), text("seven")] }],
  [{ role: "assistant", content: [text("")] }],
  [{ role: "assistant", content: [{ ...text(""), providerOptions: options }] }],
  [{ role: "user", content: [text("eight")], providerOptions: options }],
  [{ role: "user", content: [{ ...text("nine"), providerOptions: options }] }],
  [{ role: "user", content: [text("see"), png] }],
  [{ role: "system", content: "be kind" }],
  [{ role: "assistant", content: [{ type: "reasoning", text: "hm" }, text("so")] }],
  [
    { role: "assistant", content: [text("I look"), called("a"), called("b")] },
    { role: "tool", content: [result("a")], providerOptions: options },
    { role: "tool", content: [result("b")] },
  ],
  [{ role: "assistant", content: [called("lost")] }],
  [{ role: "tool", content: [] }],
];

/** Numbers from 0 to below 1 that are the same in every run. */
function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

function transcript(seed: number): ModelMessage[] {
  const next = numbers(seed);
  const pick = (count: number) => runs[Math.floor(next() * count)] as readonly object[];
  const plain = Array.from({ length: Math.floor(next() * 4) }, () => pick(6));
  const mixed = Array.from({ length: Math.floor(next() * 5) }, () => pick(runs.length));
  return structuredClone([...plain, ...mixed].flat()) as ModelMessage[];
}

/** The result as JSON, which leaves out keys without a value, or the error's message. */
async function said(prompt: () => Promise<unknown>): Promise<string> {
  try {
    return JSON.stringify(await prompt());
  } catch (error) {
    return String(error);
  }
}

test("2,000 generated transcripts, with and without a system text, become what the SDK makes of them", async () => {
  const about = { supportedUrls: {}, download: undefined, provider: "custom" };
  let refused = 0;
  for (let seed = 1; seed <= 2_000; seed++) {
    const instructions = seed % 2 === 0 ? "" : "You help.";
    const prompt = { instructions: instructions === "" ? undefined : instructions, messages: transcript(seed) };
    const sdk = await said(() => convertToLanguageModelPrompt({ prompt, ...about }));
    if (sdk.includes("MissingToolResults")) refused += 1;
    expect(await said(() => languagePrompt({ instructions, messages: transcript(seed), ...about }))).toBe(sdk);
  }
  expect(refused).toBeGreaterThan(100);
  expect(refused).toBeLessThan(1_000);
});

/** A fetch that keeps what was sent, and refuses it. */
const sent: string[] = [];
const refusing = (async (_url: unknown, init?: RequestInit) => {
  sent.push(String(init?.body));
  return new Response("{}", { status: 400 });
}) as unknown as typeof fetch;
const settings = { apiKey: "k", baseURL: "http://vendor.test/v1", fetch: refusing };

test.each([
  ["OpenAI's Responses", createOpenAI(settings).responses("m")],
  ["OpenAI's Chat Completions", createOpenAI(settings).chat("m")],
  ["Anthropic", createAnthropic(settings)("m")],
  ["Google", createGoogle(settings)("m")],
  ["OpenRouter", createOpenRouter(settings).chat("m")],
  ["a gateway", createGateway(settings)("m")],
  ["a server of Chat Completions", createOpenAICompatible({ ...settings, name: "custom" })("m")],
])("the client of %s changes nothing in messages that it is given as they are", async (_vendor, named) => {
  const model = resolveLanguageModel(named);
  const messages = Array.from({ length: 3 }, () => runs.slice(0, 4).flat()).flat() as ModelMessage[];
  const frozen = deepFreeze(structuredClone(messages));
  const about = { supportedUrls: await model.supportedUrls, download: undefined };
  const prompt = await languagePrompt({ instructions: "You help.", messages: frozen, ...about });
  expect(prompt.slice(1)).toEqual(messages as never);
  expect(prompt[1]).toBe(frozen[0] as never);
  sent.length = 0;
  await expect(model.doStream({ prompt })).rejects.toBeInstanceOf(Error);
  expect(sent.join("").split("five")).toHaveLength(4);
});

function deepFreeze<T>(value: T): T {
  if (typeof value === "object" && value !== null) for (const part of Object.values(value)) deepFreeze(part);
  return Object.freeze(value);
}
