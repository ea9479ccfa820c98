import { afterAll, describe, expect, test } from "bun:test";
import { updateAgent } from "../../src/agents/change.ts";
import type { FindMcpTool } from "../../src/agents/confirmations.ts";
import { builtInTools, newMcpRules, policyIssues } from "../../src/agents/policy.ts";
import { type AgentConfig, type AgentFields, configDefaults } from "../../src/agents/schema.ts";
import { ApiError } from "../../src/kernel/errors.ts";
import { type IdOf, newId } from "../../src/kernel/ids.ts";
import { listen } from "../../src/kernel/runtime.ts";
import { createProvider } from "../../src/providers/store.ts";
import type { ApprovalOverride } from "../../src/tools/policy.ts";
import { useTenant } from "../harness/fixture.ts";
import type { ApiResponse } from "../harness/harness.ts";

const mcp = newId("mcpConnection");
const rule = (
  tool: string,
  mcpConnectionId: IdOf<"mcpConnection"> | null = null,
  mode: ApprovalOverride["mode"] = "manual",
) => ({
  tool,
  mcpConnectionId,
  mode,
});
const config = (fields: Partial<AgentConfig>, ...overrides: ApprovalOverride[]): AgentConfig => ({
  ...configDefaults,
  name: "x",
  approvalInChat: { default: "full", overrides },
  ...fields,
});
const paths = (agent: AgentConfig, hasSkill = false) => policyIssues(agent, hasSkill).map(({ path }) => path);

describe("policyIssues", () => {
  test("a built-in tool must be one that the agent's groups or skills give it", () => {
    for (const tool of ["read", "write", "edit", "list", "glob", "grep", "bash"]) {
      expect(paths(config({ tools: ["workspace"] }, rule(tool)))).toEqual([]);
      expect(paths(config({ tools: ["memory", "write_todos"] }, rule(tool)))).toEqual([
        "/approvalInChat/overrides/0/tool",
      ]);
    }
    for (const tool of ["memory_save", "memory_search", "memory_update", "memory_delete"])
      expect(paths(config({ tools: ["memory"] }, rule(tool)))).toEqual([]);
    expect(paths(config({ tools: ["write_todos"] }, rule("write_todos")))).toEqual([]);
    for (const tool of ["activate_skill", "read"]) {
      expect(paths(config({}, rule(tool)), true)).toEqual([]);
      expect(paths(config({}, rule(tool)), false)).toEqual(["/approvalInChat/overrides/0/tool"]);
    }
    expect(paths(config({ tools: ["workspace"] }, rule("activate_skill")))).toHaveLength(1);
    expect(paths(config({ tools: ["workspace", "memory", "write_todos"] }, rule("toString")), true)).toHaveLength(1);
    expect([...builtInTools(["workspace", "write_todos", "memory"], true)]).toHaveLength(13);
  });

  test("a connection must be attached; no tool twice; one name on two servers is two tools", () => {
    const other = newId("mcpConnection");
    expect(paths(config({ mcpConnectionIds: [mcp] }, rule("read", mcp)))).toEqual([]);
    expect(paths(config({}, rule("read", mcp)))).toEqual(["/approvalInChat/overrides/0/mcpConnectionId"]);
    const tools: AgentConfig["tools"] = ["workspace"];
    const both = { tools, mcpConnectionIds: [mcp, other] };
    expect(paths(config(both, rule("read"), rule("read", mcp), rule("read", other)))).toEqual([]);
    expect(paths(config(both, rule("read"), rule("bash"), rule("read", null, "deny")))).toEqual([
      "/approvalInChat/overrides/2",
    ]);
    const inTasks = { approvalInTasks: { default: "full" as const, overrides: [rule("bash")] } };
    expect(paths(config(inTasks))).toEqual(["/approvalInTasks/overrides/0/tool"]);
  });

  test("newMcpRules: only tools that no rule named before", () => {
    const before = config({ mcpConnectionIds: [mcp] }, rule("a", mcp));
    expect(newMcpRules(null, before).map(({ tool }) => tool)).toEqual(["a"]);
    const after = config({ mcpConnectionIds: [mcp] }, rule("a", mcp, "deny"), rule("b", mcp), rule("a"));
    expect(newMcpRules(before, after)).toEqual([
      { path: "/approvalInChat/overrides/1/tool", mcpConnectionId: mcp, tool: "b" },
    ]);
  });
});

