import { describe, expect, test } from "bun:test";
import { newId } from "../../src/kernel/ids.ts";
import { sandboxIdOf } from "../../src/workspaces/sandbox-id.ts";
import { useTenant } from "../harness/fixture.ts";
import type { ApiResponse, TestTenant } from "../harness/harness.ts";

const { h, t } = await useTenant();

let named = 0;
const name = () => `agent ${++named}`;

/** Creates an agent and returns it. Fails the test when it is not created. */
async function made(tenant: TestTenant, fields: object = {}, form: "a" | "b" = "b") {
  const response = await tenant.call("POST", "/v1/agents", { body: { name: name(), ...fields }, form });
  expect([response.status, response.body.error]).toEqual([201, undefined]);
  return response.body;
}

async function workspace(tenant: TestTenant): Promise<string> {
  const id = newId("workspace");
  await h.sql`insert into workspaces (id, tenant_id, name) values (${id}, ${tenant.id}, 'w')`;
  return id;
}

async function connection(tenant: TestTenant): Promise<string> {
  const id = newId("mcpConnection");
  await h.sql`insert into mcp_connections (id, tenant_id, name, url, auth_type, status)
    values (${id}, ${tenant.id}, ${id}, 'https://mcp.test', 'none', 'connected')`;
  return id;
}

const error = ({ status, body }: ApiResponse) => [status, body.error?.code, body.error?.details?.issues?.[0]?.path];
const policy = { default: "full", overrides: [] };

