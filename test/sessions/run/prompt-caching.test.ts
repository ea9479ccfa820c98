import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import type { AgentCreate } from "parley/client";
import { call, message, said, thought } from "../../harness/anthropic-events.ts";
import { skillMd } from "../../harness/archives.ts";
import { useTenant } from "../../harness/fixture.ts";
import { makeProvider, userMessage } from "../../harness/seed.ts";
import { idle, play, sessionPath } from "../../harness/turns.ts";
import { startVendor, type VendorRequest } from "../../servers/vendor.ts";
import { vendorWords } from "../../servers/vendor-answers.ts";

/** What vendors' caches go by: what a request marks is, byte for byte, what the next one of its session begins with. */

const { h, t } = await useTenant();
let workers = await h.startWorkers();

type Respond = () => Response;
/** What the next requests get; a text where nothing is left. */
const next: Respond[] = [];
const vendor = startVendor(({ path, body }: VendorRequest) => {
  if (body === null) return new Response("no", { status: 404 });
  const protocol = path.includes("/messages")
    ? "anthropic"
    : path.includes("streamGenerateContent")
      ? "google"
      : "custom";
  return next.shift()?.() ?? vendorWords[protocol].text("Fine.");
});
afterAll(() => vendor.stop());
// biome-ignore lint/suspicious/noExplicitAny: tests look into requests freely.
const sent = (to = "/messages"): any[] =>
  vendor.requests.filter(({ path, body }) => body !== null && path.includes(to)).map(({ body }) => body);
beforeEach(() => {
  next.length = 0;
  vendor.requests.length = 0;
});

const at = async (providerType: "custom" | "anthropic" | "openrouter" | "google", model: string) => ({
  providerId: (await makeProvider(h, t, { providerType, baseUrl: `${vendor.url}/v1` })).id,
  model,
});
const claude = await at("anthropic", "anthropic/claude-sonnet-4-5");
const routed = await at("openrouter", "anthropic/claude-sonnet-4.5");
const custom = await at("custom", "model");
const instructions = "You answer briefly.";
const agentOf = (fields: Partial<AgentCreate> = {}) =>
  t.parley.agents
    .create({ name: crypto.randomUUID(), ...claude, instructions, tools: ["memory", "write_todos"], ...fields })
    .then(({ id }) => id);
const ask = async (agentId: string, sessionId: string | null, text = "And now?") =>
  (await play(t, agentId, sessionId, { message: userMessage(text) })).sessionId;

/** A block of a request as the vendor reads it, without its mark. */
interface Block {
  readonly text: string;
  readonly isMarked: boolean;
  readonly kind: "tool" | "system" | "message";
}

/** A request as the vendor's cache goes by it: tools, system texts, messages, block by block. */
// biome-ignore lint/suspicious/noExplicitAny: the body of a request.
function blocksOf({ tools = [], system = [], messages }: any): Block[] {
  const block = (kind: Block["kind"], { cache_control: mark, ...rest }: { cache_control?: object }, more = "") => ({
    ...{ kind, text: more + JSON.stringify(rest), isMarked: mark !== undefined },
  });
  return [
    ...tools.map((tool: object) => block("tool", tool)),
    ...system.map((text: object) => block("system", text)),
    ...messages.flatMap(({ role, content }: { role: string; content: object[] }) =>
      content.map((part) => block("message", part, `${role}: `)),
    ),
  ];
}

/** Returns what of a request is not where the next one has it: of what is marked up to a kind of block. */
function broken(before: object, after: object, upTo: Block["kind"] = "message"): string[] {
  const [old, now] = [blocksOf(before), blocksOf(after)];
  const kinds = { tool: ["tool"], system: ["tool", "system"], message: ["tool", "system", "message"] }[upTo];
  const last = old.findLastIndex(({ isMarked, kind }) => isMarked && kinds.includes(kind));
  if (last === -1) return ["nothing is marked"];
  return old.slice(0, last + 1).flatMap(({ text }, index) => (text === now[index]?.text ? [] : [`${index}: ${text}`]));
}

/** Each request of a session goes on where the one before it ended. */
function expectGrowing(bodies: readonly object[], upTo: Block["kind"] = "message"): void {
  expect(bodies.length).toBeGreaterThan(1);
  for (const [index, body] of bodies.entries()) {
    const marked = blocksOf(body).filter(({ isMarked }) => isMarked);
    expect(marked.length).toBeLessThanOrEqual(4);
    expect(blocksOf(body).at(-1)?.isMarked).toBe(true);
    const after = bodies[index + 1];
    if (after !== undefined) expect([index, broken(body, after, upTo)]).toEqual([index, []]);
  }
}

const save = (text: string) => call(1, `toolu_${text}`, "memory_save", JSON.stringify({ text }));

