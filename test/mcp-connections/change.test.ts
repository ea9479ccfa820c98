import { describe, expect, test } from "bun:test";
import type { Form } from "../../src/kernel/errors.ts";
import { failures } from "../harness/mcp-failures.ts";
import { useMcp } from "../harness/mcp-fixture.ts";
import { makeAgent } from "../harness/seed.ts";
import { statusAndCode } from "../harness/status-and-code.ts";
import { McpServer } from "../servers/mcp.ts";

const scene = await useMcp();
const { h, create, made } = scene;

const path = "/v1/mcp-connections";
const missing = `mcp_${"0".repeat(24)}`;

describe("GET /v1/mcp-connections", () => {
  test("200 sorted by name, the tenant's own only", async () => {
    for (const name of ["b", "C", "a", "ä"]) await create({ name, authType: "oauth_authorization_code" });
    const other = await h.tenant();
    const { body } = await scene.t.call("GET", path);
    expect(body.mcpConnections.map((connection: { name: string }) => connection.name)).toEqual(["C", "a", "b", "ä"]);
    expect((await other.call("GET", path)).body).toEqual({ mcpConnections: [] });
  });

  test("400 validation_failed: an unknown query field", async () => {
    expect(statusAndCode(await scene.t.call("GET", `${path}?extra=1`))).toEqual([400, "validation_failed"]);
  });
});

describe("/v1/mcp-connections/:id", () => {
  const operations: [string, string, unknown][] = [
    ["GET", "", undefined],
    ["PATCH", "", { name: "n" }],
    ["DELETE", "", undefined],
    ["POST", "/test", undefined],
    ["POST", "/reconnect", { url: "http://127.0.0.1:9/", authType: "oauth_authorization_code" }],
  ];
  for (const [method, end, body] of operations)
    for (const form of ["a", "b"] as const) {
      test(`404 not_found: ${method} :id${end}, a missing or foreign connection; 400 for a malformed id (form ${form})`, async () => {
        const foreign = await made();
        const stranger = await h.tenant();
        const ask = async (id: string) => stranger.call(method, `${path}/${id}${end}`, { form, body });
        const [absent, others] = [await ask(missing), await ask(foreign)];
        expect([statusAndCode(absent), statusAndCode(others)]).toEqual([
          [404, "not_found"],
          [404, "not_found"],
        ]);
        expect(statusAndCode(await ask("mcp_1"))).toEqual([
          400,
          form === "a" ? "invalid_request" : "validation_failed",
        ]);
      });
    }

  test("GET 200", async () => {
    const { leftOut: _, ...body } = (await create()).body;
    expect(await scene.t.call("GET", `${path}/${body.id}`, { form: "a" })).toMatchObject({ status: 200, body });
  });

  test("PATCH 200: credentials untouched", async () => {
    scene.mcp.settings.accepts = (token) => token === "secret-token-1234";
    const id = await made({ authType: "bearer", bearerToken: "secret-token-1234" });
    const { status, body } = await scene.t.call("PATCH", `${path}/${id}`, { body: { name: "renamed" } });
    expect([status, body.name, body.credentialFragment]).toEqual([200, "renamed", "1234"]);
    expect((await scene.t.call("POST", `${path}/${id}/test`)).body.ok).toBe(true);
  });

  test("400 validation_failed: PATCH without a field, or with one that cannot be changed so", async () => {
    const id = await made();
    for (const body of [{}, { name: "n", url: scene.mcp.url }])
      expect(statusAndCode(await scene.t.call("PATCH", `${path}/${id}`, { body }))).toEqual([400, "validation_failed"]);
  });

  test("409 mcp_connection_name_conflict: PATCH; its own name is 200", async () => {
    await create({ name: "taken" });
    const id = await made({ name: "mine" });
    const rename = (name: string, form: Form) => scene.t.call("PATCH", `${path}/${id}`, { form, body: { name } });
    expect(statusAndCode(await rename("taken", "b"))).toEqual([409, "mcp_connection_name_conflict"]);
    expect(statusAndCode(await rename("taken", "a"))).toEqual([409, "invalid_request"]);
    expect((await rename("mine", "b")).status).toBe(200);
  });

  test("DELETE 204, then 404; the name is free", async () => {
    const id = await made({ name: "gone" });
    expect((await scene.t.call("DELETE", `${path}/${id}`)).status).toBe(204);
    expect((await scene.t.call("DELETE", `${path}/${id}`)).status).toBe(404);
    expect((await create({ name: "gone" })).status).toBe(201);
  });

  test("409 mcp_connection_in_use: DELETE while attached to an agent", async () => {
    const id = await made();
    const agentId = await makeAgent(h, scene.t, { mcpConnectionIds: [id] });
    const inB = await scene.t.call("DELETE", `${path}/${id}`);
    expect([statusAndCode(inB), inB.body.error.details.agentIds]).toEqual([[409, "mcp_connection_in_use"], [agentId]]);
    expect(statusAndCode(await scene.t.call("DELETE", `${path}/${id}`, { form: "a" }))).toEqual([
      409,
      "invalid_request",
    ]);
    await scene.t.call("PUT", `/v1/agents/${agentId}`, { body: { mcpConnectionIds: [] } });
    expect((await scene.t.call("DELETE", `${path}/${id}`)).status).toBe(204);
  });
});

