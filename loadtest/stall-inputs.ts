/**
 * The worst inputs that strangers may send, a row each: what `stalls.ts` sends one after the other. A row that is refused stays in
 * the table: that it is refused at once is what it shows. To add one: its name and a function that sends it and says what came back.
 */
import { slackEvent, slackRequest } from "../test/servers/slack.ts";
import type { startPlatforms } from "./platforms.ts";
import { calling, mcpSays, type Says, saying, startStranger, streamOf } from "./stall-servers.ts";
import type { Stand, StandTenant } from "./stand.ts";

/** What a row may use. The tenant is its own. */
export interface Stage {
  readonly stand: Stand;
  readonly tenant: StandTenant;
  readonly platforms: Awaited<ReturnType<typeof startPlatforms>>;
  readonly opened: AsyncDisposableStack;
}

/** One input. */
export interface StallInput {
  readonly name: string;
  /** Sends it, and returns what came back: a status, or what became of a turn. */
  readonly send: (stage: Stage) => Promise<string>;
}

const mib = 1024 * 1024;
const sendMs = 150_000;
const filled = (piece: string, bytes: number) => piece.repeat(Math.floor(bytes / piece.length)).slice(0, -1);
const ones = (count: number) => `[${Array(count).fill(1).join(",")}]`;

/** Sends JSON, as a text where it is one; returns the status and, of an error, the code. */
async function ask({ stand, tenant }: Stage, method: string, path: string, body?: unknown): Promise<string> {
  const response = await fetch(`${stand.url}${path}`, {
    method,
    headers: { "content-type": "application/json", authorization: `Bearer ${tenant.apiKey}` },
    signal: AbortSignal.timeout(sendMs),
    ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
  }).catch(() => null);
  if (response === null) return "no response";
  const text = await response.text().catch(() => "");
  const code = /"code":"(\w+)"/.exec(text)?.[1];
  return response.ok || code === undefined ? String(response.status) : `${response.status} ${code}`;
}

const message = (text: string, id = "m1") => ({ id, role: "user", parts: [{ type: "text", text }] });

const turn = (stage: Stage, agentId: string, fields: object = {}) =>
  ask(stage, "POST", `/v1/agents/${agentId}/sessions`, { message: message("x"), stream: false, ...fields });

/** Makes an agent whose model is a stranger's server. */
async function agentOf(stage: Stage, says: Says, fields: object = {}, type = "custom"): Promise<string> {
  const origin = await startStranger(stage.opened, (body, path) =>
    path.endsWith("/models") ? null : says(body, path),
  );
  const { call } = stage.tenant;
  const baseUrl = `${origin}/v1`;
  const { id } = await call("POST", "/v1/providers", {
    name: "stranger",
    providerType: type,
    baseUrl,
    apiKey: "sk-own",
  });
  return (await call("POST", "/v1/agents", { name: "stranger", model: "m", providerId: id, ...fields })).id;
}

/** A turn whose answer has to fit a schema. */
function answered(schema: object, answer: string) {
  return async (stage: Stage) => {
    const agentId = await agentOf(stage, () => saying(answer));
    return turn(stage, agentId, { responseFormat: { type: "json_schema", schema } });
  };
}

function connectionAt(name: string, list: () => string, fields: object = {}) {
  return async (stage: Stage) => {
    const url = `${await startStranger(stage.opened, mcpSays({ list }))}/mcp`;
    return ask(stage, "POST", "/v1/mcp-connections", { name, url, authType: "none", ...fields });
  };
}

const goodTool = JSON.stringify({ tools: [{ name: "look", description: "d", inputSchema: { type: "object" } }] });

/** A turn of an agent with an MCP server that is good at first; then its list, or the result of a call, is the hostile one. */
function mcpTurn({ list = goodTool, result = "{}" }: { list?: string; result?: string }) {
  return async (stage: Stage) => {
    let isHostile = false;
    const says = mcpSays({ list: () => (isHostile ? list : goodTool), result });
    const url = `${await startStranger(stage.opened, says)}/mcp`;
    const { id } = await stage.tenant.call("POST", "/v1/mcp-connections", { name: "m", url, authType: "none" });
    let calls = 0;
    const model: Says = () => (list === goodTool && calls++ === 0 ? calling("m__look", ["{}"]) : saying("done"));
    const agentId = await agentOf(stage, model, { mcpConnectionIds: [id] });
    isHostile = true;
    return turn(stage, agentId);
  };
}

