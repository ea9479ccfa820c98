import { afterAll, describe, expect, test } from "bun:test";
import { createManagedAgent } from "../../src/agents/managed.ts";
import { newId } from "../../src/kernel/ids.ts";
import { listen } from "../../src/kernel/runtime.ts";
import { createProvider } from "../../src/providers/store.ts";
import { sandboxIdOf } from "../../src/workspaces/sandbox-id.ts";
import { useTenant } from "../harness/fixture.ts";
import type { ApiResponse } from "../harness/harness.ts";

/** A provider's model list; null makes it fail. */
let models: string[] | null = ["openai/gpt-5", "openai/gpt-4o", "acme/one"];

const { h, t } = await useTenant();
const listServer = listen({
  hostname: "127.0.0.1",
  port: 0,
  fetch: async () =>
    models === null ? new Response("", { status: 500 }) : Response.json({ data: models.map((id) => ({ id })) }),
});
afterAll(() => listServer.stop(true));

let named = 0;
const name = () => `agent ${++named}`;
const put = (id: string, body: object, form: "a" | "b" = "b") => t.call("PUT", `/v1/agents/${id}`, { body, form });
const error = ({ status, body }: ApiResponse) => [status, body.error?.code, body.error?.details?.issues?.[0]?.path];

async function made(fields: object = {}, form: "a" | "b" = "b") {
  const response = await t.call("POST", "/v1/agents", { body: { name: name(), ...fields }, form });
  expect([response.status, response.body.error]).toEqual([201, undefined]);
  return response.body;
}

async function provider(providerType: "custom" | "router_vendor"): Promise<string> {
  const id = newId("provider");
  const sealedKey = h.ctx.sealer.seal("key", id);
  const baseUrl = `http://127.0.0.1:${listServer.port}`;
  await createProvider(h.sql, t.id, { id, name: id, providerType, baseUrl, sealedKey, keyFragment: "" });
  return id;
}

async function connection(): Promise<string> {
  const id = newId("mcpConnection");
  await h.sql`insert into mcp_connections (id, tenant_id, name, url, auth_type, status)
    values (${id}, ${t.id}, ${id}, 'https://mcp.test', 'none', 'connected')`;
  return id;
}

async function workspace(): Promise<string> {
  const id = newId("workspace");
  await h.sql`insert into workspaces (id, tenant_id, name) values (${id}, ${t.id}, 'w')`;
  return id;
}

