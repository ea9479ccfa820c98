import { describe, expect, test } from "bun:test";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import type { ProviderType } from "../../src/kernel/config.ts";
import { newId } from "../../src/kernel/ids.ts";
import { thinkingSettings } from "../../src/model/thinking.ts";
import type { CallUsage } from "../../src/model/token-counts.ts";
import { languageModel, type ModelProvider, openProvider } from "../../src/providers/client.ts";
import type { ProviderRow } from "../../src/providers/store.ts";
import { useService } from "../harness/fixture.ts";
import { eventually } from "../harness/harness.ts";
import { useVendors } from "../harness/provider-fixture.ts";
import { runModelAlone } from "../harness/run-model.ts";

const h = await useService();
const vendor = useVendors();

const apiKey = "sk-secret-0123456789abcdef";

function provider(providerType: ProviderType, baseUrl: string | null): ModelProvider {
  return { id: newId("provider"), tenantId: null, providerType, baseUrl, apiKey };
}

/** The answer of a provider's model. */
async function ask(source: ModelProvider, model: string, level: string | null = null) {
  const thinking = thinkingSettings(source.providerType, level);
  const used: CallUsage[] = [];
  const meter = { beforeCall: () => Promise.resolve(), onCall: (usage: CallUsage) => void used.push(usage) };
  const { message } = await runModelAlone(languageModel(h.ctx, source, model), { thinking, meter });
  const { inputTokens, outputTokens } = used[0] as CallUsage;
  const text = (message.parts as readonly { text?: string }[]).map((part) => part.text ?? "").join("");
  return { text, inputTokens, outputTokens };
}

/** A response of server-sent events. */
function events(...list: readonly unknown[]): Response {
  const lines = list.map((event) => {
    const name = (event as { type?: string }).type;
    return `${name === undefined ? "" : `event: ${name}\n`}data: ${JSON.stringify(event)}\n\n`;
  });
  return new Response(lines.join(""), { headers: { "content-type": "text/event-stream" } });
}

/** Lets calls to a vendor's own address reach this machine instead, as its DNS would. */
async function withAddress<T>(from: string, to: string, work: () => Promise<T>): Promise<T> {
  const network = globalThis.fetch;
  const redirected = (input: string | URL | Request, init?: RequestInit) =>
    network(String(input instanceof Request ? input.url : input).replace(from, to), init);
  globalThis.fetch = Object.assign(redirected, { preconnect: network.preconnect });
  try {
    return await work();
  } finally {
    globalThis.fetch = network;
  }
}

