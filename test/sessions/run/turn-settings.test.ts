import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { useTenant } from "../../harness/fixture.ts";
import { makeAgent, makeProvider, userMessage } from "../../harness/seed.ts";
import { play, textOf } from "../../harness/turns.ts";
import { startVendor, type VendorRequest } from "../../servers/vendor.ts";
import { vendorWords } from "../../servers/vendor-answers.ts";

const { h, t } = await useTenant({ worker: true });

/** What the next requests get; a text where nothing is left. */
const next: Response[] = [];
const vendor = startVendor(({ path, body }: VendorRequest) => {
  if (body === null) return new Response("no", { status: 404 });
  return next.shift() ?? vendorWords[path.includes("/messages") ? "anthropic" : "custom"].text("Fine.");
});
afterAll(() => vendor.stop());
const sent = () => vendor.requests.filter(({ body }) => body !== null).map(({ body }) => body);
beforeEach(() => {
  next.length = 0;
  vendor.requests.length = 0;
});

const at = async (providerType: "custom" | "anthropic" | "openai", model: string) => ({
  providerId: (await makeProvider(h, t, { providerType, baseUrl: `${vendor.url}/v1` })).id,
  model,
});
const custom = await at("custom", "model");
const claude = await at("anthropic", "anthropic/claude-sonnet-4-5");
const thinker = await at("openai", "openai/o3");
const levelled = await at("openai", "openai/gpt-5");
const unlevelled = await at("openai", "openai/gpt-4o");
const all = { temperature: 0.25, topP: 0.5, maxOutputTokens: 100, stopSequences: ["END"], seed: 7 };
const wire = { temperature: 0.25, top_p: 0.5, max_tokens: 100, stop: ["END"], seed: 7 };
const respond = (agentId: string, body: object) =>
  t.call("POST", "/v1/responses", { body: { model: agentId, input: "Hi.", ...body } });

describe("an agent's settings", () => {
  test("are those of each call of a turn", async () => {
    const agentId = await makeAgent(h, t, { ...custom, modelSettings: all, tools: ["write_todos"] });
    vendor.requests.length = 0;
    next.push(vendorWords.custom.call("write_todos", { todos: [] }));
    expect(textOf((await play(t, agentId, null, { message: userMessage("x") })).chunks)).toBe("Fine.");
    expect(sent()).toMatchObject([wire, wire]);
  });

  test("are those of a fallback model too", async () => {
    const modelSettings = { temperature: 0.25, maxOutputTokens: 100, stopSequences: ["END"] };
    const agentId = await makeAgent(h, t, { ...custom, modelSettings, fallbackModels: [claude] });
    vendor.requests.length = 0;
    next.push(new Response("{}", { status: 503 }));
    await play(t, agentId, null, { message: userMessage("x") });
    expect(sent()[1]).toMatchObject({ temperature: 0.25, max_tokens: 100, stop_sequences: ["END"] });
  });

  test("an answer that is as long as it may be ends as `length`, and succeeds", async () => {
    const agentId = await makeAgent(h, t, { ...custom, modelSettings: { maxOutputTokens: 3 } });
    const events = [
      { id: "c", choices: [{ index: 0, delta: { role: "assistant", content: "One two" }, finish_reason: null }] },
      { id: "c", choices: [{ index: 0, delta: {}, finish_reason: "length" }] },
    ].map((event) => `data: ${JSON.stringify(event)}\n\n`);
    next.push(new Response(events.join(""), { headers: { "content-type": "text/event-stream" } }));
    const { chunks } = await play(t, agentId, null, { message: userMessage("x") });
    expect([textOf(chunks), chunks.at(-1)]).toMatchObject(["One two", { type: "finish", finishReason: "length" }]);
  });

  test("maxOutputTokens are kept free in the window, at most half of it", async () => {
    const long = "lorem ".repeat(100);
    // An unknown model has a window of 128,000 tokens.
    const agentId = await makeAgent(h, t, { ...custom, compactionReserveTokens: 0 });
    const summaries = async (maxOutputTokens: number) => {
      const change = { modelSettings: { maxOutputTokens }, compactionReserveTokens: 60_000 };
      expect((await t.call("PUT", `/v1/agents/${agentId}`, { body: change })).status).toBe(200);
      const { sessionId } = await play(t, agentId, null, { message: userMessage(long.repeat(215)) });
      vendor.requests.length = 0;
      await play(t, agentId, sessionId, { message: userMessage(long.repeat(215)) });
      return sent().filter((body) => JSON.stringify(body).includes("Summarise the conversation")).length;
    };
    // Two messages of 32,250 tokens fit beside a reserve of 60,000, and not beside one of 64,000.
    expect([await summaries(100), await summaries(900_000)]).toEqual([0, 1]);
  });
});