describe("what is marked at Anthropic", () => {
  test("is the tools, the instructions and the newest message", async () => {
    await ask(await agentOf(), null);
    const marked = blocksOf(sent()[0]).filter(({ isMarked }) => isMarked);
    expect(marked.map(({ kind }) => kind)).toEqual(["tool", "system", "message"]);
    expect(JSON.stringify(sent()[0].tools.at(-1).cache_control)).toBe('{"type":"ephemeral"}');
  });

  test("is nothing with `off`, and the newest message alone where there is nothing else", async () => {
    await ask(await agentOf({ promptCaching: "off" }), null);
    await ask(await agentOf({ instructions: "", tools: [] }), null);
    const [off, bare] = sent();
    expect(JSON.stringify(off)).not.toContain("cache_control");
    expect(blocksOf(bare).map(({ isMarked }) => isMarked)).toEqual([true]);
  });

  test("is the same by OpenRouter, whose client marks no tools", async () => {
    const agentId = await agentOf(routed);
    await ask(agentId, await ask(agentId, null));
    const [body, after] = sent("/chat/completions");
    expect(body.messages[0].content[0]).toMatchObject({ text: instructions, cache_control: { type: "ephemeral" } });
    expect(body.messages.at(-1).content[0]).toMatchObject({ cache_control: { type: "ephemeral" } });
    expect(after.messages[0]).toEqual(body.messages[0]);
    expect(after.tools).toEqual(body.tools);
  });
});

describe("what a request marks is what the next one begins with", () => {
  test.each([
    ["texts", () => {}],
    ["a tool's call", () => next.push(message("tool_use", said(0, "Let me."), save("tea")))],
    ["a call alone", () => next.push(message("tool_use", save("tea")))],
    [
      "two calls at once, of which one fails",
      () => next.push(message("tool_use", save("tea"), call(2, "toolu_2", "memory_save", "{}"))),
    ],
    ["a tool that nobody has", () => next.push(message("tool_use", call(0, "toolu_1", "nothing", '{"a":1}')))],
    ["thoughts", () => next.push(message("tool_use", thought(0, "hm"), save("tea")))],
    [
      "many steps",
      () => next.push(message("tool_use", save("1")), message("tool_use", save("2")), message("tool_use", save("3"))),
    ],
  ] as const)("over turns with %s", async (_what, prepare) => {
    const agentId = await agentOf();
    prepare();
    let sessionId = await ask(agentId, null);
    prepare();
    sessionId = await ask(agentId, sessionId);
    await ask(agentId, sessionId);
    expectGrowing(sent());
  });

  test.each([true, false])("over a call that a person decided on (approved: %p)", async (approved) => {
    const agentId = await agentOf({ approvalInChat: { default: "manual" } });
    next.push(message("tool_use", said(0, "May I?"), save("tea")));
    const sessionId = await ask(agentId, null);
    const path = sessionPath(agentId, sessionId, "/tool-approvals");
    const { approvals } = (await t.call("GET", path)).body;
    await t.call("POST", `${path}/${approvals[0].id}`, { body: { approved, reason: "So." } });
    await idle(h, sessionId);
    await ask(agentId, sessionId);
    expectGrowing(sent());
  });

  test("over a call that the agent's policy denies", async () => {
    const overrides = [{ tool: "memory_save", mcpConnectionId: null, mode: "deny" as const }];
    const agentId = await agentOf({ approvalInChat: { default: "full", overrides } });
    next.push(message("tool_use", said(0, "I will."), save("tea")));
    await ask(agentId, await ask(agentId, null));
    expectGrowing(sent());
  });

  test("over skills, and a worker that takes another's place", async () => {
    const agentId = await agentOf({ tools: [] });
    await t.parley.skills.create(agentId, { path: "SKILL.md", content: skillMd("tides") });
    const sessionId = await ask(agentId, null);
    await workers.drain(5_000);
    workers = await h.startWorkers();
    await ask(agentId, sessionId);
    expectGrowing(sent());
    expect(JSON.stringify(sent()[0].system)).toContain("tides");
  });

  test("over a turn that a fallback answered", async () => {
    const agentId = await agentOf({ fallbackModels: [custom] });
    const sessionId = await ask(agentId, null);
    next.push(() => new Response("{}", { status: 503 }));
    await ask(agentId, sessionId);
    await ask(agentId, sessionId);
    expectGrowing(sent());
    expect(sent("/chat/completions")).toHaveLength(1);
  });
});