describe("POST /v1/agents", () => {
  test("201 in form B: every default, and a workspace of its own", async () => {
    const agent = await made(t, { name: "defaults" });
    expect(agent).toEqual({
      id: expect.stringMatching(/^ag_[0-9a-z]{24}$/),
      tenantId: t.id,
      name: "defaults",
      model: null,
      thinkingLevel: null,
      providerId: null,
      workspaceId: expect.stringMatching(/^ws_[0-9a-z]{24}$/),
      tools: [],
      clientTools: [],
      autoCompaction: true,
      compactionReserveTokens: 16384,
      memoryInjectionEnabled: false,
      instructions: "",
      userId: "",
      metadata: {},
      mcpConnectionIds: [],
      avatarUrl: null,
      approvalInChat: policy,
      approvalInTasks: policy,
      fallbackModels: [],
      turnLimits: {},
      modelSettings: {},
      promptCaching: "auto",
      version: 1,
      status: "active",
      createdAt: expect.stringMatching(/^\d{4}-.*Z$/),
      updatedAt: agent.createdAt,
    });
    const read = await t.call("GET", `/v1/agents/${agent.id}`);
    expect([read.status, read.body]).toEqual([200, agent]);
  });

  test("201 in form A: its own fields and defaults, readable in B with workspaceId null", async () => {
    const agent = await made(t, { name: "in a" }, "a");
    expect(agent).toEqual({
      id: expect.stringMatching(/^ag_/),
      tenantId: t.id,
      name: "in a",
      model: "openai/gpt-4o-mini",
      providerId: null,
      sandboxId: null,
      skills: [],
      tools: [],
      memoryInjectionEnabled: false,
      instructions: "",
      userId: "",
      metadata: {},
      mcpConnectionIds: [],
      avatarUrl: null,
      version: 1,
      status: "active",
      createdAt: expect.any(String),
      updatedAt: agent.createdAt,
    });
    const inB = await t.call("GET", `/v1/agents/${agent.id}`, { form: "b" });
    expect(inB.body).toMatchObject({ workspaceId: null, model: "openai/gpt-4o-mini", autoCompaction: true });
    expect(inB.body.skills).toBeUndefined();
  });

  test("201: every field as sent, metadata in its order, the workspace shown with both prefixes", async () => {
    const workspaceId = await workspace(t);
    const fields = {
      name: name(),
      workspaceId,
      tools: ["workspace", "write_todos", "memory"],
      autoCompaction: false,
      compactionReserveTokens: 0,
      memoryInjectionEnabled: true,
      instructions: "😀".repeat(3000),
      userId: "u-1",
      metadata: { z: 1, a: { "": [null, 1.5, "x"] } },
      approvalInChat: { default: "auto", overrides: [{ tool: "bash", mcpConnectionId: null, mode: "deny" }] },
      approvalInTasks: { default: "manual", overrides: [] },
    };
    const agent = await made(t, fields);
    expect(agent).toMatchObject(fields);
    expect(JSON.stringify(agent.metadata)).toBe(JSON.stringify(fields.metadata));
    const inA = await t.call("GET", `/v1/agents/${agent.id}`, { form: "a" });
    expect(inA.body.sandboxId).toBe(sandboxIdOf(workspaceId));
    expect(inA.body.tools).toEqual(["file_operation_sandbox", "write_todos", "memory"]);
    for (const field of ["workspaceId", "thinkingLevel", "autoCompaction", "approvalInChat"])
      expect(inA.body[field]).toBeUndefined();
  });

  test("201: names count characters, 80 emoji are 80; instructions and tools may be empty", async () => {
    const agent = await made(t, { name: "😀".repeat(80) });
    expect(agent.name).toBe("😀".repeat(80));
  });

  test.each([
    ["name missing", { name: undefined }, "/name"],
    ["name empty", { name: "" }, "/name"],
    ["name too long", { name: "😀".repeat(81) }, "/name"],
    ["name null", { name: null }, "/name"],
    ["name NUL", { name: "a\0b" }, "/name"],
    ["instructions too long", { instructions: "x".repeat(3001) }, "/instructions"],
    ["instructions null", { instructions: null }, "/instructions"],
    ["tool group unknown", { tools: ["bash"] }, "/tools/0"],
    ["tool group of form A", { tools: ["file_operation_sandbox"] }, "/tools/0"],
    ["tool group twice", { tools: ["memory", "memory"] }, "/tools"],
    ["reserve negative", { compactionReserveTokens: -1 }, "/compactionReserveTokens"],
    ["reserve not whole", { compactionReserveTokens: 1.5 }, "/compactionReserveTokens"],
    ["autoCompaction text", { autoCompaction: "true" }, "/autoCompaction"],
    ["memoryInjectionEnabled null", { memoryInjectionEnabled: null }, "/memoryInjectionEnabled"],
    ["metadata array", { metadata: [] }, "/metadata"],
    ["metadata null", { metadata: null }, "/metadata"],
    ["userId number", { userId: 1 }, "/userId"],
    ["workspaceId null", { workspaceId: null }, "/workspaceId"],
    ["workspaceId malformed", { workspaceId: "ws_1" }, "/workspaceId"],
    ["providerId malformed", { providerId: "x", model: "a/b" }, "/providerId"],
    ["model without provider", { model: "a/b" }, "/providerId"],
    ["provider without model", { providerId: newId("provider") }, "/model"],
    ["model empty", { model: "", providerId: newId("provider") }, "/model"],
    ["thinking without model", { thinkingLevel: "high" }, "/thinkingLevel"],
    ["thinking empty", { thinkingLevel: "" }, "/thinkingLevel"],
    ["policy null", { approvalInChat: null }, "/approvalInChat"],
    ["policy mode", { approvalInChat: { default: "deny" } }, "/approvalInChat/default"],
    ["policy field", { approvalInChat: { default: "full", x: 1 } }, "/approvalInChat/x"],
    ["unknown field", { extra: 1 }, "/extra"],
    ["form A's skills", { skills: [] }, "/skills"],
    ["form A's sandboxId", { sandboxId: null }, "/sandboxId"],
    ["version is not for callers", { version: 2 }, "/version"],
  ])("400 validation_failed: form B, %s", async (_case, fields, path) => {
    const response = await t.call("POST", "/v1/agents", { body: { name: "x", ...fields } });
    expect(error(response)).toEqual([400, "validation_failed", path]);
  });

  test.each([
    ["workspaceId", { workspaceId: newId("workspace") }, "/workspaceId"],
    ["thinkingLevel", { thinkingLevel: null }, "/thinkingLevel"],
    ["autoCompaction", { autoCompaction: true }, "/autoCompaction"],
    ["compactionReserveTokens", { compactionReserveTokens: 1 }, "/compactionReserveTokens"],
    ["approvalInChat", { approvalInChat: policy }, "/approvalInChat"],
    ["approvalInTasks", { approvalInTasks: policy }, "/approvalInTasks"],
    ["turnLimits", { turnLimits: {} }, "/turnLimits"],
    ["fallbackModels", { fallbackModels: [] }, "/fallbackModels"],
    ["tool group of form B", { tools: ["workspace"] }, "/tools/0"],
    ["model without separator", { model: "gpt" }, "/model"],
    ["model with nothing behind it", { model: "openai/" }, "/model"],
    ["sandboxId malformed", { sandboxId: newId("workspace") }, "/sandboxId"],
    ["sandbox that is not there", { sandboxId: `sb_${"0".repeat(24)}` }, "/sandboxId"],
    ["skills malformed", { skills: ["x"] }, "/skills/0"],
    ["skill that is not there", { skills: [newId("skill")] }, "/skills/0"],
    ["provider that is not there", { providerId: newId("provider") }, "/providerId"],
    ["unknown field", { extra: 1 }, "/extra"],
  ])("400 invalid_request: form A, %s", async (_case, fields, path) => {
    const response = await t.call("POST", "/v1/agents", { body: { name: "x", ...fields }, form: "a" });
    expect(error(response)).toEqual([400, "invalid_request", path]);
  });

  test.each(["x", "openai/", "/gpt-5", "", 5])(
    "400 invalid_request: form A, a model %j says which form is expected",
    async (model) => {
      const response = await t.call("POST", "/v1/agents", { body: { name: "x", model }, form: "a" });
      expect(error(response)).toEqual([400, "invalid_request", "/model"]);
      expect(JSON.stringify(response.body)).toContain(
        "must be a vendor, a slash and the vendor's name of the model, such as openai/gpt-5-mini",
      );
    },
  );

  test("404 provider_not_found, workspace_not_found; 400 agent_mcp_connection_not_found, agent_mcp_connections_invalid: references", async () => {
    const other = await h.tenant();
    const [foreignWorkspace, foreignConnection] = [await workspace(other), await connection(other)];
    const own = await connection(t);
    const cases: [object, number, string, string][] = [
      [{ providerId: newId("provider"), model: "a/b" }, 404, "provider_not_found", "/providerId"],
      [{ workspaceId: foreignWorkspace }, 404, "workspace_not_found", "/workspaceId"],
      [{ workspaceId: newId("workspace") }, 404, "workspace_not_found", "/workspaceId"],
      [{ mcpConnectionIds: [own, foreignConnection] }, 400, "agent_mcp_connection_not_found", "/mcpConnectionIds/1"],
      [{ mcpConnectionIds: [own, own] }, 400, "agent_mcp_connections_invalid", "/mcpConnectionIds"],
    ];
    for (const [fields, status, code, path] of cases) {
      const inB = await t.call("POST", "/v1/agents", { body: { name: "x", ...fields } });
      expect(error(inB)).toEqual([status, code, path]);
    }
    const inA = await t.call("POST", "/v1/agents", { body: { name: "x", mcpConnectionIds: [own, own] }, form: "a" });
    expect(error(inA)).toEqual([400, "invalid_request", "/mcpConnectionIds"]);
    const [left] = await h.sql`select count(*)::int as n from agents where name = 'x'`;
    expect(left?.n).toBe(0);
  });

  test("409 SANDBOX_REQUIRED, SANDBOX_IN_USE: form A; form B shares a workspace", async () => {
    const required = await t.call("POST", "/v1/agents", {
      body: { name: name(), tools: ["file_operation_sandbox"] },
      form: "a",
    });
    expect(error(required)).toEqual([409, "SANDBOX_REQUIRED", "/tools"]);
    const workspaceId = await workspace(t);
    const sandboxId = sandboxIdOf(workspaceId);
    const responses = await Promise.all(
      Array.from({ length: 6 }, () => t.call("POST", "/v1/agents", { body: { name: name(), sandboxId }, form: "a" })),
    );
    expect(responses.filter(({ status }) => status === 201)).toHaveLength(1);
    const refused = responses.filter(({ status }) => status === 409);
    expect(refused.map(({ body }) => body.error.code)).toEqual(Array(5).fill("SANDBOX_IN_USE"));
    expect(await made(t, { workspaceId })).toMatchObject({ workspaceId });
  });

  test("201 in form A: library skills of the tenant and of the platform, not of another tenant", async () => {
    const other = await h.tenant();
    const [own, platform, foreign] = [newId("skill"), newId("skill"), newId("skill")];
    await h.sql`insert into library_skills (id, tenant_id, name) values
      (${own}, ${t.id}, 'own'), (${platform}, null, 'platform'), (${foreign}, ${other.id}, 'foreign')`;
    expect((await made(t, { skills: [own, platform] }, "a")).skills).toEqual([own, platform]);
    const response = await t.call("POST", "/v1/agents", { body: { name: "x", skills: [own, foreign] }, form: "a" });
    expect(error(response)).toEqual([400, "invalid_request", "/skills/1"]);
  });

  test("409 agent_name_conflict (A: 400 invalid_request): 10 at once of one name make one agent", async () => {
    const body = { name: name() };
    const responses = await Promise.all(Array.from({ length: 10 }, () => t.call("POST", "/v1/agents", { body })));
    expect(responses.filter(({ status }) => status === 201)).toHaveLength(1);
    for (const response of responses.filter(({ status }) => status !== 201))
      expect([response.status, response.body.error.code]).toEqual([409, "agent_name_conflict"]);
    const inA = await t.call("POST", "/v1/agents", { body, form: "a" });
    expect([inA.status, inA.body.error.code]).toEqual([400, "invalid_request"]);
    const elsewhere = await h.tenant();
    expect((await elsewhere.call("POST", "/v1/agents", { body })).status).toBe(201);
  });

  test("400 invalid_request: 100 agents, under concurrency; a deleted one frees its place and its name", async () => {
    const tenant = await h.tenant();
    const body = (n: number) => ({ name: `cap ${n}` });
    await h.sql`insert into agents (id, tenant_id, name, config)
      select 'ag_' || lpad(n::text, 24, '0'), ${tenant.id}, 'cap ' || n, '{}' from generate_series(1, 97) n`;
    const responses = await Promise.all(
      Array.from({ length: 8 }, (_, n) => tenant.call("POST", "/v1/agents", { body: body(200 + n) })),
    );
    const created = responses.filter(({ status }) => status === 201);
    expect(created).toHaveLength(3);
    for (const response of responses.filter(({ status }) => status !== 201))
      expect([response.status, response.body.error.code]).toEqual([400, "invalid_request"]);
    const agent = created[0]?.body;
    expect((await tenant.call("DELETE", `/v1/agents/${agent.id}`)).status).toBe(204);
    expect((await tenant.call("POST", "/v1/agents", { body: { name: agent.name } })).status).toBe(201);
    expect((await tenant.call("POST", "/v1/agents", { body: body(300), form: "a" })).status).toBe(400);
  });

  test("201 once for an Idempotency-Key, 422 idempotency_key_reused for another body under it", async () => {
    const headers = { "idempotency-key": "agent" };
    const body = { name: name() };
    const responses = await Promise.all(
      Array.from({ length: 5 }, () => t.call("POST", "/v1/agents", { body, headers })),
    );
    expect(responses.filter(({ status }) => status === 201 || status === 409)).toHaveLength(5);
    const again = await t.call("POST", "/v1/agents", { body, headers });
    expect([again.status, again.body.name]).toEqual([201, body.name]);
    const other = await t.call("POST", "/v1/agents", { body: { name: name() }, headers });
    expect([other.status, other.body.error.code]).toEqual([422, "idempotency_key_reused"]);
  });

  test("401 unauthorized: without a credential", async () => {
    const response = await t.call("POST", "/v1/agents", { body: { name: name() }, token: null });
    expect([response.status, response.body.error.code]).toEqual([401, "unauthorized"]);
  });
});

