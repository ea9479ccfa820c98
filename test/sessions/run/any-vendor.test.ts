import { afterAll, expect, test } from "bun:test";
import { eventStream } from "../../harness/anthropic-events.ts";
import { useTenant } from "../../harness/fixture.ts";
import { makeAgent, makeProvider, userMessage } from "../../harness/seed.ts";
import { messagesOf, play, textOf } from "../../harness/turns.ts";
import { judges } from "../../harness/vendor-judges.ts";
import { McpServer, textTool } from "../../servers/mcp.ts";
import { startVendor, type VendorRequest } from "../../servers/vendor.ts";
import { vendorWords } from "../../servers/vendor-answers.ts";

/**
 * Vendors that refuse by 400 what their rules do not have, each at its own path of one server. What one of them
 * leaves in a session is sent to all others.
 */

const { h, t } = await useTenant({ worker: true });

const vendors = {
  mistral: { type: "custom", judge: judges.Mistral },
  moonshot: { type: "custom", judge: judges.Moonshot },
  deepseek: { type: "custom", judge: judges.DeepSeek },
  groq: { type: "custom", judge: judges.Groq },
  openai: { type: "openai", judge: judges["OpenAI's Chat Completions"] },
  anthropic: { type: "anthropic", judge: judges.Anthropic },
  google: { type: "google", judge: judges.Google },
  openrouter: { type: "openrouter", judge: judges["Mistral by OpenRouter"] },
} as const;
type VendorOf = keyof typeof vendors;

const ofPath = ({ path }: VendorRequest) => (path.split("/")[1] ?? "") as VendorOf;
/** What the next requests get that a vendor does not refuse; a text where nothing is left. */
const next: Response[] = [];
/** Tools that the server refuses beside the vendor's rules. */
const refused = new Set<string>();
/** Says for another reason why a body is refused; null: it is not. */
let alsoRefused: (body: Record<string, unknown>) => string | null = () => null;
const refusals: string[] = [];
const server = startVendor((request) => {
  // The list of models.
  if (request.body === null) return new Response("no", { status: 404 });
  const { type, judge } = vendors[ofPath(request)];
  const hasRefused = [...refused].some((name) => JSON.stringify(request.body.tools ?? []).includes(name));
  const words = hasRefused ? "Invalid schema for function." : (alsoRefused(request.body) ?? judge(request.body));
  if (words === null) return next.shift() ?? vendorWords[type].text(`Said by ${ofPath(request)}.`);
  refusals.push(words);
  return Response.json({ error: { message: words, type: "invalid_request_error" } }, { status: 400 });
});
const mcp = new McpServer();
afterAll(async () => {
  await server.stop();
  await mcp.stop();
});

const providers = new Map<VendorOf, string>();
for (const name of Object.keys(vendors) as VendorOf[]) {
  const { type: providerType } = vendors[name];
  const made = await makeProvider(h, t, { providerType, baseUrl: `${server.url}/${name}/v1` });
  providers.set(name, made.id);
}
const models = {
  google: "google/gemini-2.5-flash",
  anthropic: "anthropic/claude-sonnet-4-5",
  openrouter: "mistralai/large",
  openai: "openai/gpt-4o",
};
const of = (name: VendorOf) => ({
  providerId: providers.get(name) as string,
  model: (models as Partial<Record<VendorOf, string>>)[name] ?? "any",
});
const change = async (agentId: string, fields: object) => {
  expect((await t.call("PUT", `/v1/agents/${agentId}`, { body: fields })).status).toBe(200);
};
const lines = (...events: readonly object[]) =>
  new Response(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(""), eventStream);
const delta = (fields: object, finish_reason: string | null = null) => ({
  id: "c",
  choices: [{ index: 0, delta: fields, finish_reason }],
});
const call = (id: string, name: string, args: string) => ({
  tool_calls: [{ index: 0, id, type: "function", function: { name, arguments: args } }],
});
const record = async (turnId: string) => (await t.call("GET", `/v1/turns/${turnId}`)).body;

