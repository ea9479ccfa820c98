import { describe, expect, test } from "bun:test";
import { useAgent } from "../harness/fixture.ts";
import { longestStallMs } from "../harness/stall.ts";

const { h, t, agentId } = await useAgent({ worker: true });

const ask = (body: object) => t.call("POST", "/v1/responses", { body: { model: agentId, input: "Hi.", ...body } });
const user = (...content: unknown[]) => [{ role: "user", content }];
const picture = { type: "input_image", image_url: "data:image/png;base64,iVBORw0KGgo=" };

describe("a field that is not supported is 400 by its name", () => {
  const fields: Record<string, unknown> = {
    presence_penalty: 1,
    frequency_penalty: 1,
    top_logprobs: 3,
    max_tool_calls: 1,
    parallel_tool_calls: false,
    truncation: "none",
    service_tier: "flex",
    conversation: "conv_1",
    prompt: { id: "p" },
    context_management: [{ type: "compaction" }],
    moderation: {},
    tool_choice: { type: "allowed_tools", mode: "auto", tools: [] },
  };
  for (const [name, value] of Object.entries(fields))
    test(name, async () => {
      const { status, body } = await ask({ [name]: value });
      expect([status, body.error.code, body.error.param]).toEqual([400, "validation_failed", name]);
      expect(body.error.message).toContain("not supported");
    });

  test.each([
    ["text.format", { text: { format: { type: "json_object" } } }],
    ["text.verbosity", { text: { verbosity: "low" } }],
    ["reasoning.summary", { reasoning: { effort: "low", summary: "concise" } }],
    ["tools[0].type", { tools: [{ type: "web_search" }] }],
    ["tools[0].defer_loading", { tools: [{ type: "function", name: "f", defer_loading: true }] }],
  ])("%s", async (param, fields) => {
    const { status, body } = await ask(fields);
    expect([status, body.error.param]).toEqual([400, param]);
    expect(body.error.message).toContain("not supported");
  });

  test("and one that nobody knows is told apart from it", async () => {
    const { status, body } = await ask({ no_such_field: 1 });
    expect([status, body.error.param]).toEqual([400, "no_such_field"]);
    expect(body.error.message).toContain("is not a known field");
  });

  test("a value of another type is told what it has to be, also where null is taken too", async () => {
    const told = async (fields: object) => (await ask(fields)).body.error.message;
    expect(await told({ previous_response_id: "x" })).toContain("must have the shape resp_…");
    expect(await told({ instructions: ["x"] })).toContain("must be a text of at most 100000 characters");
    expect(await told({ store: "yes" })).toContain("expected boolean");
    expect(await told({ tools: {} })).toContain("expected array");
  });

  test("but what cannot change an answer is taken and ignored, as Codex and the Agents SDK send it", async () => {
    const { status, body } = await ask({
      include: ["reasoning.encrypted_content", "message.output_text.logprobs"],
      prompt_cache_key: "019a",
      prompt_cache_retention: "24h",
      prompt_cache_options: {},
      safety_identifier: "u-1",
      client_metadata: { "x-codex-installation-id": "x" },
      stream_options: { include_obfuscation: true },
      text: { verbosity: "medium" },
    });
    expect([status, body.prompt_cache_key, body.safety_identifier]).toEqual([200, null, null]);
  });

  test("but it may be null, or say what holds anyway", async () => {
    const said = { temperature: 1, top_p: 1, parallel_tool_calls: true, truncation: "disabled", service_tier: "auto" };
    expect((await ask({ reasoning: { effort: null, summary: "auto" } })).body.reasoning).toBeNull();
    const none = { max_output_tokens: null, reasoning: null, include: [], instructions: null, tools: null, text: null };
    expect((await ask({ ...said, ...none, metadata: null, user: null, store: null, stream: null })).status).toBe(200);
  });
});