describe("GET /v1/agents", () => {
  test("200: most recently updated first, narrowed by userId and workspaceId", async () => {
    const tenant = await h.tenant();
    const first = await made(tenant, { userId: "u" });
    const second = await made(tenant, {}, "a");
    const third = await made(tenant, { workspaceId: first.workspaceId });
    await tenant.call("PUT", `/v1/agents/${second.id}`, { body: { instructions: "x" } });
    const ids = async (query: string) => {
      const response = await tenant.call("GET", `/v1/agents${query}`);
      expect(response.status).toBe(200);
      return response.body.agents.map((agent: { id: string }) => agent.id);
    };
    expect(await ids("")).toEqual([second.id, third.id, first.id]);
    expect(await ids("?userId=u")).toEqual([first.id]);
    expect(await ids("?userId=")).toEqual([second.id, third.id]);
    expect(await ids(`?workspaceId=${first.workspaceId}`)).toEqual([third.id, first.id]);
    expect(await ids(`?workspaceId=${newId("workspace")}`)).toEqual([]);
    const inA = await tenant.call("GET", "/v1/agents", { form: "a" });
    expect(inA.body.agents[1].sandboxId).toBe(sandboxIdOf(third.workspaceId));
    expect(inA.body.agents[1].workspaceId).toBeUndefined();
  });

  test("400 validation_failed (A: invalid_request): unknown query fields, a malformed workspaceId, form B's field in form A", async () => {
    for (const [query, path] of [
      ["extra=1", "extra"],
      ["limit=0", "limit"],
      ["workspaceId=x", "workspaceId"],
      ["userId=a&userId=b", "userId"],
    ])
      expect(error(await t.call("GET", `/v1/agents?${query}`))).toEqual([400, "validation_failed", path]);
    for (const [query, path] of [
      [`workspaceId=${newId("workspace")}`, "workspaceId"],
      [`sandboxId=sb_${"0".repeat(24)}`, "sandboxId"],
    ])
      expect(error(await t.call("GET", `/v1/agents?${query}`, { form: "a" }))).toEqual([400, "invalid_request", path]);
  });
});