describe("PUT /v1/agents/:agentId", () => {
  test("200: only what is named changes, each update is the next version", async () => {
    const agent = await made({ instructions: "one", metadata: { a: 1 }, tools: ["memory"] });
    const second = await put(agent.id, { instructions: "two" });
    expect(second.body).toEqual({ ...agent, instructions: "two", version: 2, updatedAt: second.body.updatedAt });
    const third = await put(agent.id, { metadata: {}, tools: [], autoCompaction: false, compactionReserveTokens: 5 });
    expect(third.body).toMatchObject({ version: 3, metadata: {}, tools: [], instructions: "two" });
    expect(third.body).toMatchObject({ autoCompaction: false, compactionReserveTokens: 5 });
    const renamed = await put(agent.id, { name: name() }, "a");
    expect([renamed.status, renamed.body.version]).toEqual([200, 4]);
    expect(new Date(third.body.updatedAt).getTime()).toBeGreaterThanOrEqual(new Date(agent.updatedAt).getTime());
  });

  test("200: 20 at once make 20 distinct versions, each one whole", async () => {
    const agent = await made();
    const responses = await Promise.all(
      Array.from({ length: 20 }, (_, n) => put(agent.id, { instructions: `${n}`, metadata: { n } })),
    );
    expect(responses.map(({ status }) => status)).toEqual(Array(20).fill(200));
    const versions = responses.map(({ body }) => body.version).sort((a, b) => a - b);
    expect(versions).toEqual(Array.from({ length: 20 }, (_, n) => n + 2));
    for (const { body } of responses) {
      const version = await t.call("GET", `/v1/agents/${agent.id}/versions/${body.version}`);
      expect([version.body.instructions, version.body.metadata.n]).toEqual([
        body.instructions,
        Number(body.instructions),
      ]);
    }
  });

  test.each([
    ["no field", {}, ""],
    ["userId", { userId: "u" }, "/userId"],
    ["name null", { name: null }, "/name"],
    ["name long", { name: "x".repeat(81) }, "/name"],
    ["status", { status: "disabled" }, "/status"],
    ["model alone", { model: "a/b" }, "/providerId"],
    ["provider alone", { providerId: newId("provider") }, "/model"],
    ["thinking alone", { thinkingLevel: "low" }, "/thinkingLevel"],
    ["policy null", { approvalInTasks: null }, "/approvalInTasks"],
    ["policy without default", { approvalInTasks: { overrides: [] } }, "/approvalInTasks/default"],
    ["workspaceId null", { workspaceId: null }, "/workspaceId"],
    ["skills", { skills: [] }, "/skills"],
  ])("400 validation_failed: %s; nothing is saved", async (_case, body, path) => {
    const agent = await made();
    expect(error(await put(agent.id, body))).toEqual([400, "validation_failed", path]);
    expect((await t.call("GET", `/v1/agents/${agent.id}`)).body).toEqual(agent);
  });

  test("400 invalid_request: form A, no field, userId, form B's fields", async () => {
    const agent = await made({}, "a");
    for (const body of [
      {},
      { userId: "u" },
      { workspaceId: await workspace() },
      { autoCompaction: true },
      { model: "x" },
    ])
      expect(error(await put(agent.id, body, "a")).slice(0, 2)).toEqual([400, "invalid_request"]);
  });

  test("409 agent_name_conflict (A: 400 invalid_request)", async () => {
    const [one, two] = [await made(), await made()];
    const inB = await put(two.id, { name: one.name });
    expect([inB.status, inB.body.error.code]).toEqual([409, "agent_name_conflict"]);
    const inA = await put(two.id, { name: one.name }, "a");
    expect([inA.status, inA.body.error.code]).toEqual([400, "invalid_request"]);
    expect((await put(two.id, { name: two.name })).status).toBe(200);
  });

  test("409 SANDBOX_REQUIRED, SANDBOX_IN_USE: form A attaches, keeps and detaches a sandbox", async () => {
    const agent = await made({}, "a");
    const other = await made({}, "a");
    const sandboxId = sandboxIdOf(await workspace());
    const tools = ["file_operation_sandbox"];
    expect(error(await put(agent.id, { tools }, "a"))).toEqual([409, "SANDBOX_REQUIRED", "/tools"]);
    expect(error(await put(agent.id, { tools: ["workspace"] }, "b"))).toEqual([400, "validation_failed", "/tools"]);
    expect((await put(agent.id, { tools, sandboxId }, "a")).body).toMatchObject({ tools, sandboxId, version: 2 });
    expect((await put(agent.id, { sandboxId }, "a")).status).toBe(200);
    expect(error(await put(other.id, { sandboxId }, "a")).slice(0, 2)).toEqual([409, "SANDBOX_IN_USE"]);
    expect(error(await put(agent.id, { sandboxId: null }, "a")).slice(0, 2)).toEqual([409, "SANDBOX_REQUIRED"]);
    const detached = await put(agent.id, { sandboxId: null, tools: [] }, "a");
    expect(detached.body).toMatchObject({ sandboxId: null, tools: [], version: 4 });
    expect((await put(other.id, { sandboxId }, "a")).status).toBe(200);
  });

  test("form B attaches a shared workspace; the versions do not carry it", async () => {
    const [one, two] = [await made(), await made()];
    expect((await put(two.id, { workspaceId: one.workspaceId })).body.workspaceId).toBe(one.workspaceId);
    const version = await t.call("GET", `/v1/agents/${two.id}/versions/2`);
    expect(version.body.workspaceId).toBeUndefined();
    expect(error(await put(two.id, { workspaceId: newId("workspace") }))).toEqual([
      404,
      "workspace_not_found",
      "/workspaceId",
    ]);
  });
});