const { h, t } = await useTenant();
const data = ["openai/gpt-5", "openai/gpt-4o"].map((id) => ({ id }));
const listServer = listen({ hostname: "127.0.0.1", port: 0, fetch: async () => Response.json({ data }) });
afterAll(() => listServer.stop(true));

let named = 0;
async function made(fields: object = {}) {
  const response = await t.call("POST", "/v1/agents", { body: { name: `agent ${++named}`, ...fields } });
  expect([response.status, response.body.error]).toEqual([201, undefined]);
  return response.body;
}
const put = (id: string, body: object) => t.call("PUT", `/v1/agents/${id}`, { body });
const error = ({ status, body }: ApiResponse) => [status, body.error?.code, body.error?.details?.issues?.[0]?.path];

async function connection(): Promise<IdOf<"mcpConnection">> {
  const id = newId("mcpConnection");
  await h.sql`insert into mcp_connections (id, tenant_id, name, url, auth_type, status)
    values (${id}, ${t.id}, ${id}, 'https://mcp.test', 'none', 'connected')`;
  return id;
}

/** Updates in form B, with an own way to ask MCP servers. */
function update(id: string, fields: AgentFields, findMcpTool: FindMcpTool) {
  const rules = { defaultModel: null, makesWorkspace: true, exclusiveWorkspace: false, modelAlone: false };
  return updateAgent({ ctx: h.ctx, sql: h.sql, tenantId: t.id, actor: null, rules, findMcpTool }, id, fields);
}