describe("an agent of another tenant", () => {
  test("404 not_found: byte for byte as a missing one, on every operation; 400 for a malformed id", async () => {
    const other = await h.tenant();
    const foreign = await made(other, { mcpConnectionIds: [await connection(other)] });
    const missing = newId("agent");
    const mcp = foreign.mcpConnectionIds[0];
    const operations: [string, string, object?][] = [
      ["GET", ""],
      ["PUT", "", { instructions: "x" }],
      ["DELETE", ""],
      ["POST", "/disable"],
      ["POST", "/enable"],
      ["POST", "/avatar"],
      ["DELETE", "/avatar"],
      ["GET", "/versions"],
      ["GET", "/versions/1"],
      ["GET", "/mcp-attachments"],
      ["PATCH", `/mcp-attachments/${mcp}`, { forwardUserId: true }],
    ];
    for (const form of ["a", "b"] as const) {
      for (const [method, path, body] of operations) {
        const ask = async (id: string) => {
          const response = await t.call(method, `/v1/agents/${id}${path}`, {
            form,
            ...(body === undefined ? {} : { body }),
          });
          return JSON.stringify([response.status, { ...response.body.error, requestId: "" }]);
        };
        const response = await ask(missing);
        expect([method, path, JSON.parse(response)[0], JSON.parse(response)[1].code]).toEqual([
          method,
          path,
          404,
          "not_found",
        ]);
        expect(await ask(foreign.id)).toBe(response);
        expect(JSON.parse(await ask("ag_x"))[0]).toBe(400);
      }
    }
    expect((await other.call("GET", `/v1/agents/${foreign.id}`)).body).toEqual(foreign);
  });

  test("405 method_not_allowed: another method, with Allow", async () => {
    const response = await t.call("PATCH", `/v1/agents/${newId("agent")}`, { body: {} });
    expect([response.status, response.headers.get("allow")]).toEqual([405, "DELETE, GET, PUT"]);
  });
});