describe("POST /v1/mcp-connections/:id/test", () => {
  test("200 ok", async () => {
    const id = await made();
    const { status, body } = await scene.t.call("POST", `${path}/${id}/test`);
    expect([status, body]).toEqual([
      200,
      {
        ok: true,
        latencyMs: expect.any(Number),
        server: { name: "test-server", version: "1.2.3" },
        toolCount: 2,
        toolNames: ["echo", "write"],
        leftOut: [],
      },
    ]);
  });

  test("200 with the tools of every page", async () => {
    const id = await made();
    const [echo] = scene.mcp.settings.tools;
    scene.mcp.settings.tools = Array.from({ length: 25 }, (_, index) => ({ ...echo, name: `t${index}` }) as never);
    scene.mcp.settings.pageRows = 10;
    expect((await scene.t.call("POST", `${path}/${id}/test`)).body.toolCount).toBe(25);
  });

  for (const [what, code, arrange] of failures)
    test(`200 not ok, ${code} for ${what}; the status follows, and back`, async () => {
      const id = await made();
      const { url, authType = "none" } = arrange(scene.mcp);
      if (url !== undefined) await h.sql`update mcp_connections set url = ${url as string} where id = ${id}`;
      if (authType === "bearer") scene.mcp.settings.accepts = () => false;
      const failed = await scene.t.call("POST", `${path}/${id}/test`, { form: "a" });
      expect([failed.status, failed.body]).toEqual([200, { ok: false, error: { code, message: expect.any(String) } }]);
      const status = code === "mcp_connection_authentication_failed" ? "needs_auth" : "error";
      expect((await scene.t.call("GET", `${path}/${id}`)).body).toMatchObject({ status, lastAuthErrorCode: code });

      Object.assign(scene.mcp.settings, { accepts: null, intercept: null });
      await h.sql`update mcp_connections set url = ${scene.mcp.url} where id = ${id}`;
      expect((await scene.t.call("POST", `${path}/${id}/test`)).body.ok).toBe(true);
      expect((await scene.t.call("GET", `${path}/${id}`)).body).toMatchObject({
        status: "connected",
        lastAuthErrorCode: null,
      });
    });

  test("200 not ok before anybody has signed in", async () => {
    const id = await made({ authType: "oauth_authorization_code" });
    const { status, body } = await scene.t.call("POST", `${path}/${id}/test`);
    expect([status, body.ok, body.error.code]).toEqual([200, false, "mcp_connection_authentication_failed"]);
  });
});

describe("POST /v1/mcp-connections/:id/reconnect", () => {
  const reconnect = (id: string, body: Record<string, unknown>, form: Form = "b") =>
    scene.t.call("POST", `${path}/${id}/reconnect`, { form, body });

  test("200 connected: URL and credentials are replaced, the name stays", async () => {
    const id = await made({ name: "same" });
    scene.mcp.settings.accepts = (token) => token === "secret-token-5678";
    const body = { url: `${scene.mcp.url}?v=2`, authType: "bearer", bearerToken: "secret-token-5678" };
    const response = await reconnect(id, body);
    expect(response).toMatchObject({
      status: 200,
      body: {
        status: "connected",
        connection: { id, name: "same", url: body.url, authType: "bearer", credentialFragment: "5678" },
      },
    });
    expect((await scene.t.call("POST", `${path}/${id}/test`)).body.ok).toBe(true);
  });

  test("200 needs_auth for oauth_authorization_code", async () => {
    const id = await made();
    const response = await reconnect(id, { url: scene.mcp.url, authType: "oauth_authorization_code" });
    expect(response).toMatchObject({
      status: 200,
      body: { status: "needs_auth", connection: { status: "needs_auth" } },
    });
  });

  for (const [what, code, arrange] of failures)
    test(`400 ${code}: ${what}; the configuration stays`, async () => {
      const id = await made();
      const before = (await scene.t.call("GET", `${path}/${id}`)).body;
      const target = { url: scene.mcp.url, authType: "none", ...arrange(scene.mcp) };
      expect(statusAndCode(await reconnect(id, target))).toEqual([400, code]);
      expect(statusAndCode(await reconnect(id, target, "a"))).toEqual([400, "invalid_request"]);
      expect((await scene.t.call("GET", `${path}/${id}`)).body).toEqual(before);
    });

  test("400 validation_failed: a name, which is not sent", async () => {
    const id = await made();
    expect(statusAndCode(await reconnect(id, { name: "n", url: scene.mcp.url, authType: "none" }))).toEqual([
      400,
      "validation_failed",
    ]);
  });

  test("409 mcp_connection_stale_credential_version: the slower of two", async () => {
    const id = await made();
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const slow = new McpServer();
    let reached = () => {};
    const arrived = new Promise<void>((resolve) => {
      reached = resolve;
    });
    slow.settings.intercept = async () => {
      reached();
      await held;
      return null as never;
    };
    const late = reconnect(id, { url: slow.url, authType: "none" });
    await arrived;
    expect((await reconnect(id, { url: scene.mcp.url, authType: "none" })).status).toBe(200);
    release();
    expect(statusAndCode(await late)).toEqual([409, "mcp_connection_stale_credential_version"]);
    expect((await scene.t.call("GET", `${path}/${id}`)).body.url).toBe(scene.mcp.url);
    await slow.stop();
  });
});