describe("approval policies of agents", () => {
  test("200: replaced as a whole; a missing overrides clears the list; mcpConnectionId may be left out", async () => {
    const agent = await made({
      tools: ["workspace"],
      approvalInChat: { overrides: [{ tool: "bash", mode: "deny" }] },
      approvalInTasks: { default: "manual" },
    });
    expect(agent.approvalInChat).toEqual({ default: "full", overrides: [rule("bash", null, "deny")] });
    expect(agent.approvalInTasks).toEqual({ default: "manual", overrides: [] });
    const kept = await put(agent.id, { instructions: "x" });
    expect(kept.body.approvalInChat).toEqual(agent.approvalInChat);
    const cleared = await put(agent.id, { approvalInChat: { default: "auto" } });
    expect(cleared.body.approvalInChat).toEqual({ default: "auto", overrides: [] });
    expect(cleared.body.approvalInTasks).toEqual(agent.approvalInTasks);
  });

  test("400 validation_failed: a rule that is not valid, and a later change that would leave one", async () => {
    const overrides = (...rules: object[]) => ({ approvalInChat: { default: "full", overrides: rules } });
    for (const [fields, path] of [
      [overrides(rule("bash")), "/approvalInChat/overrides/0/tool"],
      [overrides({ ...rule("x"), mode: "never" }), "/approvalInChat/overrides/0/mode"],
      [overrides({ tool: "x" }), "/approvalInChat/overrides/0/mode"],
      [overrides({ ...rule("x"), extra: 1 }), "/approvalInChat/overrides/0/extra"],
      [overrides(rule("")), "/approvalInChat/overrides/0/tool"],
      [overrides(rule("x", newId("mcpConnection"))), "/approvalInChat/overrides/0/mcpConnectionId"],
      [{ ...overrides(rule("bash"), rule("bash")), tools: ["workspace"] }, "/approvalInChat/overrides/1"],
    ] as const)
      expect(error(await t.call("POST", "/v1/agents", { body: { name: "x", ...fields } }))).toEqual([
        400,
        "validation_failed",
        path,
      ]);
    const agent = await made({ tools: ["workspace", "memory"], ...overrides(rule("bash"), rule("memory_save")) });
    expect(error(await put(agent.id, { tools: ["workspace"] }))).toEqual([
      400,
      "validation_failed",
      "/approvalInChat/overrides/1/tool",
    ]);
    const inA = await t.call("PUT", `/v1/agents/${agent.id}`, { body: { tools: [] }, form: "a" });
    expect([inA.status, inA.body.error.code]).toEqual([400, "invalid_request"]);
    expect((await put(agent.id, { tools: ["memory"], ...overrides(rule("memory_save")) })).status).toBe(200);
  });

  test("400 mcp_connection_discovery_failed: the server cannot be asked; nothing is saved", async () => {
    const id = await connection();
    const fields = { mcpConnectionIds: [id], approvalInChat: { default: "full", overrides: [rule("search", id)] } };
    const response = await t.call("POST", "/v1/agents", { body: { name: "unasked", ...fields } });
    expect([response.status, response.body.error.code]).toEqual([400, "mcp_connection_discovery_failed"]);
    const [left] = await h.sql`select count(*)::int as n from agents where name = 'unasked'`;
    expect(left?.n).toBe(0);
  });

  test("an MCP tool is looked up when a rule first names it, not again while the rule stays; detaching is refused", async () => {
    const id = await connection();
    const agent = await made({ mcpConnectionIds: [id] });
    const asked: string[] = [];
    const find: FindMcpTool = async (tenantId, connectionId, tool) => {
      asked.push([tenantId === t.id, connectionId === id, tool].join());
      return tool === "search";
    };
    const overrides = (...rules: ApprovalOverride[]) => ({
      approvalInTasks: { default: "auto" as const, overrides: rules },
    });
    const saved = await update(agent.id, overrides(rule("search", id)), find);
    expect([saved.version, asked]).toEqual([2, ["true,true,search"]]);
    const failed = await update(agent.id, overrides(rule("search", id), rule("other", id)), find).catch((e) => e);
    expect(failed).toBeInstanceOf(ApiError);
    expect(failed.details.issues[0].path).toBe("/approvalInTasks/overrides/1/tool");
    expect((await put(agent.id, overrides(rule("search", id, "deny")))).status).toBe(200);
    expect(error(await put(agent.id, { mcpConnectionIds: [] }))).toEqual([
      400,
      "validation_failed",
      "/approvalInTasks/overrides/0/mcpConnectionId",
    ]);
    expect((await put(agent.id, { mcpConnectionIds: [], ...overrides() })).status).toBe(200);
  });

  test("an update that came between is judged too: what it left unconfirmed is confirmed before anything is saved", async () => {
    const id = await connection();
    const providerId = newId("provider");
    const sealedKey = h.ctx.sealer.seal("key", providerId);
    const baseUrl = `http://127.0.0.1:${listServer.port}`;
    const provider = { id: providerId, name: "p", providerType: "router_vendor" as const, baseUrl, keyFragment: "" };
    await createProvider(h.sql, t.id, { ...provider, sealedKey });
    const agent = await made({ mcpConnectionIds: [id], providerId, model: "openai/gpt-5" });
    let between = 0;
    const find: FindMcpTool = async () => {
      between++;
      expect((await put(agent.id, { thinkingLevel: "low" })).status).toBe(200);
      return true;
    };
    const approvalInChat = { default: "full" as const, overrides: [rule("search", id)] };
    const failed = await update(agent.id, { model: "openai/gpt-4o", approvalInChat }, find).catch((e) => e);
    expect(failed.details?.issues[0].path).toBe("/thinkingLevel");
    const now = (await t.call("GET", `/v1/agents/${agent.id}`)).body;
    expect([between, now.version, now.model, now.thinkingLevel]).toEqual([1, 2, "openai/gpt-5", "low"]);
  });
});