test("what one vendor's model left goes to every other vendor, and back", async () => {
  const agentId = await makeAgent(h, t, { ...of("moonshot"), tools: ["memory"], instructions: " \n" });
  const save = call("functions.memory_save:0", "memory_save", '{"content":"tea"}');
  next.push(
    lines(
      delta({ reasoning_content: "Kimi thinks" }),
      delta({ content: "\n\n" }),
      delta(save),
      delta({}, "tool_calls"),
    ),
  );
  next.push(lines(delta(call("functions.x:1", "<|channel|>do it.", '"a text"')), delta({}, "tool_calls")));
  next.push(lines(delta({ reasoning_content: "Kimi thinks alone" }), delta({}, "stop")));
  const first = await play(t, agentId, null, { message: userMessage("one") });
  expect(first.chunks.at(-1)?.type).toBe("finish");
  const called = first.chunks.flatMap(({ type, toolName }) =>
    type.startsWith("tool-input-") && type !== "tool-input-delta" && toolName ? [toolName] : [],
  );
  expect(called).toContain("<|channel|>do it.");
  for (const name of [...Object.keys(vendors), "moonshot"] as VendorOf[]) {
    await change(agentId, of(name));
    server.requests.length = 0;
    const said = await play(t, agentId, first.sessionId, { message: userMessage(`to ${name}`) });
    expect([name, textOf(said.chunks)]).toEqual([name, `Said by ${name}.`]);
    // Those that want other thoughts than were sent have to say so, once.
    expect(server.requests.length).toBeLessThanOrEqual(
      name === "groq" || name === "deepseek" || name === "mistral" ? 2 : 1,
    );
    if (!["moonshot", "deepseek"].includes(name))
      expect(JSON.stringify(server.requests.at(-1)?.body)).not.toContain("Kimi thinks");
  }
  const stored = JSON.stringify(await messagesOf(t, agentId, first.sessionId));
  expect(stored).toContain("functions.memory_save:0");
  expect(stored).toContain("<|channel|>do it.");
});

test("a fallback of another vendor goes on in the midst of a turn", async () => {
  const agentId = await makeAgent(h, t, { ...of("moonshot"), tools: ["memory"], fallbackModels: [of("anthropic")] });
  next.push(lines(delta(call("functions.memory_list:0", "memory_list", "{}")), delta({}, "tool_calls")));
  next.push(new Response("{}", { status: 503 }));
  const said = await play(t, agentId, null, { message: userMessage("one") });
  expect(textOf(said.chunks)).toBe("Said by anthropic.");
});

async function connect(tools: readonly ReturnType<typeof textTool>[], name: string): Promise<string> {
  mcp.settings.tools = [...tools];
  const made = await t.call("POST", "/v1/mcp-connections", { body: { name, url: mcp.url, authType: "none" } });
  expect([made.status, made.body.error]).toEqual([201, undefined]);
  return made.body.id;
}
const locate = { name: "locate", description: "", inputSchema: { type: "object" as const } };
const offered = () =>
  (server.requests.at(-1)?.body.tools ?? []).map((tool: { function: { name: string } }) => tool.function.name);

test("of more tools than a vendor takes the agent's own come first, and the turn's record names the others", async () => {
  const many = await connect(
    Array.from({ length: 200 }, (_, index) => textTool(`t${index}`)),
    "many",
  );
  const agentId = await makeAgent(h, t, {
    ...of("openai"),
    tools: ["memory"],
    clientTools: [locate],
    mcpConnectionIds: [many],
  });
  const said = await play(t, agentId, null, { message: userMessage("one") });
  expect(textOf(said.chunks)).toBe("Said by openai.");
  expect(offered()).toHaveLength(128);
  const own = offered().filter((name: string) => !name.startsWith("many__"));
  expect(own).toContain("locate");
  const { toolsLeftOut } = await record(said.turnId);
  expect(toolsLeftOut).toHaveLength(200 - (128 - own.length));
  expect(toolsLeftOut.at(-1)).toEqual({ tool: "many__t199", reason: "The vendor takes at most 128 tools." });
});