describe("PUT /v1/agents/:agentId, provider and model", () => {
  test("one of the two is judged on the effective state; form A's model may stand alone", async () => {
    const providerId = await provider("router_vendor");
    const agent = await made({ providerId, model: "openai/gpt-5" });
    expect((await put(agent.id, { model: "openai/gpt-4o" })).body.model).toBe("openai/gpt-4o");
    expect(error(await put(agent.id, { model: null }))).toEqual([400, "validation_failed", "/model"]);
    expect(error(await put(agent.id, { providerId: null }))).toEqual([400, "validation_failed", "/providerId"]);
    expect((await put(agent.id, { providerId: null }, "a")).body.providerId).toBeNull();
    expect((await put(agent.id, { instructions: "still fine in B" })).status).toBe(200);
    expect((await put(agent.id, { providerId })).body).toMatchObject({ providerId, model: "openai/gpt-4o" });
    expect((await put(agent.id, { providerId: null, model: null })).body).toMatchObject({
      providerId: null,
      model: null,
    });
    expect(error(await put(agent.id, { providerId }, "a"))).toEqual([400, "invalid_request", "/model"]);
  });

  test("400 model_not_found, 503 model_validation_unavailable, 404 provider_not_found: unchanged ones are not asked again", async () => {
    const providerId = await provider("router_vendor");
    const agent = await made({ providerId, model: "acme/one" });
    const missing = await put(agent.id, { model: "acme/two" });
    expect([missing.status, missing.body.error.code]).toEqual([400, "model_not_found"]);
    const known = models;
    models = null;
    const down = await put(agent.id, { model: "openai/gpt-5" });
    expect([down.status, down.body.error.code]).toEqual([503, "model_validation_unavailable"]);
    expect((await put(agent.id, { model: "acme/one", providerId, instructions: "x" })).status).toBe(200);
    models = known;
    const gone = newId("provider");
    expect(error(await put(agent.id, { providerId: gone }))).toEqual([404, "provider_not_found", "/providerId"]);
    expect(error(await put(agent.id, { providerId: gone }, "a"))).toEqual([400, "invalid_request", "/providerId"]);
    expect((await t.call("GET", `/v1/agents/${agent.id}`)).body.version).toBe(2);
  });

  test("400 validation_failed: thinkingLevel lists the valid choices and saves nothing; null clears, omission keeps", async () => {
    const providerId = await provider("router_vendor");
    const refused = await t.call("POST", "/v1/agents", {
      body: { name: "thinks", providerId, model: "openai/gpt-5", thinkingLevel: "enormous" },
    });
    expect(error(refused)).toEqual([400, "validation_failed", "/thinkingLevel"]);
    expect(refused.body.error.details.issues[0].message).toContain("low, medium, high");
    const agent = await made({ providerId, model: "openai/gpt-5", thinkingLevel: "high" });
    expect((await put(agent.id, { instructions: "x" })).body.thinkingLevel).toBe("high");
    expect(error(await put(agent.id, { thinkingLevel: "enormous" }))).toEqual([
      400,
      "validation_failed",
      "/thinkingLevel",
    ]);
    expect(error(await put(agent.id, { model: "openai/gpt-4o" }))).toEqual([
      400,
      "validation_failed",
      "/thinkingLevel",
    ]);
    expect(error(await put(agent.id, { model: null, providerId: null }))).toEqual([
      400,
      "validation_failed",
      "/thinkingLevel",
    ]);
    expect((await put(agent.id, { thinkingLevel: null, model: "openai/gpt-4o" })).body.thinkingLevel).toBeNull();
    const custom = await made({ providerId: await provider("custom"), model: "anything", thinkingLevel: "any" });
    expect(custom).toMatchObject({ model: "anything", thinkingLevel: "any" });
  });
});

