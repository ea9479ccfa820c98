import type { Form } from "../../src/kernel/errors.ts";
import { form as multipart, skillMd, zip } from "../harness/archives.ts";
import type { ApiResponse } from "../harness/harness.ts";
import { fillMemories } from "../harness/seed.ts";
import { callOf, newEntry, skillZip } from "./calls.ts";
import { ask, missing } from "./causes.ts";
import { budgetBody, webhookBody } from "./outside.ts";
import { fillClientOrigins, fillClientTokens, fillMembers, freshName, png, type Scene } from "./scene.ts";
import { type Call, send } from "./world.ts";

const mib = 1024 * 1024;
const json = { "content-type": "application/json" };

/** A cap or the size of a file: the last request that is taken, and then the first that is not. */
type Bound = (s: Scene, op: string, form: Form) => Promise<{ last: ApiResponse; beyond: ApiResponse }>;

/** What is taken with one change and refused with another. */
const between =
  (last: (s: Scene) => Promise<Partial<Call>> | Partial<Call>, beyond: typeof last): Bound =>
  async (s, op, form) => ({
    last: await askPatiently(s, op, form, await last(s)),
    beyond: await ask(s, op, form, await beyond(s)),
  });

/** The largest request may take a busy machine longer than the service waits for its database: 503, to be asked again. */
async function askPatiently(...[s, op, form, change]: Parameters<typeof ask>): Promise<ApiResponse> {
  let response = await ask(s, op, form, change);
  for (let again = 0; again < 3 && response.status === 503; again += 1) response = await ask(s, op, form, change);
  return response;
}

/** A cap that is met by asking again and again, after all but one place were filled. */
const filled =
  (fill: (s: Scene) => Promise<Partial<Call>>): Bound =>
  async (s, op, form) => {
    const change = await fill(s);
    return { last: await ask(s, op, form, change), beyond: await ask(s, op, form, change) };
  };

async function times(count: number, make: () => Promise<unknown>): Promise<void> {
  for (let made = 0; made < count; made += 1) await make();
}

/** How many things a tenant's table holds. */
async function rowsOf(s: Scene, table: string): Promise<number> {
  const [row] = await s.sql`select count(*)::int as rows from ${s.sql(table)} where tenant_id = ${s.t.id}`;
  return row?.rows;
}

const upToOneLess = (table: string, cap: number, make: (s: Scene) => Promise<unknown>): Bound =>
  filled(async (s) => {
    await times(cap - 1 - (await rowsOf(s, table)), () => make(s));
    return {};
  });

/** A cap of a table that is filled by rows; they go again, because other tests need room. */
const filledByRows =
  (table: "workspaces" | "tasks", cap: number): Bound =>
  async (s, op, form) => {
    const agentId = await s.theAgent();
    const missing = cap - 1 - (await rowsOf(s, table));
    await (table === "workspaces"
      ? s.sql`insert into workspaces (id, tenant_id, name)
          select 'ws_' || lpad(n::text, 24, '0'), ${s.t.id}, 'filler' from generate_series(1, ${missing}::int) n`
      : s.sql`insert into tasks (id, tenant_id, agent_id, name, prompt)
          select 'tk_' || lpad(n::text, 24, '0'), ${s.t.id}, ${agentId}, 'filler', 'p' from generate_series(1, ${missing}::int) n`);
    const met = { last: await ask(s, op, form), beyond: await ask(s, op, form) };
    await s.sql`delete from ${s.sql(table)} where tenant_id = ${s.t.id} and name = 'filler'`;
    return met;
  };

const day = (date: number) => new Date(Date.UTC(2026, 0, date)).toISOString().slice(0, 10);
const template = (variables: number) => Array.from({ length: variables }, (_, n) => `{{v${n}}}`).join(" ");
const picture = (bytes: number) => {
  const file = new Uint8Array(bytes);
  file.set(png);
  return { body: multipart({ file }) };
};

