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
const refusals: string[] = [];
const server = startVendor((request) => {
  // The list of models.
  if (request.body === null) return new Response("no", { status: 404 });
  const { type, judge } = vendors[ofPath(request)];
  const hasRefused = [...refused].some((name) => JSON.stringify(request.body.tools ?? []).includes(name));
  const words = hasRefused ? "Invalid schema for function." : judge(request.body);
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