describe("settings of the model", () => {
  test("200 says again what was set, and 1, 1 and null where nothing was", async () => {
    const set = { temperature: 0.5, top_p: 0.25, max_output_tokens: 100 };
    expect((await ask(set)).body).toMatchObject(set);
    expect((await ask({ reasoning: { effort: "low" } })).body.reasoning).toEqual({ effort: "low", summary: null });
    expect((await ask({})).body).toMatchObject({ temperature: 1, top_p: 1, max_output_tokens: null, reasoning: null });
  });

  test.each([
    ["temperature", 2.5],
    ["temperature", "0.5"],
    ["top_p", 1.1],
    ["max_output_tokens", 0],
    ["max_output_tokens", 1.5],
    ["reasoning", "low"],
  ])("400 validation_failed: %s of %p", async (param, value) => {
    const { status, body } = await ask({ [param]: value });
    expect([status, body.error.param]).toEqual([400, param]);
  });
});

describe("what is wrong with an input is 400, and is named", () => {
  const cases: [what: string, input: unknown, param: string][] = [
    ["no items", [], "input"],
    ["no item", ["Hi."], "input[0]"],
    ["an unknown type", [{ type: "web_search_call", id: "x" }], "input[0].type"],
    ["an unknown role", [{ role: "tool", content: "x" }], "input[0].role"],
    ["no content", [{ role: "user" }], "input[0].content"],
    ["an empty content", [{ role: "user", content: [] }], "input[0].content"],
    ["a file", user({ type: "input_file", file_id: "f" }), "input[0].content[0].type"],
    ["a text that is none", user({ type: "input_text", text: 1 }), "input[0].content[0].text"],
    ["a picture by id", user({ type: "input_image", file_id: "f" }), "input[0].content[0].file_id"],
    ["a picture that is none", user({ ...picture, image_url: "http://x/a.png" }), "input[0].content[0].image_url"],
    ["a picture of the system", [{ role: "system", content: [picture] }], "input[0].content[0].type"],
    ["arguments that are no JSON", [{ type: "function_call", name: "f", arguments: "{" }], "input[0].arguments"],
    ["a name that is none", [{ type: "function_call", name: "a b", arguments: "{}" }], "input[0].name"],
    ["an output that leads nowhere", [{ type: "function_call_output", call_id: "c", output: "x" }], "input[0]"],
    ["an output without a call", [{ type: "function_call_output", output: "x" }], "input[0].call_id"],
    ["a decision that is none", [{ type: "mcp_approval_response", approval_request_id: "a" }], "input[0].approve"],
    ["a reference that leads nowhere", [{ type: "item_reference", id: "msg_x" }], "input[0].id"],
    ["an answer at its end", [{ role: "assistant", content: "Hi." }], "input"],
    [
      "a result at its end that nobody waits for",
      [
        { role: "user", content: "Hi." },
        { type: "function_call", call_id: "c", name: "f", arguments: "{}" },
        { type: "function_call_output", call_id: "c", output: "x" },
      ],
      "input",
    ],
  ];
  for (const [what, input, param] of cases)
    test(what, async () => {
      const { status, body } = await ask({ input });
      expect([status, body.error?.code, body.error?.param]).toEqual([400, "validation_failed", param]);
    });

  test("and 21 pictures are one too many", async () => {
    const { status, body } = await ask({ input: user(...Array(21).fill(picture)) });
    expect([status, body.error.param]).toEqual([400, "input[0].content[20]"]);
  });
});

