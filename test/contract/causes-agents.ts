import { createManagedAgent } from "../../src/agents/managed.ts";
import { form as multipart, skillMd, zip } from "../harness/archives.ts";
import { skillZip, theListed } from "./calls.ts";
import { ask, type Cause, changed, missing } from "./causes.ts";
import { freshName, png, type Scene } from "./scene.ts";

const create = "POST /v1/agents";
const update = "PUT /v1/agents/:agentId";
const draft = "POST /v1/agents/:agentId/drafts";
const avatar = "POST /v1/agents/:agentId/avatar";
const both = [create, update];
const each = [...both, draft];
const closed = "http://127.0.0.1:9/v1";

const theManaged = (s: Scene) => s.once("managed", () => createManagedAgent(s.sql, s.t.id));
/** Another agent's name. */
const takenName = async (s: Scene) => (await s.t.call("GET", `/v1/agents/${await s.theAgent()}`)).body.name;

const saves: readonly Cause[] = [
  changed(each, "400 model_not_found | 400 invalid_request", async (_, s) => ({
    body: { providerId: await theListed(s), model: "openai/nope" },
  })),
  changed(each, "400 agent_mcp_connection_not_found | 400 invalid_request", () => ({
    body: { mcpConnectionIds: [missing("mcp")] },
  })),
  changed(each, "400 agent_mcp_connections_invalid | 400 invalid_request", async (_, s) => ({
    body: { mcpConnectionIds: [await s.theMcp(), await s.theMcp()] },
  })),
  changed(each, "400 mcp_connection_discovery_failed | -", async (_, s) => {
    const mcpConnectionId = await s.theSignIn();
    const rule = { default: "full", overrides: [{ tool: "echo", mcpConnectionId, mode: "manual" }] };
    return { body: { mcpConnectionIds: [mcpConnectionId], approvalInChat: rule } };
  }),
  changed(each, "404 provider_not_found | 400 invalid_request", () => ({
    body: { providerId: missing("prv"), model: "simulated/model" },
  })),
  changed(both, "404 workspace_not_found | 400 invalid_request", (_, _s, form) => ({
    body: form === "a" ? { sandboxId: missing("sb") } : { workspaceId: missing("ws") },
  })),
  {
    ops: both,
    row: "409 agent_name_conflict | 400 invalid_request",
    async meet(s, form, op) {
      const params = op === update ? { params: { agentId: await s.newAgent() } } : {};
      return ask(s, op, form, { ...params, body: { name: await takenName(s) } });
    },
  },
  changed(both, "- | 409 SANDBOX_REQUIRED", () => ({
    body: { tools: ["file_operation_sandbox"], sandboxId: null },
  })),
  {
    ops: [draft],
    row: "- | 409 SANDBOX_REQUIRED",
    async meet(s, form) {
      const { body } = await ask(s, create, "a", {});
      return ask(s, draft, form, { params: { agentId: body.id }, body: { tools: ["file_operation_sandbox"] } });
    },
  },
  {
    ops: both,
    row: "- | 409 SANDBOX_IN_USE",
    async meet(s, form, op) {
      const sandboxId = await s.newSandbox();
      await ask(s, create, "a", { body: { sandboxId } });
      return ask(s, op, form, { body: { sandboxId } });
    },
  },
  changed(each, "503 model_validation_unavailable", async (_, s) => ({
    body: { providerId: await theDeaf(s), model: "openai/gpt-4o-mini" },
  })),
];

/** A provider whose models cannot be listed. */
const theDeaf = (s: Scene) => s.once("deaf", () => s.newProvider({ providerType: "openai", baseUrl: closed }));

const managed: Cause = {
  ops: [
    update,
    draft,
    "DELETE /v1/agents/:agentId",
    "POST /v1/agents/:agentId/disable",
    "POST /v1/agents/:agentId/enable",
    avatar,
    "DELETE /v1/agents/:agentId/avatar",
  ],
  row: "409 admin_agent_managed | 409 ADMIN_AGENT_MANAGED",
  meet: async (s, form, op) => ask(s, op, form, { params: { agentId: await theManaged(s) } }),
};

const pictures: readonly Cause[] = [
  changed([avatar], "400 invalid_request", () => ({ body: multipart({ other: png }) })),
  changed([avatar], "413 invalid_request", () => ({
    body: multipart({ file: new Uint8Array(512 * 1024 + 1).fill(1) }),
  })),
  changed([avatar], "415 invalid_request", () => ({ body: multipart({ file: new Uint8Array([1, 2, 3, 4]) }) })),
];

const skill = "/v1/agents/:agentId/skills/:skillId";
const makeSkill = "POST /v1/agents/:agentId/skills";
const upload = "POST /v1/agents/:agentId/skills/upload";
const write = `PUT ${skill}/files`;
const tooLarge = "413 skill_uncompressed_too_large | 413 invalid_request";
const tooMany = "400 skill_too_many_files | 400 invalid_request";
const ten = 10 * 1024 * 1024;
const many = (count: number) => Array.from({ length: count }, (_, n) => ({ name: `f${n}`, data: new Uint8Array([1]) }));
const archive = (file: Uint8Array) => ({ body: multipart({ type: "zip", file }) });