describe("languageModel", () => {
  test("the model of a custom provider checks no event that was checked when it was written, and has no other such field", () => {
    const custom = createOpenAICompatible({ name: "custom", baseURL: "http://model.test/v1" })("model") as object;
    expect(Object.keys(custom).filter((name) => name.endsWith("Schema"))).toEqual(["chunkSchema"]);
    const made = languageModel(h.ctx, provider("custom", "http://model.test/v1"), "model") as { chunkSchema?: unknown };
    expect(made.chunkSchema).toBeUndefined();
  });

  test("llm_vendor_a at another address speaks Chat Completions, with and without a slash at the end", async () => {
    for (const end of ["", "/"]) {
      h.model.clear();
      const response = await ask(provider("llm_vendor_a", h.model.url + end), "openai/gpt-4o-mini");
      expect(response.text.length).toBeGreaterThan(0);
      expect(response.inputTokens).toBeGreaterThan(0);
      expect(response.outputTokens).toBeGreaterThan(0);
      const [seen] = h.model.requests();
      expect(seen).toMatchObject({ path: "/v1/chat/completions", body: { model: "gpt-4o-mini", stream: true } });
    }
  });

  test("llm_vendor_a at OpenAI's own address speaks the Responses API", async () => {
    h.model.clear();
    const response = await withAddress("https://api.openai.com/v1", h.model.url, () =>
      ask(provider("llm_vendor_a", null), "openai/gpt-5", "high"),
    );
    expect(response.text.length).toBeGreaterThan(0);
    expect(response.outputTokens).toBeGreaterThan(0);
    expect(h.model.requests()[0]).toMatchObject({
      path: "/v1/responses",
      body: { model: "gpt-5", stream: true, reasoning: { effort: "high" } },
    });
  });

  test("custom: any OpenAI-compatible endpoint, the model id as it is, usage asked for", async () => {
    h.model.clear();
    const response = await ask(provider("custom", `${h.model.url}/`), "simulated/model");
    expect(response.text.length).toBeGreaterThan(0);
    expect(response.outputTokens).toBeGreaterThan(0);
    expect(h.model.requests()[0]).toMatchObject({
      path: "/v1/chat/completions",
      body: { model: "simulated/model", stream_options: { include_usage: true } },
    });
  });

  test.each([
    ["max_output_tokens", "length"],
    ["content_filter", "content-filter"],
  ])("llm_vendor_a: OpenAI's Responses, and why an answer is incomplete: %s", async (reason, finishReason) => {
    const response = { id: "r", created_at: 1, model: "gpt-5", output: [], status: "in_progress" };
    const item = { id: "i", type: "message", role: "assistant", content: [], status: "in_progress" };
    const usage = { input_tokens: 7, output_tokens: 3 };
    const server = vendor(() =>
      events(
        { type: "response.created", response },
        { type: "response.output_item.added", output_index: 0, item },
        { type: "response.output_text.delta", item_id: "i", output_index: 0, content_index: 0, delta: "Half" },
        { type: "response.output_item.done", output_index: 0, item: { ...item, status: "incomplete" } },
        {
          type: "response.incomplete",
          response: { ...response, status: "incomplete", incomplete_details: { reason }, usage },
        },
      ),
    );
    const { lastChunk, message } = await withAddress("https://api.openai.com", server.url, () =>
      runModelAlone(languageModel(h.ctx, provider("llm_vendor_a", null), "openai/gpt-5")),
    );
    expect(lastChunk).toMatchObject({ type: "finish", finishReason });
    expect(message.parts).toMatchObject([{ type: "step-start" }, { type: "text", text: "Half" }]);
    expect(server.requests[0]?.path).toBe("/v1/responses");
  });

  test("llm_vendor_b: Anthropic's messages", async () => {
    const server = vendor(() =>
      events(
        {
          type: "message_start",
          message: {
            id: "m",
            type: "message",
            role: "assistant",
            model: "c",
            content: [],
            usage: { input_tokens: 7, output_tokens: 1 },
          },
        },
        { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
        { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Good " } },
        { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "day" } },
        { type: "content_block_stop", index: 0 },
        { type: "message_delta", delta: { stop_reason: "end_turn", stop_sequence: null }, usage: { output_tokens: 3 } },
        { type: "message_stop" },
      ),
    );
    const response = await ask(provider("llm_vendor_b", `${server.url}/v1/`), "anthropic/claude-opus-5-5", "high");
    expect(response).toEqual({ text: "Good day", inputTokens: 7, outputTokens: 3 });
    const [seen] = server.requests;
    expect(seen).toMatchObject({
      method: "POST",
      path: "/v1/messages",
      body: {
        model: "claude-opus-5-5",
        stream: true,
        thinking: { type: "adaptive" },
        output_config: { effort: "high" },
      },
    });
    expect(seen?.headers.get("x-api-key")).toBe(apiKey);
    expect(seen?.headers.get("authorization")).toBeNull();
  });

  test("llm_vendor_c: Google's streamGenerateContent", async () => {
    const server = vendor(() =>
      events(
        { candidates: [{ content: { role: "model", parts: [{ text: "Good " }] }, index: 0 }] },
        {
          candidates: [{ content: { role: "model", parts: [{ text: "day" }] }, finishReason: "STOP", index: 0 }],
          usageMetadata: { promptTokenCount: 7, candidatesTokenCount: 3, totalTokenCount: 10 },
        },
      ),
    );
    const response = await ask(
      provider("llm_vendor_c", `${server.url}/v1beta`),
      "google/gemini-3-flash-preview",
      "low",
    );
    expect(response).toEqual({ text: "Good day", inputTokens: 7, outputTokens: 3 });
    const [seen] = server.requests;
    expect(seen?.path).toBe("/v1beta/models/gemini-3-flash-preview:streamGenerateContent?alt=sse");
    expect(seen?.headers.get("x-goog-api-key")).toBe(apiKey);
    expect(seen?.body.generationConfig.thinkingConfig).toMatchObject({ thinkingLevel: "low" });
  });

  test("router_vendor: OpenRouter's chat, the model id as it is, the level as its own option", async () => {
    const chunk = (fields: Record<string, unknown>) => ({
      id: "g",
      object: "chat.completion.chunk",
      created: 1,
      model: "openai/gpt-5",
      choices: [],
      ...fields,
    });
    const server = vendor(() =>
      events(
        chunk({ choices: [{ index: 0, delta: { role: "assistant", content: "Good " }, finish_reason: null }] }),
        chunk({ choices: [{ index: 0, delta: { content: "day" }, finish_reason: "stop" }] }),
        chunk({ usage: { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 } }),
      ),
    );
    const response = await ask(provider("router_vendor", `${server.url}/api/v1/`), "openai/gpt-5", "high");
    expect(response).toEqual({ text: "Good day", inputTokens: 7, outputTokens: 3 });
    const [seen] = server.requests;
    expect(seen).toMatchObject({
      path: "/api/v1/chat/completions",
      body: { model: "openai/gpt-5", stream: true, reasoning: { effort: "high" }, usage: { include: true } },
    });
    expect(seen?.headers.get("authorization")).toBe(`Bearer ${apiKey}`);
  });

  test("gateway: Vercel AI Gateway, the model id as it is", async () => {
    const usage = { inputTokens: { total: 7 }, outputTokens: { total: 3 } };
    const server = vendor(() =>
      events(
        { type: "stream-start", warnings: [] },
        { type: "text-start", id: "0" },
        { type: "text-delta", id: "0", delta: "Good day" },
        { type: "text-end", id: "0" },
        { type: "finish", finishReason: { unified: "stop", raw: "stop" }, usage },
      ),
    );
    const response = await withAddress("https://ai-gateway.vercel.sh", server.url, () =>
      ask(provider("gateway", null), "anthropic/claude-opus-4.5", "low"),
    );
    expect(response).toEqual({ text: "Good day", inputTokens: 7, outputTokens: 3 });
    const [seen] = server.requests;
    expect(seen).toMatchObject({ path: "/v4/ai/language-model", body: { reasoning: "low" } });
    expect(seen?.headers.get("ai-language-model-id")).toBe("anthropic/claude-opus-4.5");
    expect(seen?.headers.get("authorization")).toBe(`Bearer ${apiKey}`);
  });

  test("an address that is not public is refused at the call, for a tenant's provider and not for the operator's", async () => {
    const strict = { ...h.ctx, config: { ...h.ctx.config, allowPrivateNetwork: false } };
    const call = async (source: ModelProvider) => {
      const { error } = await runModelAlone(languageModel(strict, source, "simulated/model"));
      return error as Error | null;
    };
    h.model.clear();
    expect((await call(provider("custom", h.model.url)))?.name).toBe("RefusedAddressError");
    expect(h.model.requests()).toEqual([]);
    expect(await call({ ...provider("custom", h.model.url), id: null })).toBeNull();
  });

  test("an abort closes the request at the vendor at once", async () => {
    let closed = false;
    const server = vendor(
      () =>
        new Response(
          new ReadableStream({
            start: (controller) => controller.enqueue(new TextEncoder().encode(": waiting\n\n")),
            cancel: () => {
              closed = true;
            },
          }),
          { headers: { "content-type": "text/event-stream" } },
        ),
    );
    const stop = new AbortController();
    const model = languageModel(h.ctx, provider("custom", server.url), "a/b");
    const running = runModelAlone(model, { signal: stop.signal });
    await eventually(() => server.requests.length === 1);
    stop.abort();
    expect((await running).ended).toBe("aborted");
    await eventually(() => closed);
  });

  test("a failing call says nothing of the key", async () => {
    const server = vendor(() => Response.json({ error: { message: "Bad key." } }, { status: 401 }));
    for (const type of ["llm_vendor_a", "llm_vendor_b", "llm_vendor_c", "router_vendor", "custom"] as const) {
      const error = (await runModelAlone(languageModel(h.ctx, provider(type, server.url), "a/b"))).error as Error;
      expect([type, error.name]).toEqual([type, "AI_APICallError"]);
      expect(`${error.message}${error.stack}${JSON.stringify(error)}`).not.toContain(apiKey);
    }
  });
});

describe("openProvider", () => {
  test("unseals the key under the provider's id, and no other", () => {
    const id = newId("provider");
    const row: ProviderRow = {
      id,
      tenantId: newId("tenant"),
      name: "x",
      providerType: "custom",
      baseUrl: "http://127.0.0.1:1",
      sealedKey: h.ctx.sealer.seal(apiKey, id),
      keyFragment: "cdef",
      createdAt: new Date(),
      updatedAt: new Date(),
    };
    expect(openProvider(h.ctx, row)).toEqual({
      id,
      tenantId: row.tenantId,
      providerType: "custom",
      baseUrl: "http://127.0.0.1:1",
      apiKey,
    });
    expect(() => openProvider(h.ctx, { ...row, id: newId("provider") })).toThrow();
  });
});
