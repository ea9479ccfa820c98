import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import type { Form } from "../../../src/kernel/errors.ts";
import { useTenant } from "../../harness/fixture.ts";
import { eventually } from "../../harness/harness.ts";
import { makeAgent, makeProvider, userMessage } from "../../harness/seed.ts";
import { longestStallMs } from "../../harness/stall.ts";
import { statusAndCode } from "../../harness/status-and-code.ts";
import { messagesOf, play, sessionPath, textOf } from "../../harness/turns.ts";
import { startVendor, type VendorRequest } from "../../servers/vendor.ts";

const { h, t } = await useTenant({ worker: true });
const forms: Form[] = ["a", "b"];

/** What the model says to each request, the last one again and again. */
let says: (string | { readonly call: string })[] = [];
const vendor = startVendor(() => respond(says[Math.min(vendor.requests.length, says.length) - 1] ?? ""));
afterAll(() => vendor.stop());
beforeEach(() => void vendor.requests.splice(0));

function respond(said: string | { readonly call: string }): Response {
  const delta =
    typeof said === "string"
      ? { content: said }
      : {
          tool_calls: [
            {
              index: 0,
              id: "call-1",
              type: "function",
              function: { name: said.call, arguments: JSON.stringify(inputs[said.call]) },
            },
          ],
        };
  const reason = typeof said === "string" ? "stop" : "tool_calls";
  const usage = { prompt_tokens: 10, completion_tokens: 3 };
  const events = [choice(delta, null), choice({}, reason), { id: "c", choices: [], usage }];
  const lines = [...events.map((event) => JSON.stringify(event)), "[DONE]"];
  const body = lines.map((line) => `data: ${line}\n\n`).join("");
  return new Response(body, { headers: { "content-type": "text/event-stream" } });
}

const inputs: Record<string, object> = { write_todos: { todos: [] }, write: { path: "a.txt", content: "x" } };
const choice = (delta: object, finish_reason: string | null) => ({
  id: "c",
  choices: [{ index: 0, delta, finish_reason }],
});

const provider = await makeProvider(h, t, { baseUrl: `${vendor.url}/v1` });
const agentId = await makeAgent(h, t, { providerId: provider.id, tools: ["write_todos"] });
const schema = {
  type: "object",
  properties: { age: { type: "integer" } },
  required: ["age"],
  additionalProperties: false,
};
const responseFormat = { type: "json_schema", name: "person", schema } as const;
const run = (body: object = {}, options: Parameters<typeof play>[4] = {}) =>
  play(t, agentId, null, { message: userMessage("x"), stream: false, responseFormat, ...body }, options);