describe("agent versions", () => {
  test("200: newest first in pages, immutable, restorable; both forms", async () => {
    const agent = await made({ instructions: "v1", metadata: { b: 1, a: 2 } });
    for (let n = 2; n <= 5; n++) await put(agent.id, { instructions: `v${n}` });
    const path = `/v1/agents/${agent.id}/versions`;
    const first = await t.call("GET", `${path}?limit=3`);
    expect(first.body.data.map((version: { version: number }) => version.version)).toEqual([5, 4, 3]);
    const rest = await t.call("GET", `${path}?limit=3&cursor=${first.body.nextCursor}`);
    expect(rest.body.data.map((version: { version: number }) => version.version)).toEqual([2, 1]);
    expect(rest.body.nextCursor).toBeNull();
    const one = await t.call("GET", `${path}/1`);
    expect(one.body).toEqual(rest.body.data[1]);
    const { id: _, workspaceId: _w, userId: _u, avatarUrl: _a, status: _s, updatedAt: _d, ...versioned } = agent;
    expect(one.body).toEqual({ agentId: agent.id, ...versioned, createdAt: expect.any(String) });
    const inA = await t.call("GET", `${path}/1`, { form: "a" });
    expect(inA.body).toMatchObject({
      agentId: agent.id,
      instructions: "v1",
      skills: [],
      createdAt: one.body.createdAt,
    });
    expect(Object.keys(inA.body)).not.toContain("sandboxId");
    expect(Object.keys(inA.body)).not.toContain("approvalInChat");
    const { agentId, tenantId, version, createdAt, ...fields } = one.body;
    const restored = await put(agent.id, fields);
    expect(restored.body).toMatchObject({ ...fields, version: 6 });
    expect((await t.call("GET", `${path}/1`)).body).toEqual(one.body);
  });

  test("404 not_found (A: AGENT_VERSION_NOT_FOUND): a missing version; 400 for what is no version, limit or cursor of this list", async () => {
    const [agent, other] = [await made(), await made()];
    const path = `/v1/agents/${agent.id}/versions`;
    const inB = await t.call("GET", `${path}/2`);
    expect([inB.status, inB.body.error.code]).toEqual([404, "not_found"]);
    const inA = await t.call("GET", `${path}/2147483647`, { form: "a" });
    expect([inA.status, inA.body.error.code]).toEqual([404, "AGENT_VERSION_NOT_FOUND"]);
    for (const version of ["0", "-1", "1.5", "x", "01", "2147483648", "99999999999"])
      expect(error(await t.call("GET", `${path}/${version}`))).toEqual([400, "validation_failed", "version"]);
    for (const limit of ["0", "201", "x", "1.5"])
      expect(error(await t.call("GET", `${path}?limit=${limit}`))).toEqual([400, "validation_failed", "limit"]);
    await put(other.id, { instructions: "2" });
    const foreign = (await t.call("GET", `/v1/agents/${other.id}/versions?limit=1`)).body.nextCursor;
    for (const cursor of ["x", "", foreign]) {
      const response = await t.call("GET", `${path}?cursor=${cursor}`);
      expect([response.status, response.body.error.code]).toEqual([400, "invalid_cursor"]);
    }
  });
});

describe("disable and enable", () => {
  test("200: no new version, either may be repeated", async () => {
    const agent = await made({}, "a");
    for (const [operation, status] of [
      ["disable", "disabled"],
      ["disable", "disabled"],
      ["enable", "active"],
      ["enable", "active"],
    ]) {
      const response = await t.call("POST", `/v1/agents/${agent.id}/${operation}`, { form: "a" });
      expect([response.status, response.body.status, response.body.version]).toEqual([200, status, 1]);
      expect(response.body.sandboxId).toBeNull();
    }
    expect((await t.call("POST", `/v1/agents/${agent.id}/disable`, { body: { x: 1 } })).status).toBe(400);
    expect((await t.call("POST", `/v1/agents/${agent.id}/disable`)).body.status).toBe("disabled");
    expect((await put(agent.id, { instructions: "x" })).body).toMatchObject({ status: "disabled", version: 2 });
  });
});