/** The agent's other skill's name, taken. */
async function takenSkill(s: Scene): Promise<string> {
  const { agentId } = await s.theSkill();
  const { body } = await s.t.call("GET", `/v1/agents/${agentId}/skills/${(await s.theSkill()).skillId}`);
  return body.name;
}

/** An agent with as many skills as it may have. */
const theFull = (s: Scene) =>
  s.once("full", async () => {
    const agentId = await s.newAgent();
    await s.sql`
      insert into agent_skills (id, tenant_id, agent_id, name, description, created_at, updated_at)
      select 'skill_' || lpad(number::text, 24, '0'), ${s.t.id}, ${agentId}, 'filler ' || number, 'd', now(), now()
      from generate_series(1, 100) as number`;
    return agentId;
  });

const skills: readonly Cause[] = [
  changed([makeSkill], "400 skill_invalid_markdown | 400 invalid_request", () => ({
    body: { content: "no frontmatter" },
  })),
  changed([upload], "400 skill_invalid_markdown | 400 invalid_request", () =>
    archive(zip([{ name: "SKILL.md", data: "none" }])),
  ),
  changed([write], "400 skill_invalid_markdown | 400 invalid_request", () => ({
    query: { path: "SKILL.md" },
    body: new TextEncoder().encode("no frontmatter"),
  })),
  changed([upload], "400 skill_invalid_archive | 400 invalid_request", () => archive(new Uint8Array([1, 2, 3]))),
  changed([upload], tooMany, () => archive(skillZip(freshName(), many(100)))),
  changed([write], tooMany, async (_, s) => ({ params: { ...(await theCrowded(s)) } })),
  changed([makeSkill, upload], "400 skill_limit_reached | 400 invalid_request", async (_, s) => ({
    params: { agentId: await theFull(s) },
  })),
  changed([makeSkill], "409 skill_name_conflict | 400 invalid_request", async (_, s) => ({
    body: { content: skillMd(await takenSkill(s)) },
  })),
  changed([upload], "409 skill_name_conflict | 400 invalid_request", async (_, s) =>
    archive(skillZip(await takenSkill(s))),
  ),
  changed([write], "409 skill_name_conflict | 400 invalid_request", async (_, s) => ({
    params: { ...(await s.newSkill()) },
    query: { path: "SKILL.md" },
    body: new TextEncoder().encode(skillMd(await takenSkill(s))),
  })),
  changed([upload], tooLarge, () => archive(skillZip(freshName(), [{ name: "big", data: new Uint8Array(ten) }]))),
  changed([write], tooLarge, () => ({ body: new Uint8Array(ten) })),
  changed([upload], "413 payload_too_large", () => archive(new Uint8Array(ten + 1))),
  changed(["GET /v1/agents/:agentId/skills/:skillId/files"], "404 not_found", () => ({ query: { path: "none.md" } })),
];

/** A skill with as many files as it may have. */
const theCrowded = (s: Scene) =>
  s.once("crowded", async () => {
    const agentId = await s.theAgent();
    const made = await s.t.call("POST", `/v1/agents/${agentId}/skills/upload`, {
      body: multipart({ type: "zip", file: skillZip(freshName(), many(99)) }),
    });
    return { agentId, skillId: made.body.id as string };
  });

const library = ["POST /v1/skills", "PUT /v1/skills/:skillId"];
/** A skill that the operator published. */
const thePlatforms = (s: Scene) =>
  s.once("platform", async () => {
    const id = s.newRowId("skill");
    await s.sql`insert into library_skills (id, tenant_id, name) values (${id}, null, 'Platform')`;
    return id;
  });
const entries: readonly Cause[] = [
  changed(library, "400 invalid_request", () => ({ body: multipart({ file: new Uint8Array([1, 2, 3]) }) })),
  changed(library, "413 payload_too_large", () => ({ body: multipart({ file: new Uint8Array(ten + 1) }) })),
  changed(["PUT /v1/skills/:skillId", "DELETE /v1/skills/:skillId"], "403 invalid_request", async (_, s) => ({
    params: { skillId: await thePlatforms(s) },
  })),
];

/** Errors of agents, their pictures and versions, and of skills. */
export const agentCauses: readonly Cause[] = [
  ...saves,
  managed,
  ...pictures,
  changed(["GET /v1/agents/:agentId/versions/:version"], "404 not_found | 404 AGENT_VERSION_NOT_FOUND", () => ({
    params: { version: "99" },
  })),
  {
    ops: [create],
    row: "400 invalid_request",
    alone: true,
    async meet(s, form, op) {
      for (let made = 0; made < 100; made += 1) await s.parley.agents.create({ name: `filler ${made}` });
      return ask(s, op, form);
    },
  },
  ...skills,
  ...entries,
];