describe("responseFormat", () => {
  test.each(forms)("asks in the provider's own way, and gives the value beside the message; form %s", async (form) => {
    says = ['{"age": 7}'];
    const played = await run({}, { form });
    expect([played.status, played.body.output]).toEqual([201, { age: 7 }]);
    expect(played.body.message.parts.at(-1).text).toBe('{"age": 7}');
    expect(vendor.requests).toHaveLength(1);
    expect(vendor.requests[0]?.body.response_format).toEqual({
      type: "json_schema",
      json_schema: { name: "person", schema, strict: true },
    });
    const body = { messages: [userMessage("x")], stream: false, responseFormat };
    const generated = await t.call("POST", `/v1/agents/${agentId}/generate`, { body, form });
    expect([generated.status, generated.body.output]).toEqual([200, { age: 7 }]);
  });

  test("a schema with optional fields is not asked for as strict", async () => {
    says = ["{}"];
    const loose = { type: "object", properties: { age: { type: "integer" } } };
    expect((await run({ responseFormat: { type: "json_schema", schema: loose } })).body.output).toEqual({});
    expect(vendor.requests[0]?.body.response_format.json_schema).toMatchObject({ name: "response", strict: false });
  });

  test("without it nothing is asked for, and there is no output", async () => {
    says = ['{"age": 7}'];
    const played = await run({ responseFormat: undefined });
    expect(Object.keys(played.body)).toEqual(["message", "finishReason"]);
    expect(vendor.requests[0]?.body).not.toHaveProperty("response_format");
  });

  test.each([
    ["text around it", 'Here: {"age": 7}'],
    ["a fence", '```json\n{"age": 7}\n```'],
    ["a value that does not fit", '{"age": "seven"}'],
    ["a field too many", '{"age": 7, "more": 1}'],
    ["nothing", ""],
  ])("%s is asked for once more, showing the model its answer", async (_case, first) => {
    says = [first, '{"age": 8}'];
    const played = await run({ stream: true });
    expect(played.chunks.at(-1)?.type).toBe("finish");
    expect(textOf(played.chunks)).toBe(`${first}{"age": 8}`);
    expect(vendor.requests).toHaveLength(2);
    const sent = vendor.requests[1]?.body.messages as { role: string; content: string }[];
    if (first !== "") expect(sent.at(-2)).toMatchObject({ role: "assistant", content: first });
    expect(sent.at(-1)?.role).toBe("user");
    expect(JSON.stringify(sent.at(-1)?.content)).toContain("additionalProperties");
    expect(vendor.requests[1]?.body.response_format).toBeDefined();
  });

  test("502 provider_error: one that does not fit again, and it leaves the transcript as it was", async () => {
    says = ["no", "no"];
    const played = await run();
    expect(statusAndCode(played)).toEqual([502, "provider_error"]);
    expect(vendor.requests).toHaveLength(2);
    const { sessionId, chunks } = await run({ stream: true });
    const errorText = "The model's answer does not fit the schema that was asked for.";
    expect(chunks.at(-1)).toEqual({ type: "error", errorText });
    expect(await messagesOf(t, agentId, sessionId)).toHaveLength(0);
  });

  test("502 provider_error: one that cannot be checked in time fails at once, is not asked for again, and stops no other", async () => {
    const enums = Array(20).fill({ enum: [...Array(900).fill(2), 1] });
    const slow = { type: "json_schema", schema: { type: "array", items: { allOf: enums } } };
    const ones = (count: number) => `[${Array(count).fill(1).join(",")}]`;
    const errorText = "The model's answer could not be checked against its schema in time.";
    for (const answer of [ones(90_000), ones(240_000)]) {
      vendor.requests.splice(0);
      says = [answer];
      const stood = await longestStallMs(async () => {
        const { chunks } = await run({ stream: true, responseFormat: slow });
        expect(chunks.at(-1)).toEqual({ type: "error", errorText });
      });
      expect(vendor.requests).toHaveLength(1);
      expect(stood).toBeLessThan(500);
    }
    expect(statusAndCode(await run({ responseFormat: slow }))).toEqual([502, "provider_error"]);
  }, 30_000);

  test("a client tool's input that cannot be checked in time fails the turn, and the model is not asked again", async () => {
    const enums = Array(8).fill({ enum: [...Array(900).fill(2), 1] });
    const inputSchema = { type: "object", properties: { list: { items: { allOf: enums } } } } as const;
    const clientTools = [{ name: "locate", description: "", inputSchema }];
    const withTool = await makeAgent(h, t, { providerId: provider.id, clientTools });
    inputs.locate = { list: Array(90_000).fill(1) };
    says = [{ call: "locate" }];
    const played = await play(t, withTool, null, { message: userMessage("x") });
    const errorText = "The model's answer could not be checked against its schema in time.";
    expect(played.chunks.at(-1)).toEqual({ type: "error", errorText });
    expect(vendor.requests).toHaveLength(1);
  }, 30_000);

  test("with tools in the same turn only the final text counts, and each answer is asked for once more", async () => {
    says = [{ call: "write_todos" }, "no", '{"age": 9}'];
    const played = await run();
    expect([played.status, played.body.output]).toEqual([201, { age: 9 }]);
    expect(vendor.requests).toHaveLength(3);
  });

  test("a repeat with the Idempotency-Key has the output too", async () => {
    says = ["no", "[1]"];
    const list = { type: "json_schema", schema: { type: "array" } };
    const message = userMessage("x");
    const again = () => run({ message, responseFormat: list }, { headers: { "idempotency-key": "schema-1" } });
    const first = await again();
    expect(first.body.output).toEqual([1]);
    expect((await again()).body).toEqual(first.body);
    expect(vendor.requests).toHaveLength(2);
  });

  test("null and false are outputs", async () => {
    for (const [text, value] of [
      ["null", null],
      ["false", false],
    ] as const) {
      says = [text];
      const { body } = await run({ responseFormat: { type: "json_schema", schema: {} } });
      expect([Object.keys(body), body.output]).toEqual([["message", "finishReason", "output"], value]);
    }
  });

  test("after an approval the continuation's answer is asked for by the same schema", async () => {
    const approvalInChat = { default: "manual" as const, overrides: [] };
    const asking = await makeAgent(h, t, { providerId: provider.id, tools: ["workspace"], approvalInChat });
    says = [{ call: "write" }, "no", '{"age": 3}'];
    const key = { "idempotency-key": "schema-approval" };
    const body = { message: userMessage("x"), stream: false, responseFormat };
    const waiting = await play(t, asking, null, body, { headers: key });
    expect([waiting.status, Object.keys(waiting.body)]).toEqual([201, ["message", "finishReason"]]);
    const path = sessionPath(asking, waiting.sessionId, "/tool-approvals");
    const { approvals } = (await t.call("GET", path)).body;
    await t.call("POST", `${path}/${approvals[0].id}`, { body: { approved: true } });
    await eventually(async () => {
      const [turn] = await h.sql`select 1 from turns where id = ${waiting.turnId} and status = 'succeeded'`;
      return turn;
    });
    expect(vendor.requests.map(({ body }: VendorRequest) => body.response_format !== undefined)).toEqual([
      true,
      true,
      true,
    ]);
    expect((await play(t, asking, null, body, { headers: key })).body.output).toEqual({ age: 3 });
  });

  test("the waiting message sent back with its decision is answered with the output", async () => {
    const approvalInChat = { default: "manual" as const, overrides: [] };
    const asking = await makeAgent(h, t, { providerId: provider.id, tools: ["workspace"], approvalInChat });
    says = [{ call: "write" }, '{"age": 4}'];
    const waiting = await play(t, asking, null, { message: userMessage("x"), stream: false, responseFormat });
    const parts = waiting.body.message.parts.map((part: { state?: string; approval?: object }) =>
      part.approval === undefined
        ? part
        : { ...part, state: "approval-responded", approval: { ...part.approval, approved: true } },
    );
    const message = { ...waiting.body.message, parts };
    const answered = await play(t, asking, waiting.sessionId, { message, stream: false });
    expect([answered.status, answered.body.output]).toEqual([200, { age: 4 }]);
  });

  test("a turn that waits in the line of its session has it too", async () => {
    says = ['{"age": 1}'];
    const { sessionId } = await run();
    const next = () =>
      play(t, agentId, sessionId, { message: userMessage("x"), stream: false, responseFormat, onBusy: "enqueue" });
    const both = await Promise.all([next(), next()]);
    expect(both.map(({ body }) => body.output)).toEqual([{ age: 1 }, { age: 1 }]);
  });

  test("patterns that would take a backtracking matcher for ever, and answers that nest for ever, hold up nothing", async () => {
    const hostile = { type: "string", pattern: "^(([a-z])+.)+[A-Z]([a-z])+$" };
    const nested = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
    for (const [given, answer] of [
      [hostile, JSON.stringify("a".repeat(50_000))],
      [{ type: "string", pattern: "^(a+)+$" }, JSON.stringify(`${"a".repeat(50_000)}!`)],
      [{ $ref: "#" }, nested],
      [{ uniqueItems: true }, nested],
    ] as const) {
      says = [answer];
      const started = performance.now();
      const responseFormat = { type: "json_schema", schema: given };
      expect(statusAndCode(await run({ responseFormat }))).toEqual([502, "provider_error"]);
      // A backtracking matcher would need longer than the universe is old.
      expect(performance.now() - started).toBeLessThan(20_000);
    }
  });

  test("a task's runs have it as it was when they were started; shown, changed and taken away", async () => {
    says = ['{"age": 5}'];
    const made = await t.call("POST", "/v1/tasks", {
      body: { agentId, name: "by schema", prompt: "x", responseFormat, submit: true },
    });
    const task = made.body.task;
    expect([made.status, task.responseFormat]).toEqual([202, responseFormat]);
    const ended = () =>
      eventually(async () => {
        const { latestRun } = (await t.call("GET", "/v1/tasks")).body.data.find(
          ({ id }: { id: string }) => id === task.id,
        );
        return latestRun.finishedAt === null ? undefined : latestRun.status;
      });
    expect(await ended()).toBe("succeeded");
    expect(vendor.requests[0]?.body.response_format.json_schema.schema).toEqual(schema);
    says = ["no"];
    await t.call("POST", `/v1/tasks/${task.id}/runs`, { body: {} });
    expect(await ended()).toBe("failed");
    const changed = await t.call("PATCH", `/v1/tasks/${task.id}`, { body: { responseFormat: null } });
    expect([changed.status, changed.body.responseFormat]).toEqual([200, null]);
    expect((await t.call("GET", `/v1/tasks/${task.id}`)).body.responseFormat).toBeNull();
    const kept = await t.call("PATCH", `/v1/tasks/${task.id}`, { body: { responseFormat, name: "again" } });
    expect(kept.body.responseFormat).toEqual(responseFormat);
    expect((await t.call("PATCH", `/v1/tasks/${task.id}`, { body: { name: "b" } })).body.responseFormat).toEqual(
      responseFormat,
    );
  });
});

