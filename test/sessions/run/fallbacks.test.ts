import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { changeTenant } from "../../../src/tenants/store.ts";
import { useTenant } from "../../harness/fixture.ts";
import { makeAgent, makeProvider, userMessage } from "../../harness/seed.ts";
import { messagesOf, play, textOf } from "../../harness/turns.ts";
import { startVendor, type VendorRequest } from "../../servers/vendor.ts";

// A model that is silent for so long falls back; so would one that answers, on a machine that stood still for as long.
const { h, t } = await useTenant({ worker: true, env: { MODEL_IDLE_SECONDS: "4" } });
beforeEach(() => changeTenant(h.sql, t.id, { usageCredit: null }));

type Respond = (request: VendorRequest) => Response | Promise<Response>;

/** What the agent's own model does now, and what the models behind it do. */
let own: Respond = () => text("own");
let second: Respond = () => text("second");
let third: Respond = () => text("third");
const vendors = [
  startVendor((request) => own(request)),
  startVendor((request) => second(request)),
  startVendor((request) => third(request)),
] as const;
afterAll(() => Promise.all(vendors.map((vendor) => vendor.stop())));
beforeEach(() => {
  own = () => text("own");
  second = () => text("second");
  third = () => text("third");
  for (const vendor of vendors) vendor.requests.splice(0);
});
const asked = () => vendors.map(({ requests }) => requests.length);

const providers = await Promise.all(vendors.map(({ url }) => makeProvider(h, t, { baseUrl: `${url}/v1` })));
const [first, ...others] = providers.map(({ id }) => id) as [string, string, string];
const models = ["model-second", "model-third"];
const fallbackModels = others.map((providerId, index) => ({ providerId, model: models[index] as string }));
const agentId = await makeAgent(h, t, {
  providerId: first,
  model: "model-own",
  fallbackModels,
  tools: ["write_todos"],
});

/** Its model and tools change from test to test. */
const changing = await makeAgent(h, t, { providerId: first, fallbackModels });

function stream(events: readonly unknown[]): Response {
  const lines = [...events.map((event) => JSON.stringify(event)), "[DONE]"];
  const body = lines.map((line) => `data: ${line}\n\n`).join("");
  return new Response(body, { headers: { "content-type": "text/event-stream" } });
}

const usage = { prompt_tokens: 10, completion_tokens: 3 };
const choice = (delta: object, finish_reason: string | null = null) => ({
  id: "c",
  choices: [{ index: 0, delta, finish_reason }],
});

function text(said: string): Response {
  return stream([choice({ content: said }), choice({}, "stop"), { id: "c", choices: [], usage }]);
}

function call(): Response {
  const input = JSON.stringify({ todos: [] });
  const tool_calls = [
    { index: 0, id: "call-1", type: "function", function: { name: "write_todos", arguments: input } },
  ];
  return stream([choice({ tool_calls }), choice({}, "tool_calls"), { id: "c", choices: [], usage }]);
}

const status = (code: number, headers: Record<string, string> = {}) =>
  new Response('{"error":{"message":"no"}}', {
    status: code,
    headers: { "content-type": "application/json", ...headers },
  });

const run = (sessionId: string | null = null) => play(t, agentId, sessionId, { message: userMessage("x") });

const booked = (turnId: string) => h.sql`
  select place, provider, model, input_tokens, output_tokens, estimated, duration_ms > 0 as has_duration
  from usage where turn_id = ${turnId} order by place`;