/** A zip of exactly so many bytes, stored rather than compressed. */
function zipOf(bytes: number): Buffer {
  const make = (size: number) =>
    zip([
      { name: "SKILL.md", data: skillMd(name), method: 0 },
      { name: "big", data: new Uint8Array(size), method: 0 },
    ]);
  const name = freshName("s");
  return make(bytes - make(0).byteLength);
}
const archive = (file: Uint8Array) => ({ body: multipart({ type: "zip", file }) });
const entry = (file: Uint8Array) => ({ body: multipart({ file }) });

/** An archive whose files weigh exactly so much. */
function unpackedTo(bytes: number): Buffer {
  const name = freshName("s");
  return zip([
    { name: "SKILL.md", data: skillMd(name) },
    { name: "big", data: new Uint8Array(bytes - Buffer.byteLength(skillMd(name))) },
  ]);
}
const files = (count: number) =>
  Array.from({ length: count }, (_, n) => ({ name: `f${n}`, data: new Uint8Array([1]) }));

async function skillOf(s: Scene, file: Uint8Array) {
  const agentId = await s.theAgent();
  const made = await s.t.call("POST", `/v1/agents/${agentId}/skills/upload`, archive(file));
  return { agentId, skillId: made.body.id as string };
}

async function skillWeight(s: Scene, { agentId, skillId }: { agentId: string; skillId: string }): Promise<number> {
  const { body } = await s.t.call("GET", `/v1/agents/${agentId}/skills/${skillId}`);
  return body.files.reduce((sum: number, { sizeBytes }: { sizeBytes: number }) => sum + sizeBytes, 0);
}

/** A workspace whose files count and weigh so much. */
async function workspaceWith(s: Scene, count: number, bytes: number): Promise<Partial<Call>> {
  const workspaceId = await s.newWorkspace();
  await s.sql`
    insert into workspace_files (workspace_id, path, content, size)
    select ${workspaceId}, 'f' || number, 'x'::bytea, ${Math.floor(bytes / count)} from generate_series(1, ${count}::int) as number`;
  return { params: { workspaceId } };
}

/** JSON that nests so deep, its outermost object included. */
const nested = (levels: number): object => (levels === 1 ? {} : { k: nested(levels - 1) });
/** A body with so many values. */
function withValues(values: number): object {
  const around = { message: { id: "m", role: "user", parts: [] as object[] } };
  const list = Array(values - countOf(around) - 7).fill(0);
  around.message.parts.push({ type: "text", text: "hi", list });
  if (countOf(around) !== values) throw new Error(`It has ${countOf(around)} values.`);
  return around;
}

/** The values of JSON: each key, text, number, object and array. */
function countOf(value: unknown): number {
  if (typeof value !== "object" || value === null) return 1;
  const fields = Object.values(value).reduce((sum: number, field) => sum + countOf(field), 1);
  return Array.isArray(value) ? fields : fields + Object.keys(value).length;
}
const markdown = (name: string, description?: string) => ({ body: { content: skillMd(name, description) } });
const items = (count: number) => Array.from({ length: count }, () => ({ role: "user", content: "hi" }));
const functions = (count: number) => Array.from({ length: count }, (_, n) => ({ type: "function", name: `f${n}` }));
const servers = (s: Scene) =>
  s.once("servers", async () => {
    const ids: string[] = [];
    await times(50, async () => ids.push(await s.newMcp()));
    return ids;
  });
const path = (bytes: number) => ({ query: { path: "é".repeat(bytes / 2) + "x".repeat(bytes % 2) } });

const prices = (count: number) =>
  Array.from({ length: count }, (_, n) => ({ model: `m-${n}`, inputUsd: "1", outputUsd: "2" }));