test("a vendor that refuses tools is asked once more without those that it has never taken", async () => {
  const union = { type: "object", anyOf: [{ required: ["a"] }, { required: ["b"] }] };
  const odd = await connect([textTool("union", { inputSchema: union as never })], "odd");
  const clientTool = (name: string) => ({ ...locate, name });
  const [good, bad] = [clientTool("good"), clientTool("bad_one")];
  const agentId = await makeAgent(h, t, { ...of("openai"), clientTools: [good, bad], mcpConnectionIds: [odd] });
  const names = async (turnId: string) =>
    (await record(turnId)).toolsLeftOut.map(({ tool }: { tool: string }) => tool).sort();
  refused.add("bad_one");
  server.requests.length = 0;
  const unknown = await play(t, agentId, null, { message: userMessage("one") });
  expect(textOf(unknown.chunks)).toBe("Said by openai.");
  expect(server.requests.map(({ body }) => body.tools?.length)).toEqual([2, undefined]);
  expect(await names(unknown.turnId)).toEqual(["bad_one", "good", "odd__union"]);
  // Without the bad one it takes the others.
  await change(agentId, { clientTools: [good] });
  const taken = await play(t, agentId, unknown.sessionId, { message: userMessage("two") });
  expect(await names(taken.turnId)).toEqual(["odd__union"]);
  // From then on a tool that it does not take costs itself alone.
  await change(agentId, { clientTools: [good, bad] });
  server.requests.length = 0;
  const known = await play(t, agentId, unknown.sessionId, { message: userMessage("three") });
  expect(textOf(known.chunks)).toBe("Said by openai.");
  expect(server.requests).toHaveLength(2);
  expect(offered()).toEqual(["good"]);
  expect((await record(known.turnId)).toolsLeftOut).toEqual([
    { tool: "odd__union", reason: "Its input schema combines others at its top." },
    { tool: "bad_one", reason: "The vendor refused a request with it." },
  ]);
  refused.clear();
});

/** Without a provider of its own. */
const agentOf = async (fields: Omit<Parameters<typeof t.parley.agents.create>[0], "name">) =>
  (await t.parley.agents.create({ name: `v-${crypto.randomUUID()}`, ...fields })).id;
const clientTool = (name: string, description = "") => ({ ...locate, name, description });
const isMade = (agentId: string, message = userMessage("x"), sessionId: string | null = null) =>
  play(t, agentId, sessionId, { message });

test("a call by the name of what every object has is told to the model, and goes to every vendor", async () => {
  for (const maker of ["groq", "anthropic", "google", "openai"] as const) {
    const agentId = await agentOf({ ...of(maker), tools: ["memory"] });
    for (const name of ["__proto__", "constructor", "x"]) next.push(vendorWords[vendors[maker].type].call(name));
    const first = await isMade(agentId);
    expect([maker, textOf(first.chunks)]).toEqual([maker, `Said by ${maker}.`]);
    const stored = JSON.stringify(await messagesOf(t, agentId, first.sessionId));
    for (const name of ["__proto__", "constructor"])
      expect([maker, stored]).toEqual([maker, expect.stringContaining(`${name}"`)]);
    for (const name of Object.keys(vendors) as VendorOf[]) {
      await change(agentId, of(name));
      const said = await isMade(agentId, userMessage("y"), first.sessionId);
      expect([maker, name, textOf(said.chunks)]).toEqual([maker, name, `Said by ${name}.`]);
    }
  }
});

test("an input with a field that the vendors' clients forbid is read without it", async () => {
  const agentId = await agentOf({ ...of("google"), tools: ["memory"] });
  next.push(
    vendorWords.google.call(
      "memory_search",
      JSON.parse('{"query":"q","__proto__":{"a":1},"constructor":{"prototype":{}}}'),
    ),
  );
  const said = await isMade(agentId);
  expect(textOf(said.chunks)).toBe("Said by google.");
  expect(said.chunks.find(({ type }) => type === "tool-input-available")?.input).toEqual({ query: "q" });
});

test("a client tool by such a name, or by a short one, is offered by another and called by its own", async () => {
  const names = ["__proto__", "x", "1st"];
  for (const vendor of ["moonshot", "anthropic"] as const) {
    const agentId = await agentOf({ ...of(vendor), clientTools: names.map((name) => clientTool(name)) });
    for (const [index, name] of names.entries()) {
      server.requests.length = 0;
      next.push(vendorWords[vendors[vendor].type].text("Hi."));
      await isMade(agentId);
      const tools = server.requests[0]?.body.tools as { name?: string; function?: { name: string } }[];
      const sent = tools.map((tool) => tool.function?.name ?? tool.name ?? "");
      expect(sent).toHaveLength(3);
      next.push(vendorWords[vendors[vendor].type].call(sent[index] as string));
      const called = await isMade(agentId);
      expect(called.chunks.find(({ type }) => type === "tool-input-available")).toMatchObject({
        toolName: name,
        input: {},
      });
    }
  }
});