describe("what is wrong with a tool is 400, and is named", () => {
  const tool = { type: "function", name: "f", parameters: { type: "object" } };
  const cases: [what: string, fields: object, param: string][] = [
    ["another type", { tools: [{ type: "web_search" }] }, "tools[0].type"],
    ["a name that is none", { tools: [{ ...tool, name: "a b" }] }, "tools[0].name"],
    ["a built-in tool's name", { tools: [{ ...tool, name: "memory_save" }] }, "tools[0].name"],
    ["a name given twice", { tools: [tool, tool] }, "tools[1].name"],
    ["parameters of another type", { tools: [{ ...tool, parameters: { type: "array" } }] }, "tools[0].parameters.type"],
    [
      "parameters that are no schema",
      { tools: [{ ...tool, parameters: { type: "object", required: 1 } }] },
      "tools[0].parameters.required",
    ],
    ["a choice of none of them", { tools: [tool], tool_choice: { type: "function", name: "g" } }, "tool_choice.name"],
    ["a choice of several", { tool_choice: { type: "allowed_tools", mode: "auto", tools: [] } }, "tool_choice"],
    ["a format of another type", { text: { format: { type: "json_object" } } }, "text.format"],
  ];
  for (const [what, fields, param] of cases)
    test(what, async () => {
      const { status, body } = await ask(fields);
      expect([status, body.error?.code, body.error?.param]).toEqual([400, "validation_failed", param]);
    });
});

test("what is refused leaves nothing behind", async () => {
  const count = async () =>
    (await h.sql`select (select count(*) from turns) + (select count(*) from sessions) as all`)[0];
  const before = await count();
  for (const body of [{ max_tool_calls: 1 }, { input: [] }, { model: `ag_${"0".repeat(24)}` }]) await ask(body);
  expect(await count()).toEqual(before as never);
});

test("a function by the name of what every object has is offered and forced by another name", async () => {
  const named = { type: "function", name: "__proto__", parameters: { type: "object" } };
  const items = [
    { role: "user", content: "a" },
    { type: "function_call", call_id: "c1", name: "__proto__", arguments: "{}" },
    { type: "function_call_output", call_id: "c1", output: "done" },
    { role: "user", content: "b" },
  ];
  const told = await ask({ input: items, tools: [named], tool_choice: { type: "function", name: "__proto__" } });
  expect(told.status).toBe(200);
  const body = h.model.requests().at(-1)?.body as {
    tools: { function: { name: string } }[];
    tool_choice: { function: { name: string } };
    messages: { tool_calls?: { function: { name: string } }[] }[];
  };
  const [sent] = body.tools.map(({ function: { name } }) => name);
  expect(sent).toBe("__proto___");
  expect(body.tool_choice.function.name).toBe("__proto___");
  expect(body.messages.flatMap(({ tool_calls = [] }) => tool_calls.map((call) => call.function.name))).toEqual([
    "__proto___",
  ]);
});

test("tool_choice none keeps the model from calling, and required makes it", async () => {
  const tool = { type: "function", name: "f", parameters: { type: "object" } };
  const choiceOf = () => (h.model.requests().at(-1)?.body as { tool_choice?: unknown } | undefined)?.tool_choice;
  await ask({ tools: [tool], tool_choice: "none" });
  expect(choiceOf()).toBe("none");
  await ask({ tools: [tool], tool_choice: "required" });
  expect(choiceOf()).toBe("required");
});

test("413 payload_too_large: JSON within the JSON of the body counts as values of the body", async () => {
  const call = (id: number, items: number) => [
    {
      type: "function_call",
      call_id: `c${id}`,
      name: "f",
      arguments: `{"list":[${Array(items).fill("[]").join(",")}]}`,
    },
    { type: "function_call_output", call_id: `c${id}`, output: "x" },
  ];
  const taken = await ask({ input: [...call(1, 40_000), { role: "user", content: "go" }] });
  expect(taken.status).toBe(200);
  for (const calls of [call(1, 2_500_000), Array.from({ length: 40 }, (_, n) => call(n, 60_000)).flat()]) {
    let refused: Awaited<ReturnType<typeof ask>> | null = null;
    const stood = await longestStallMs(async () => {
      refused = await ask({ input: [...calls, { role: "user", content: "go" }] });
    });
    expect(refused).toMatchObject({ status: 413, body: { error: { code: "payload_too_large" } } });
    expect(stood).toBeLessThan(500);
  }
});