function skill(yaml: string) {
  return (stage: Stage) =>
    ask(stage, "POST", `/v1/agents/${stage.tenant.agentId}/skills`, {
      path: "SKILL.md",
      content: `---\nname: a\ndescription: b\n${yaml}\n---\nx`,
    });
}

/** Thirty requests at once, as one tenant may send them; what the last one got. */
const thirty = (send: (stage: Stage) => Promise<string>) => async (stage: Stage) =>
  (await Promise.all(Array.from({ length: 30 }, () => send(stage)))).at(-1) ?? "";

/** A chat message whose answer is this text; it is over when the answer was posted, or nothing comes any more. */
function chatAnswer(text: string) {
  return async (stage: Stage) => {
    const agentId = await agentOf(stage, () => saying(text));
    const connected = (await stage.platforms.connect(stage.tenant.call, agentId)) as {
      slack: { url: string; bot: Parameters<typeof slackEvent>[0] };
    };
    const { url, bot } = connected.slack;
    const said = {
      type: "message",
      channel_type: "im",
      channel: "D1",
      user: "U2",
      ts: `${Date.now() / 1000}`,
      text: "x",
    };
    const posted = () => Object.values(stage.platforms.posts()).reduce((sum, count) => sum + count, 0);
    const before = posted();
    const response = await fetch(slackRequest(bot, `${stage.stand.url}${url}`, slackEvent(bot, said)));
    for (let waited = 0; waited < 12_000 && posted() === before; waited += 100) await pause(100);
    // A long answer is posted in several messages.
    await pause(4_000);
    return `${response.status}, ${posted() - before} posted`;
  };
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** A session with messages of this size, whose pages are read. */
function pages(text: string, messages: number) {
  return async (stage: Stage) => {
    const agentId = await agentOf(stage, () => saying("yes"));
    const made = await stage.tenant.call("POST", `/v1/agents/${agentId}/sessions`, {
      message: message(text),
      stream: false,
    });
    const sessionId = made?.sessionId ?? (await stage.tenant.call("GET", `/v1/agents/${agentId}/sessions`)).data[0].id;
    const path = `/v1/agents/${agentId}/sessions/${sessionId}`;
    for (let n = 2; n <= messages; n++)
      await stage.tenant.call("POST", path, { message: message(text, `m${n}`), stream: false });
    return thirty((each) => ask(each, "GET", `${path}/messages?limit=200`))(stage);
  };
}

/** A turn whose model makes many calls of a tool that nobody has; then its messages are read eight times at once. */
function manyCalls(count: number, lists: number) {
  return async (stage: Stage) => {
    const input = `{"a":[${filled("[],", 3 * lists)}]}`;
    const call = (index: number) => ({
      tool_calls: [{ index, id: `c${index}`, type: "function", function: { name: "nope", arguments: input } }],
    });
    const said = streamOf(
      Array.from({ length: count }, (_, index) => call(index)),
      "tool_calls",
    );
    let calls = 0;
    const agentId = await agentOf(stage, () => (calls++ === 0 ? said : saying("done")));
    const ended = await turn(stage, agentId);
    const { data } = await stage.tenant.call("GET", `/v1/agents/${agentId}/sessions`);
    const path = `/v1/agents/${agentId}/sessions/${data[0].id}/messages`;
    const read = await Promise.all(Array.from({ length: 8 }, () => ask(stage, "GET", path)));
    return `${ended}, read ${new Set(read).size === 1 ? read[0] : read.join()}`;
  };
}

const names = (count: number) => Array.from({ length: count }, (_, n) => `(?<g${n.toString(36)}>)`).join("");
const enumOf = (count: number) => ({ enum: [...Array(count - 1).fill(2), 1] });

/** All rows. */
export const stallInputs: readonly StallInput[] = [
  {
    name: "schema: 7,000 types, answer of 240,000 numbers",
    send: answered({ type: "array", items: { type: [...Array(7_000).fill("object"), "number"] } }, ones(240_000)),
  },
  {
    name: "schema: 28 enums of 1,000, answer of 90,000 numbers",
    send: answered({ type: "array", items: { allOf: Array(28).fill(enumOf(1_000)) } }, ones(90_000)),
  },
  {
    name: "schema: 17 large patterns, answer of a text",
    send: answered(
      { anyOf: Array.from({ length: 17 }, (_, n) => ({ pattern: `${"[^\\p{L}\\p{N}]{1000}".repeat(70)}${n}` })) },
      '"x"',
    ),
  },
  {
    name: "schema: a pattern of 8,000 named groups",
    send: (stage) =>
      turn(stage, stage.tenant.agentId, {
        responseFormat: { type: "json_schema", schema: { pattern: `${names(8_000).slice(0, 64_000)}(` } },
      }),
  },
  {
    name: "client tools: 50 patterns of named groups",
    send: (stage) => {
      const inputSchema = { type: "object", properties: { a: { pattern: names(1_900) } } };
      const clientTools = Array.from({ length: 50 }, (_, n) => ({ name: `t${n}`, description: "", inputSchema }));
      return ask(stage, "POST", "/v1/agents", { name: "n", clientTools });
    },
  },
  {
    name: "MCP: list of 300,000 empty tools, at a new connection",
    send: connectionAt("m", () => `{"tools":[${filled("{},", 0.9 * mib)}]}`),
  },
  {
    name: "MCP: list of 900,000 empty tools, at a new connection",
    send: connectionAt("m", () => `{"tools":[${filled("{},", 2.6 * mib)}]}`),
  },
  {
    name: "MCP: list of 300,000 empty tools, in a turn",
    send: mcpTurn({ list: `{"tools":[${filled("{},", 0.9 * mib)}]}` }),
  },
  {
    name: "MCP: result of 300,000 unknown blocks",
    send: mcpTurn({ result: `{"content":[${filled('{"type":"x"},', 3.7 * mib)}]}` }),
  },
  {
    name: "OAuth: metadata of 90,000 odd values",
    send: async (stage) => {
      const odd = `[${filled("{},", 0.25 * mib)}]`;
      const says: Says = () => ({
        text: `{"issuer":1,"scopes_supported":${odd},"response_types_supported":${odd}}`.slice(0, 250_000),
      });
      const url = `${await startStranger(stage.opened, says)}/mcp`;
      const oauth = { authType: "oauth_client_credentials", clientId: "c", clientSecret: "s" };
      return ask(stage, "POST", "/v1/mcp-connections", { name: "m", url, ...oauth });
    },
  },
  {
    name: "compaction: an answer of 12 MiB in one document",
    send: async (stage) => {
      const big = {
        text: `{"id":"x","object":"chat.completion","created":1,"model":"m","choices":[${filled("{},", 12 * mib)}]}`,
      };
      const says: Says = ({ stream }) => (stream === true ? saying("yes") : big);
      const agentId = await agentOf(stage, says, { autoCompaction: true, compactionReserveTokens: 2_000_000_000 });
      await turn(stage, agentId);
      const { data } = await stage.tenant.call("GET", `/v1/agents/${agentId}/sessions`);
      return ask(stage, "POST", `/v1/agents/${agentId}/sessions/${data[0].id}`, {
        message: message("y", "m2"),
        stream: false,
      });
    },
  },
  {
    name: "models: 30 readings of pages of 8 MiB",
    send: async (stage) => {
      let page = 0;
      const says: Says = () => ({
        text: `{"data":[${filled("[],", 7.9 * mib)}],"has_more":true,"last_id":"${page++}"}`,
      });
      const baseUrl = await startStranger(stage.opened, says);
      const fields = { name: "s", providerType: "anthropic", baseUrl, apiKey: "sk-own-0123456789" };
      const { id } = await stage.tenant.call("POST", "/v1/providers", fields);
      return thirty((each) => ask(each, "GET", `/v1/providers/${id}/models`))(stage);
    },
  },
  { name: "frontmatter: 15,000 brackets, 30 at once", send: thirty(skill(`metadata: ${"[".repeat(15_000)}`)) },
  {
    name: "frontmatter: 1,500 keys, 30 at once",
    send: thirty(skill(`metadata:\n${Array.from({ length: 1_500 }, (_, n) => `  k${n}: v`).join("\n")}`)),
  },
  {
    name: "answer: 60,000 thoughts and texts in turn",
    send: async (stage) => {
      const deltas = Array.from({ length: 120_000 }, (_, n) =>
        n % 2 === 0 ? { reasoning_content: "x" } : { content: "y" },
      );
      const said = streamOf(deltas);
      return turn(stage, await agentOf(stage, () => said));
    },
  },
  {
    name: "answer: a tool's input of 10 MiB of small lists",
    send: async (stage) => {
      const piece = "[],".repeat(200_000);
      const said = calling("memory_save", ['{"text":[', ...Array(17).fill(piece), "[]]}"]);
      let calls = 0;
      return turn(stage, await agentOf(stage, () => (calls++ === 0 ? said : saying("done")), { tools: ["memory"] }));
    },
  },
  { name: "answer: 128 calls, inputs of 14,000 lists each", send: manyCalls(128, 14_000) },
  { name: "answer: 1,000 calls, inputs of 700 lists each", send: manyCalls(1_000, 700) },
  { name: "answer: 15 calls, inputs of 95,000 lists each", send: manyCalls(15, 95_000) },
  {
    name: "answer: OpenRouter's, 40 events of 30,000 thoughts each",
    send: async (stage) => {
      const delta = { reasoning_details: Array(30_000).fill({ type: "reasoning.summary" }) };
      const said = streamOf([...Array(40).fill(delta), { content: "x" }]);
      return turn(stage, await agentOf(stage, () => said, {}, "openrouter"));
    },
  },
  {
    name: "answer: OpenRouter's, a tool's input of 1 MiB in 20,000 pieces, its index a billion",
    send: async (stage) => {
      const piece = (text: string, more = {}) => ({
        tool_calls: [{ index: 1e9, ...more, function: { ...more, arguments: text } }],
      });
      const first = piece('{"text":"', { id: "c", type: "function", name: "memory_save" });
      const said = streamOf([first, ...Array(20_000).fill(piece("x".repeat(50))), piece('"}')]);
      let calls = 0;
      const says: Says = () => (calls++ === 0 ? said : saying("done"));
      return turn(stage, await agentOf(stage, says, { tools: ["memory"] }, "openrouter"));
    },
  },
  {
    name: "answer: an event of 340,000 empty choices",
    send: async (stage) => {
      const said = `data: {"id":"x","choices":[${filled("{},", 1_020_000)}]}\n\ndata: [DONE]\n\n`;
      return turn(stage, await agentOf(stage, () => ({ text: said, type: "text/event-stream" })));
    },
  },
  {
    name: "cron: 64 that never match",
    send: async (stage) => {
      const schedule = { kind: "cron", config: { expression: "* * 31 2,4,6,9,11 *", timezone: "America/New_York" } };
      const body = { agentId: stage.tenant.agentId, name: "n", prompt: "p", schedule };
      const all = Array.from({ length: 60 }, () => ask(stage, "POST", "/v1/tasks", body));
      return (await Promise.all(all)).at(-1) ?? "";
    },
  },
  { name: "chat: an answer of 120 KiB of lists in quotes", send: chatAnswer(`${"> - ".repeat(1_020)}\n\n`.repeat(30)) },
  { name: "chat: an answer of 120 KiB of open links", send: chatAnswer("[a](".repeat(30_000)) },
  { name: "messages: 30 readings of pages of 6 MiB messages", send: pages("x ".repeat(3 * mib), 4) },
  {
    name: "responses: a call's arguments of 8 MiB of small lists",
    send: (stage) => {
      const input = [
        { type: "function_call", call_id: "c", name: "f", arguments: `[${filled("[],", 7.9 * mib)}]` },
        { type: "function_call_output", call_id: "c", output: "x" },
        { role: "user", content: "go" },
      ];
      return ask(stage, "POST", "/v1/responses", { model: stage.tenant.agentId, store: false, input });
    },
  },
  {
    name: "body: 24,000 wrong parts",
    send: (stage) =>
      turn(stage, stage.tenant.agentId, {
        message: { id: "m", role: "user", parts: Array(24_000).fill({ type: "nope" }) },
      }),
  },
  {
    name: "body: 49,000 unknown fields",
    send: (stage) =>
      ask(stage, "POST", "/v1/agents", Object.fromEntries(Array.from({ length: 49_000 }, (_, n) => [`f${n}`, 1]))),
  },
];