describe("what breaks it, leaves what is before as it was", () => {
  test("a memory that a turn saves: tools and instructions", async () => {
    const agentId = await agentOf({ memoryInjectionEnabled: true });
    next.push(message("tool_use", save("tea")));
    const sessionId = await ask(agentId, null);
    next.push(message("tool_use", save("rum")));
    await ask(agentId, sessionId);
    await ask(agentId, sessionId);
    expectGrowing(sent(), "system");
    const [first, , second, , third] = sent().map(({ system }) => system.map(({ text }: { text: string }) => text));
    expect([first.length, second.length, third.length]).toEqual([1, 2, 2]);
    expect(second[0]).toBe(third[0]);
    // The new one stands behind the old one.
    expect(third[1]).toStartWith(second[1]);
  });

  test("a summary: tools and instructions, and from then on all", async () => {
    // 128,000 tokens is what an unknown model has; Claude has more.
    const agentId = await agentOf({ ...claude, compactionReserveTokens: 199_000 });
    const long = "lorem ".repeat(300);
    let sessionId = await ask(agentId, null, long);
    for (const text of [long, long, "x", "y"]) sessionId = await ask(agentId, sessionId, text);
    const asked = sent().filter((body) => !JSON.stringify(body).includes("Summarise the conversation"));
    expect(asked.length).toBeLessThan(sent().length);
    expectGrowing(asked, "system");
  });
});

describe("vendors without marks", () => {
  test("get what begins as the turn before, and no mark", async () => {
    const agentId = await agentOf(custom);
    next.push(() => vendorWords.custom.call("memory_save", { text: "tea" }));
    const sessionId = await ask(agentId, null);
    await ask(agentId, sessionId);
    const bodies = sent("/chat/completions");
    for (const [index, { messages, tools }] of bodies.slice(0, -1).entries()) {
      expect(bodies[index + 1].tools).toEqual(tools);
      expect(JSON.stringify(bodies[index + 1].messages)).toStartWith(JSON.stringify(messages).slice(0, -1));
    }
    expect(JSON.stringify(bodies)).not.toMatch(/cache_control|prompt_cache_key/);
  });
});

const locate = {
  name: "locate",
  description: "Where the user is.",
  inputSchema: { type: "object" as const, properties: {}, additionalProperties: false },
};

/** Settles the call of a client tool that a session waits for, and waits for what follows. */
async function settle(agentId: string, sessionId: string): Promise<void> {
  const path = sessionPath(agentId, sessionId, "/tool-calls");
  const { toolCalls } = (await t.call("GET", path)).body;
  const settled = await t.call("POST", `${path}/${toolCalls[0].toolCallId}`, { body: { output: { city: "Lisbon" } } });
  expect(settled.status).toBe(202);
  await idle(h, sessionId);
}

describe("client tools", () => {
  test("stand among the agent's, and their results go on with what was marked", async () => {
    const agentId = await agentOf({ clientTools: [locate] });
    next.push(message("tool_use", said(0, "Let me."), call(1, "toolu_1", "locate", "{}")));
    const sessionId = await ask(agentId, null);
    await settle(agentId, sessionId);
    await ask(agentId, sessionId);
    expectGrowing(sent());
  });

  test("of a request stand behind the agent's, change what comes after them, and are as they were in the next one", async () => {
    const agentId = await agentOf();
    const tools = [{ type: "function", name: "look", description: "", parameters: { type: "object", properties: {} } }];
    const respond = async (fields: object) => {
      const { status, body } = await t.call("POST", "/v1/responses", {
        body: { model: agentId, input: "Hi.", ...fields },
      });
      expect(status).toBe(200);
      return body.id;
    };
    const first = await respond({});
    const second = await respond({ tools, previous_response_id: first });
    await respond({ tools, previous_response_id: second });
    const [plain, more, again] = sent();
    expect(broken(plain, more, "tool")).toEqual([]);
    expect(broken(plain, more, "system")).not.toEqual([]);
    expect(broken(more, again)).toEqual([]);
  });
});

describe("Google, which caches by the beginning and takes no mark", () => {
  test("gets what begins the same: tools, instructions and contents, over tools and client tools", async () => {
    const gemini = await at("google", "gemini-2.5-pro");
    const agentId = await agentOf({ ...gemini, clientTools: [locate] });
    next.push(() => vendorWords.google.call("memory_save", { text: "tea" }));
    const sessionId = await ask(agentId, null);
    next.push(() => vendorWords.google.call("locate"));
    await ask(agentId, sessionId);
    await settle(agentId, sessionId);
    await ask(agentId, sessionId);
    const bodies = sent("streamGenerateContent");
    expect(bodies.length).toBe(5);
    for (const [index, { tools, systemInstruction, contents }] of bodies.entries()) {
      const after = bodies[index + 1];
      if (after === undefined) continue;
      const begun = { ...after, contents: after.contents.slice(0, contents.length) };
      expect([index, JSON.stringify([begun.tools, begun.systemInstruction, begun.contents])]).toEqual([
        index,
        JSON.stringify([tools, systemInstruction, contents]),
      ]);
    }
    expect(JSON.stringify(bodies)).not.toContain("cache");
  });
});