/** How each cap and file size of the table is met. */
export const bounds: Readonly<Record<string, Bound>> = {
  "agents per tenant": upToOneLess("agents", 100, (s) => s.parley.agents.create({ name: freshName() })),
  "prompts per tenant": upToOneLess("prompts", 100, (s) => s.newPrompt()),
  "workspaces per tenant": filledByRows("workspaces", 1_000),
  "tasks per tenant": filledByRows("tasks", 1_000),
  "prices of a tenant": between(
    () => ({ body: { prices: prices(500) } }),
    () => ({ body: { prices: prices(501) } }),
  ),
  "variables per prompt": between(
    () => ({ body: { template: template(10) } }),
    () => ({ body: { template: template(11) } }),
  ),
  "bytes of a JSON body": async (s, op, form) => {
    const { body, ...call } = await callOf(s, op, form);
    const padded = (bytes: number) => ({ ...call, body: JSON.stringify(body).padEnd(bytes), headers: json });
    return { last: await send(s.t, op, form, padded(8 * mib)), beyond: await send(s.t, op, form, padded(8 * mib + 1)) };
  },
  "values of a JSON body": async (s, op, form) => {
    const call = await callOf(s, op, form);
    const ask = (values: number) => send(s.t, op, form, { ...call, body: withValues(values) });
    return { last: await ask(100_000), beyond: await ask(100_001) };
  },
  "items of an input": between(
    () => ({ body: { input: items(2_000) } }),
    () => ({ body: { input: items(2_001) } }),
  ),
  "tools of a response": between(
    () => ({ body: { tools: functions(50) } }),
    () => ({ body: { tools: functions(51) } }),
  ),
  // The body is the first level.
  "levels of JSON": between(
    () => ({ body: { metadata: nested(64) } }),
    () => ({ body: { metadata: nested(65) } }),
  ),
  "MCP connections of an agent": between(
    async (s) => ({ body: { mcpConnectionIds: await servers(s) } }),
    async (s) => ({ body: { mcpConnectionIds: [...(await servers(s)), missing("mcp")] } }),
  ),
  "characters of a skill's name": between(
    () => markdown("n".repeat(200)),
    () => markdown("n".repeat(201)),
  ),
  "characters of a skill's description": between(
    () => markdown(freshName(), "😀".repeat(4_096)),
    () => markdown(freshName(), "😀".repeat(4_097)),
  ),
  "skills per library": filled(async (s) => {
    await times(199, () => newEntry(s));
    return { body: entry(skillZip()).body };
  }),
  "bytes of a path": between(
    () => path(1_024),
    () => path(1_025),
  ),
  "memories per agent": filled(async (s) => {
    const agentId = await s.newAgent();
    await fillMemories(s.w.h, s.t, agentId, 499);
    return { params: { agentId } };
  }),
  "skills per agent": filled(async (s) => {
    const agentId = await s.newAgent();
    await times(99, () => s.newSkill(agentId));
    return { params: { agentId } };
  }),
  "keys per tenant": async (s, _, form) => {
    await times(3, () => s.parley.apiKeys.create({ name: freshName() }));
    const make = () => s.t.call("POST", "/v1/apikeys", { form, body: { name: freshName() } });
    return { last: await make(), beyond: await make() };
  },
  "members per tenant": async (s, _, form) => {
    await fillMembers(s, 999);
    const make = () => s.t.call("POST", "/v1/members", { form, body: { email: `${freshName()}@a.b`, role: "reader" } });
    return { last: await make(), beyond: await make() };
  },
  "valid client tokens per tenant": filled(async (s) => {
    const agentId = await s.theAgent();
    await fillClientTokens(s, agentId, 19_999);
    return { body: { agentId } };
  }),
  "origins of a tenant's client tokens": async (s, op, form) => {
    const agentId = await s.theAgent();
    await fillClientOrigins(s, agentId, 9_999);
    const make = (origin: string) => send(s.t, op, form, { body: { agentId, userId: "anna", origins: [origin] } });
    return { last: await make("https://last.example.com"), beyond: await make("https://beyond.example.com") };
  },
  "providers per tenant": async (s, _, form) => {
    await times(19, () => s.newProvider());
    const body = { providerType: "openai", apiKey: "sk-0123456789" };
    const make = () => s.t.call("POST", "/v1/providers", { form, body: { name: freshName(), ...body } });
    return { last: await make(), beyond: await make() };
  },
  "MCP connections per tenant": upToOneLess("mcp_connections", 50, (s) =>
    s.newMcp({ authType: "oauth_authorization_code" }),
  ),
  "chat connections per tenant": async (s, _, form) => {
    const agentId = await s.theAgent();
    const make = () => {
      const { token: botToken, signingSecret } = s.w.slack.install();
      const body = { name: "n", agentId, platform: "chat_a", credentials: { botToken, signingSecret } };
      return s.t.call("POST", "/v1/chat-connections", { form, body });
    };
    await times(19, make);
    return { last: await make(), beyond: await make() };
  },
  "webhooks per tenant": async (s, _, form) => {
    const make = () => s.t.call("POST", "/v1/webhooks", { form, body: webhookBody(s) });
    await times(19, make);
    return { last: await make(), beyond: await make() };
  },
  "budgets per tenant": async (s, _, form) => {
    const make = () => s.t.call("POST", "/v1/budgets", { form, body: budgetBody() });
    await times(99, make);
    return { last: await make(), beyond: await make() };
  },
  "days of a range": between(
    () => ({ query: { from: day(1), to: day(31) } }),
    () => ({ query: { from: day(1), to: day(32) } }),
  ),
  avatar: between(
    () => picture(512 * 1024),
    () => picture(512 * 1024 + 1),
  ),
  "POST /v1/agents/:agentId/skills/upload archive": between(
    () => archive(zipOf(10 * mib)),
    () => archive(zipOf(10 * mib + 1)),
  ),
  archive: between(
    () => entry(zipOf(10 * mib)),
    () => entry(zipOf(10 * mib + 1)),
  ),
  "POST /v1/skills unpacked": between(
    () => entry(unpackedTo(10 * mib)),
    () => entry(unpackedTo(10 * mib + 1)),
  ),
  "POST /v1/skills files of an archive": between(
    () => entry(skillZip(freshName(), files(99))),
    () => entry(skillZip(freshName(), files(100))),
  ),
  unpacked: between(
    () => archive(unpackedTo(10 * mib)),
    () => archive(unpackedTo(10 * mib + 1)),
  ),
  "files of an archive": between(
    () => archive(skillZip(freshName(), files(99))),
    () => archive(skillZip(freshName(), files(100))),
  ),
  "files of a skill": async (s, op, form) => {
    const params = await skillOf(s, skillZip(freshName(), files(98)));
    const at = (path: string) => ask(s, op, form, { params, query: { path } });
    return { last: await at("last"), beyond: await at("beyond") };
  },
  "all files of a skill": async (s, op, form) => {
    const params = await s.newSkill();
    const room = 10 * mib - (await skillWeight(s, params));
    const write = (bytes: number) => ask(s, op, form, { params, query: { path: "big" }, body: new Uint8Array(bytes) });
    return { last: await write(room), beyond: await write(room + 1) };
  },
  file: between(
    () => ({ body: new Uint8Array(10 * mib) }),
    () => ({ body: new Uint8Array(10 * mib + 1) }),
  ),
  "files of a workspace": async (s, op, form) => {
    const at = await workspaceWith(s, 9_999, 9_999);
    const write = (path: string) => ask(s, op, form, { ...at, query: { path } });
    return { last: await write("last"), beyond: await write("beyond") };
  },
  "bytes of a workspace": async (s, op, form) => {
    const at = await workspaceWith(s, 1, 100 * mib - 3);
    const write = (path: string, bytes: number) =>
      ask(s, op, form, { ...at, query: { path }, body: new Uint8Array(bytes) });
    return { last: await write("last", 3), beyond: await write("beyond", 1) };
  },
};

/** Ids that differ, of agents that are not there. */
export const missingAgents = (count: number): string[] =>
  Array.from({ length: count }, (_, n) => missing("ag").slice(0, -2) + String(n).padStart(2, "0"));