test("a long description is cut where the vendor may not take it", async () => {
  const long = `${"word ".repeat(800)}end`;
  const agentId = await agentOf({ ...of("groq"), clientTools: [clientTool("far", long)] });
  const sent = async () => {
    server.requests.length = 0;
    await isMade(agentId);
    return server.requests[0]?.body.tools[0].function.description as string;
  };
  const cut = await sent();
  expect([cut.length <= 1_024, cut.length > 1_000, cut.endsWith("word…")]).toEqual([true, true, true]);
  await change(agentId, of("openai"));
  expect(await sent()).toBe(long);
});

test.each([
  ["by its place", (place: number) => `Invalid 'tools[${place}].function.description': string too long.`],
  ["by its name", () => "Invalid schema for function 'bad_named': In context=('properties', 'a'), no."],
])("a tool that a vendor names %s is left out alone, and in the next turn from the beginning", async (how, words) => {
  const bad = clientTool("bad_named");
  const agentId = await agentOf({
    ...{ ...of("openai"), model: `openai/${how}` },
    clientTools: [clientTool("good_1"), bad, clientTool("good_2")],
  });
  alsoRefused = ({ tools }) => {
    const place = ((tools ?? []) as { function: { name: string } }[]).findIndex(
      (tool) => tool.function.name === bad.name,
    );
    return place === -1 ? null : words(place);
  };
  const asked = async () => {
    server.requests.length = 0;
    const said = await isMade(agentId);
    expect(textOf(said.chunks)).toBe("Said by openai.");
    expect(offered()).toEqual(["good_1", "good_2"]);
    expect((await record(said.turnId)).toolsLeftOut).toEqual([
      { tool: bad.name, reason: "The vendor refused a request with it." },
    ]);
    return server.requests.length;
  };
  expect([await asked(), await asked()]).toEqual([2, 1]);
  // It is another tool then.
  await change(agentId, {
    clientTools: [clientTool("good_1"), { ...bad, description: "Mended." }, clientTool("good_2")],
  });
  alsoRefused = () => null;
  await isMade(agentId);
  expect(offered()).toEqual(["good_1", "bad_named", "good_2"]);
});

test("a vendor that names ever other tools is asked a bounded number of times", async () => {
  const clientTools = ["a_1", "a_2", "a_3", "a_4", "a_5"].map((name) => clientTool(name));
  const agentId = await agentOf({ ...of("openai"), model: "openai/ever-other", clientTools });
  alsoRefused = ({ tools }) => (tools === undefined ? null : "tools[0].function.parameters: no.");
  server.requests.length = 0;
  const said = await isMade(agentId);
  alsoRefused = () => null;
  expect(textOf(said.chunks)).toBe("Said by openai.");
  expect(server.requests.map(({ body }) => body.tools?.length)).toEqual([5, 4, 3, undefined]);
});

test("a person's picture that a model does not take is told in words, in that turn and later ones", async () => {
  const agentId = await agentOf({ ...of("anthropic"), tools: ["memory"] });
  const url =
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
  const picture = () => {
    const { parts, ...rest } = userMessage("See.");
    return { ...rest, parts: [...parts, { type: "file", mediaType: "image/png", url }] } as never;
  };
  const first = await isMade(agentId, picture());
  expect(textOf(first.chunks)).toBe("Said by anthropic.");
  await change(agentId, of("groq"));
  alsoRefused = (body) =>
    JSON.stringify(body).includes("image_url") ? "unknown variant `image_url`, expected `text`" : null;
  for (const message of [userMessage("And?"), picture()]) {
    server.requests.length = 0;
    const said = await isMade(agentId, message, first.sessionId);
    expect(textOf(said.chunks)).toBe("Said by groq.");
    const { body } = server.requests.at(-1) as VendorRequest;
    expect([server.requests.length, body.tools?.length > 0]).toEqual([2, true]);
    expect(JSON.stringify(body.messages)).toContain("[image: not shown");
  }
  alsoRefused = () => null;
});