describe("MCP attachments", () => {
  test("200: listed, changed in part, kept by an update that keeps the connection", async () => {
    const [one, two] = [await connection(), await connection()];
    const agent = await made({ mcpConnectionIds: [one] });
    const path = `/v1/agents/${agent.id}/mcp-attachments`;
    const attachment = { mcpConnectionId: one, forwardUserId: false, forwardedMetadataKeys: [] };
    expect((await t.call("GET", path)).body.mcpAttachments).toEqual([
      { ...attachment, createdAt: expect.any(String), updatedAt: expect.any(String) },
    ]);
    const keys = ["plan", "b"];
    const changed = await t.call("PATCH", `${path}/${one}`, { body: { forwardedMetadataKeys: keys } });
    expect([changed.status, changed.body.forwardedMetadataKeys, changed.body.forwardUserId]).toEqual([
      200,
      keys,
      false,
    ]);
    const again = await t.call("PATCH", `${path}/${one}`, { body: { forwardUserId: true }, form: "a" });
    expect(again.body).toMatchObject({ forwardUserId: true, forwardedMetadataKeys: keys });
    await put(agent.id, { mcpConnectionIds: [two, one] });
    const both = (await t.call("GET", path)).body.mcpAttachments;
    expect(both[0]).toMatchObject({ mcpConnectionId: one, forwardUserId: true, forwardedMetadataKeys: keys });
    expect(both[1]).toMatchObject({ mcpConnectionId: two, forwardUserId: false });
    await put(agent.id, { mcpConnectionIds: [two] });
    expect((await t.call("GET", path)).body.mcpAttachments).toHaveLength(1);
    expect((await t.call("PATCH", `${path}/${one}`, { body: { forwardUserId: true } })).status).toBe(404);
    expect((await t.call("GET", `/v1/agents/${agent.id}`)).body.version).toBe(3);
  });

  test("400 validation_failed: no field, keys twice, wrong types; 404 not_found: not attached", async () => {
    const id = await connection();
    const agent = await made({ mcpConnectionIds: [id] });
    const path = `/v1/agents/${agent.id}/mcp-attachments`;
    for (const [body, at] of [
      [{}, ""],
      [{ forwardedMetadataKeys: ["a", "a"] }, "/forwardedMetadataKeys"],
      [{ forwardedMetadataKeys: "a" }, "/forwardedMetadataKeys"],
      [{ forwardUserId: null }, "/forwardUserId"],
      [{ x: 1 }, "/x"],
    ] as const)
      expect(error(await t.call("PATCH", `${path}/${id}`, { body }))).toEqual([400, "validation_failed", at]);
    const response = await t.call("PATCH", `${path}/${newId("mcpConnection")}`, { body: { forwardUserId: true } });
    expect([response.status, response.body.error.code]).toEqual([404, "not_found"]);
    expect((await t.call("PATCH", `${path}/x`, { body: { forwardUserId: true } })).status).toBe(400);
  });
});

describe("the managed agent", () => {
  test("409 admin_agent_managed (A: ADMIN_AGENT_MANAGED): all but thinking level, provider and model", async () => {
    const tenant = t;
    const id = await createManagedAgent(h.sql, tenant.id);
    const operations: [string, string, object?][] = [
      ["POST", "/disable"],
      ["POST", "/enable"],
      ["DELETE", ""],
      ["POST", "/avatar"],
      ["DELETE", "/avatar"],
      ["PUT", "", { name: "x" }],
      ["PUT", "", { instructions: "x" }],
    ];
    for (const [method, path, body] of operations) {
      for (const [form, code] of [
        ["b", "admin_agent_managed"],
        ["a", "ADMIN_AGENT_MANAGED"],
      ] as const) {
        const response = await tenant.call(method, `/v1/agents/${id}${path}`, { form, ...(body ? { body } : {}) });
        expect([method, path, response.status, response.body.error.code]).toEqual([method, path, 409, code]);
      }
    }
    const providerId = await provider("router_vendor");
    const mixed = await put(id, { providerId, model: "openai/gpt-5", name: "x" });
    expect([mixed.status, mixed.body.error.code]).toEqual([409, "admin_agent_managed"]);
    const allowed = await put(id, { providerId, model: "openai/gpt-5", thinkingLevel: "low" });
    expect(allowed.body).toMatchObject({ providerId, model: "openai/gpt-5", thinkingLevel: "low", version: 2 });
    expect((await put(id, { model: "acme/one" }, "a")).status).toBe(200);
    expect(error(await put(id, { extra: 1 }))).toEqual([400, "validation_failed", "/extra"]);
  });
});