describe("a responseFormat that is none", () => {
  /** Some 8,000 groups: to compile them takes JavaScriptCore 20 s. */
  const namedGroups = Array.from({ length: 8_000 }, (_, n) => `(?<${n.toString(36).replace(/^/, "g")}>)`)
    .join("")
    .slice(0, 60_000);
  const padded = (bytes: number) => ({ description: "é".repeat(Math.floor((bytes - 18) / 2)) + "x".repeat(bytes % 2) });
  const cases: [object, string][] = [
    [{ type: "text", schema: {} }, "/responseFormat/type"],
    [{ type: "json_schema" }, "/responseFormat/schema"],
    [{ type: "json_schema", schema: true }, "/responseFormat/schema"],
    [{ type: "json_schema", schema: {}, name: "" }, "/responseFormat/name"],
    [{ type: "json_schema", schema: {}, name: "a b" }, "/responseFormat/name"],
    [{ type: "json_schema", schema: {}, strict: true }, "/responseFormat/strict"],
    [{ type: "json_schema", schema: { type: "nothing" } }, "/responseFormat/schema/type"],
    [{ type: "json_schema", schema: { properties: 5 } }, "/responseFormat/schema/properties"],
    [{ type: "json_schema", schema: { properties: { a: { type: 1 } } } }, "/responseFormat/schema/properties/a/type"],
    [{ type: "json_schema", schema: { items: { pattern: "(" } } }, "/responseFormat/schema/items/pattern"],
    [{ type: "json_schema", schema: { $ref: "https://example.com/s" } }, "/responseFormat/schema/$ref"],
    [{ type: "json_schema", schema: { anyOf: [{ $ref: "#/$defs/gone" }] } }, "/responseFormat/schema/anyOf/0/$ref"],
    [{ type: "json_schema", schema: padded(64 * 1024 + 1) }, "/responseFormat/schema"],
    [{ type: "json_schema", schema: { items: { enum: Array(1_001).fill(1) } } }, "/responseFormat/schema/items/enum"],
    [{ type: "json_schema", schema: { pattern: `${namedGroups}(` } }, "/responseFormat/schema/pattern"],
  ];

  test.each(forms)("400 validation_failed (A: invalid_request): names it, at each door; form %s", async (form) => {
    for (const [responseFormat, path] of cases) {
      const { sessionId } = { sessionId: null };
      const answers = [
        await play(t, agentId, sessionId, { message: userMessage("x"), responseFormat }, { form }),
        await t.call("POST", `/v1/agents/${agentId}/generate`, {
          form,
          body: { messages: [userMessage("x")], responseFormat },
        }),
        await t.call("POST", "/v1/tasks", { form, body: { agentId, name: "n", prompt: "p", responseFormat } }),
      ];
      for (const { status, body } of answers)
        expect([status, body.error?.details?.issues?.[0]?.path]).toEqual([400, path]);
    }
    expect(vendor.requests).toHaveLength(0);
  });

  test("patterns that would take long to compile are refused before, in tools too", async () => {
    const inputSchema = { type: "object", properties: { a: { pattern: namedGroups.slice(0, 16_000) } } };
    const tools = Array.from({ length: 50 }, (_, n) => ({ name: `t${n}`, description: "", inputSchema }));
    const asked = tools.map(({ name }) => ({ type: "function", name, parameters: inputSchema }));
    const stood = await longestStallMs(async () => {
      const made = await t.call("POST", "/v1/agents", { body: { name: "n", clientTools: tools } });
      expect([made.status, made.body.error?.details?.issues?.[0]?.path]).toEqual([
        400,
        "/clientTools/0/inputSchema/properties/a/pattern",
      ]);
      const response = await t.call("POST", "/v1/responses", { body: { model: agentId, input: "x", tools: asked } });
      expect(response.status).toBe(400);
      const format = { type: "json_schema", name: "n", schema: { pattern: namedGroups } };
      const formatted = await t.call("POST", "/v1/responses", {
        body: { model: agentId, input: "x", text: { format } },
      });
      expect(formatted.status).toBe(400);
    });
    expect(stood).toBeLessThan(400);
  });

  test("a schema of 64 KiB is taken, and no reference is fetched", async () => {
    says = ["{}"];
    const large = { type: "json_schema", schema: padded(64 * 1024) };
    expect(Buffer.byteLength(JSON.stringify(large.schema))).toBe(64 * 1024);
    expect((await run({ responseFormat: large })).status).toBe(201);
    const other = startVendor(() => Response.json({}));
    const remote = { type: "json_schema", schema: { $ref: `${other.url}/schema.json` } };
    expect((await run({ responseFormat: remote })).status).toBe(400);
    expect(other.requests).toHaveLength(0);
    await other.stop();
  });
});