describe("fallback models", () => {
  test.each([408, 429, 500, 503, 529])(
    "status %d: the next model answers, at once, and usage is booked on it",
    async (code) => {
      own = () => status(code, { "retry-after": "50" });
      const played = await run();
      expect(textOf(played.chunks)).toBe("second");
      expect(played.chunks.filter(({ type }) => type === "start-step")).toHaveLength(1);
      expect(asked()).toEqual([1, 1, 0]);
      expect(vendors[1].requests[0]?.body.model).toBe("model-second");
      expect(await booked(played.turnId)).toMatchObject([
        { place: 0, provider: others[0], model: "model-second", inputTokens: 10, outputTokens: 3, estimated: false },
      ]);
    },
  );

  test.each([400, 401, 403, 404, 422])("status %d does not fall back", async (code) => {
    // Its tools are taken once, so that they are no reason to refuse.
    await run();
    vendors[0].requests.splice(0);
    own = () => status(code);
    const played = await run();
    expect(played.chunks.at(-1)?.type).toBe("error");
    expect(asked()).toEqual([1, 0, 0]);
  });

  test.each([400, 404, 413, 422])("status %d: a request with nothing to leave out is sent once", async (code) => {
    await t.call("PUT", `/v1/agents/${changing}`, { body: { model: "model-plain", tools: [] } });
    // The words are about thoughts and tools, of which the request has none.
    own = () =>
      Response.json({ error: { message: "For this reason no tool is found: think again." } }, { status: code });
    const played = await play(t, changing, null, { message: userMessage("x") });
    expect(played.chunks.at(-1)?.type).toBe("error");
    expect(vendors[0].requests.map(({ body }) => body.tools)).toEqual([undefined]);
    expect(asked()).toEqual([1, 0, 0]);
  });

  test("only a refusal of the request itself is asked again without tools that were never taken", async () => {
    const expected: Readonly<Record<number, readonly number[]>> = {
      ...{ 400: [2, 0, 0], 422: [2, 0, 0] },
      ...{ 401: [1, 0, 0], 403: [1, 0, 0], 404: [1, 0, 0], 413: [1, 0, 0], 429: [1, 1, 0], 500: [1, 1, 0] },
    };
    for (const [code, times] of Object.entries(expected)) {
      await t.call("PUT", `/v1/agents/${changing}`, { body: { model: `model-${code}`, tools: ["write_todos"] } });
      own = () => status(Number(code));
      for (const vendor of vendors) vendor.requests.splice(0);
      await play(t, changing, null, { message: userMessage("x") });
      expect([code, asked()]).toEqual([code, [...times]]);
      expect(vendors[0].requests.map(({ body }) => body.tools?.length)).toEqual([1, undefined].slice(0, times[0]));
    }
  });

  test("a connection that is refused, one that ends early and a stream without an answer fall back", async () => {
    const gone = startVendor(() => text("gone"));
    await gone.stop();
    const provider = await makeProvider(h, t, { baseUrl: `${gone.url}/v1` });
    const unreachable = await makeAgent(h, t, { providerId: provider.id, model: "model-own", fallbackModels });
    expect(textOf((await play(t, unreachable, null, { message: userMessage("x") })).chunks)).toBe("second");
    for (const broken of [
      () => stream([]),
      () => stream([choice({ role: "assistant", content: "" })]),
      () => stream([{ error: { message: "overloaded" } }]),
    ]) {
      own = broken;
      expect(textOf((await run()).chunks)).toBe("second");
    }
  });

  test("a silent provider falls back; the estimate of its call stays with it, the turn counts once", async () => {
    own = () => new Response(new ReadableStream({ start() {} }), { headers: { "content-type": "text/event-stream" } });
    const played = await run();
    expect(textOf(played.chunks)).toBe("second");
    const rows = await booked(played.turnId);
    expect(rows).toMatchObject([
      { place: 0, provider: first, model: "model-own", estimated: true },
      { place: 1, provider: others[0], model: "model-second", inputTokens: 10, outputTokens: 3, hasDuration: false },
    ]);
    const [turn] = await h.sql`select input_tokens, output_tokens from turns where id = ${played.turnId}`;
    expect(rows.reduce((sum, row) => sum + row.inputTokens, 0)).toBe(turn?.inputTokens);
    const day = await t.call("GET", `/v1/usage?sessionId=${played.sessionId}`);
    expect(day.body.totals).toMatchObject({ requestCount: 1, inputTokens: turn?.inputTokens });
    const byModel = await t.call("GET", `/v1/usage?sessionId=${played.sessionId}&groupBy=model`);
    expect(byModel.body.buckets.map(({ model }: { model: string }) => model).sort()).toEqual([
      "model-own",
      "model-second",
    ]);
  });

  test("what gave something does not fall back", async () => {
    own = () => stream([choice({ content: "half" }), { error: { message: "overloaded" } }]);
    const played = await run();
    expect(textOf(played.chunks)).toBe("half");
    expect(played.chunks.at(-1)?.type).toBe("error");
    expect(asked()).toEqual([1, 0, 0]);
  });

  test("each model is tried once in a step; when all fail, so does the turn", async () => {
    own = second = third = () => status(503);
    const played = await run();
    expect(played.chunks.at(-1)).toMatchObject({ type: "error" });
    expect(asked()).toEqual([1, 1, 1]);
    const [turn] = await h.sql`select error from turns where id = ${played.turnId}`;
    expect(turn?.error.code).toBe("provider_error");
  });

  test("within a turn the one that answered goes on; the next turn begins with the agent's own", async () => {
    own = () => status(503);
    second = () => (vendors[1].requests.length === 1 ? call() : text("done"));
    const played = await run();
    expect(textOf(played.chunks)).toBe("done");
    expect(asked()).toEqual([1, 2, 0]);
    expect(await booked(played.turnId)).toMatchObject([{ model: "model-second", inputTokens: 20, outputTokens: 6 }]);
    const [turn] = await h.sql`select steps from turns where id = ${played.turnId}`;
    expect(turn?.steps).toMatchObject([
      { index: 0, provider: first, model: "model-own", inputTokens: 0, toolCalls: [] },
      { index: 1, provider: others[0], model: "model-second", inputTokens: 10, toolCalls: [{ tool: "write_todos" }] },
      { index: 2, provider: others[0], model: "model-second", inputTokens: 10, toolCalls: [] },
    ]);
    own = () => text("own");
    expect(textOf((await run(played.sessionId)).chunks)).toBe("own");
    expect(await messagesOf(t, agentId, played.sessionId)).toHaveLength(4);
  });

  test("with a usage credit the same is booked, and taken once", async () => {
    await changeTenant(h.sql, t.id, { usageCredit: 1_000_000 });
    own = () => (vendors[0].requests.length === 1 ? call() : status(503));
    second = () => (vendors[1].requests.length === 1 ? call() : status(503));
    const played = await run();
    expect(textOf(played.chunks)).toBe("third");
    expect(await booked(played.turnId)).toMatchObject([
      { place: 0, model: "model-own", inputTokens: 10, outputTokens: 3 },
      { place: 1, model: "model-second", inputTokens: 10, outputTokens: 3 },
      { place: 2, model: "model-third", inputTokens: 10, outputTokens: 3 },
    ]);
    const [tenant] = await h.sql`select usage_credit from tenants where id = ${t.id}`;
    expect(tenant?.usageCredit).toBe(1_000_000 - 39);
  });

  test("a fallback whose provider was deleted is passed over", async () => {
    const provider = await makeProvider(h, t, { baseUrl: `${vendors[1].url}/v1` });
    const lost = { providerId: provider.id, model: "lost" };
    const agent = await makeAgent(h, t, {
      providerId: first,
      model: "model-own",
      fallbackModels: [lost, ...fallbackModels],
    });
    await h.sql`delete from providers where id = ${provider.id}`;
    own = () => status(503);
    expect(textOf((await play(t, agent, null, { message: userMessage("x") })).chunks)).toBe("second");
  });
});