describe("settings of one response", () => {
  test("are in place of the agent's, for that response alone", async () => {
    const agentId = await makeAgent(h, t, { ...custom, modelSettings: all });
    vendor.requests.length = 0;
    const first = await respond(agentId, { temperature: 1, max_output_tokens: 50, top_p: null });
    expect(first.body).toMatchObject({ temperature: 1, max_output_tokens: 50, top_p: 1 });
    await respond(agentId, { previous_response_id: first.body.id });
    await respond(agentId, { store: false, top_p: 0.75 });
    expect(sent()).toMatchObject([{ ...wire, temperature: 1, max_tokens: 50 }, wire, { ...wire, top_p: 0.75 }]);
    const read = (await t.call("GET", `/v1/responses/${first.body.id}`)).body;
    expect(read).toMatchObject({ temperature: 1, max_output_tokens: 50 });
  });

  test("hold for the outputs of functions that name them, and not for those that do not", async () => {
    const agentId = await makeAgent(h, t, { ...custom, modelSettings: { temperature: 0.25 } });
    const tools = [{ type: "function", name: "look", parameters: {} }];
    const answers = async (settings: object) => {
      next.push(vendorWords.custom.call("look"));
      const { body } = await respond(agentId, { tools, temperature: 0.75 });
      const input = [{ type: "function_call_output", call_id: body.output.at(-1).call_id, output: "x" }];
      vendor.requests.length = 0;
      await respond(agentId, { previous_response_id: body.id, input, ...settings });
      return sent()[0].temperature;
    };
    expect([await answers({}), await answers({ temperature: 0.5 })]).toEqual([0.25, 0.5]);
  });

  test.each([
    ["temperature", thinker, { temperature: 0.5 }],
    ["top_p", thinker, { top_p: 0.5 }],
    ["temperature", claude, { temperature: 1.5 }],
    ["max_output_tokens", claude, { max_output_tokens: 500_000 }],
    ["reasoning.effort", levelled, { reasoning: { effort: "none" } }],
    ["reasoning.effort", unlevelled, { reasoning: { effort: "low" } }],
  ] as const)(
    "400 validation_failed: %s where the agent's model is known not to take it",
    async (param, model, body) => {
      const agentId = await makeAgent(h, t, model);
      vendor.requests.length = 0;
      const refused = await respond(agentId, body);
      expect([refused.status, refused.body.error.code, refused.body.error.param]).toEqual([
        400,
        "validation_failed",
        param,
      ]);
      expect(sent()).toEqual([]);
    },
  );

  test("reasoning.effort is in place of the agent's thinking level, for that response and for fallback models", async () => {
    const agentId = await makeAgent(h, t, { ...thinker, thinkingLevel: "high", fallbackModels: [custom] });
    vendor.requests.length = 0;
    const first = await respond(agentId, { reasoning: { effort: "low" } });
    expect(first.body.reasoning).toEqual({ effort: "low", summary: null });
    await respond(agentId, { previous_response_id: first.body.id });
    next.push(new Response("{}", { status: 503 }));
    await respond(agentId, { reasoning: { effort: "medium", summary: "auto" } });
    const told = sent().map((body) => [body.model, body.reasoning_effort]);
    expect(told).toEqual([
      ["o3", "low"],
      ["o3", "high"],
      ["o3", "medium"],
      ["model", "medium"],
    ]);
  });

  test("200 for 1 at such a model, and for top_p in place of the agent's temperature", async () => {
    const thinks = await makeAgent(h, t, thinker);
    expect((await respond(thinks, { temperature: 1, top_p: 1 })).status).toBe(200);
    const agentId = await makeAgent(h, t, { ...claude, modelSettings: { temperature: 0.5 } });
    vendor.requests.length = 0;
    expect((await respond(agentId, { top_p: 0.25 })).status).toBe(200);
    expect([sent()[0].top_p, sent()[0].temperature]).toEqual([0.25, undefined]);
  });

  test("404 not_found: an agent that is none, whatever is set", async () => {
    expect((await respond(`ag_${"0".repeat(24)}`, { temperature: 1.5 })).status).toBe(404);
  });
});