describe("fallbackModels of an agent", () => {
  test("shown, versioned and kept by an update without it; unknown in form A", async () => {
    const { body } = await t.call("GET", `/v1/agents/${agentId}`);
    expect(body.fallbackModels).toEqual(fallbackModels);
    const renamed = await t.call("PUT", `/v1/agents/${agentId}`, { body: { instructions: "Be brief." } });
    expect(renamed.body.fallbackModels).toEqual(fallbackModels);
    const cleared = await t.call("PUT", `/v1/agents/${agentId}`, { body: { fallbackModels: [] } });
    expect(cleared.body.fallbackModels).toEqual([]);
    const old = await t.call("GET", `/v1/agents/${agentId}/versions/${renamed.body.version}`);
    expect(old.body.fallbackModels).toEqual(fallbackModels);
    expect((await t.call("GET", `/v1/agents/${agentId}`, { form: "a" })).body).not.toHaveProperty("fallbackModels");
    const inA = await t.call("PUT", `/v1/agents/${agentId}`, { form: "a", body: { fallbackModels } });
    expect([inA.status, inA.body.error.details.issues[0].path]).toEqual([400, "/fallbackModels"]);
    await t.call("PUT", `/v1/agents/${agentId}`, { body: { fallbackModels } });
  });

  test("names what is wrong with it", async () => {
    const other = await h.tenant();
    const foreign = await makeProvider(h, other);
    const listed = startVendor(() => Response.json({ data: [{ id: "real" }] }));
    const strict = await makeProvider(h, t, { providerType: "llm_vendor_a", baseUrl: listed.url });
    const put = (value: unknown) => t.call("PUT", `/v1/agents/${agentId}`, { body: { fallbackModels: value } });
    for (const [value, code, path] of [
      [[{ providerId: first }], 400, "/fallbackModels/0/model"],
      [[{ providerId: "x", model: "m" }], 400, "/fallbackModels/0/providerId"],
      [[{ providerId: first, model: "m", more: 1 }], 400, "/fallbackModels/0/more"],
      [Array(4).fill({ providerId: first, model: "m" }), 400, "/fallbackModels"],
      [
        [
          { providerId: first, model: "m" },
          { providerId: foreign.id, model: "m" },
        ],
        404,
        "/fallbackModels/1/providerId",
      ],
      [[{ providerId: strict.id, model: "openai/unreal" }], 400, "/fallbackModels/0/model"],
    ] as const) {
      const { status, body } = await put(value);
      expect([status, body.error?.details?.issues?.[0]?.path]).toEqual([code, path]);
    }
    expect((await put([{ providerId: strict.id, model: "openai/real" }])).status).toBe(200);
    await put(fallbackModels);
    await listed.stop();
  });

  test("409 provider_in_use: the provider of a fallback, and afterwards by the versions that name it", async () => {
    const provider = await makeProvider(h, t);
    const agent = await makeAgent(h, t, { fallbackModels: [{ providerId: provider.id, model: "m" }] });
    const remove = (query = "") => t.call("DELETE", `/v1/providers/${provider.id}${query}`);
    const inUse = await remove();
    expect([inUse.status, inUse.body.error.code, inUse.body.error.details.agentIds]).toEqual([
      409,
      "provider_in_use",
      [agent],
    ]);
    await t.call("PUT", `/v1/agents/${agent}`, { body: { fallbackModels: [] } });
    const historical = await remove();
    expect([historical.status, historical.body.error.details.agentIds]).toEqual([409, [agent]]);
    expect((await remove("?confirmVersionInvalidation=true")).status).toBe(204);
  });
});
