import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { listen } from "../../src/kernel/runtime.ts";
import { validateTimeoutMs } from "../../src/mcp-connections/limits.ts";
import { mcpConnectionsPerTenantMax } from "../../src/mcp-connections/schema.ts";
import { type Harness, startHarness } from "../harness/harness.ts";
import { failures } from "../harness/mcp-failures.ts";
import { useMcp } from "../harness/mcp-fixture.ts";
import { statusAndCode } from "../harness/status-and-code.ts";

const scene = await useMcp();
const { h, create, made } = scene;

const path = "/v1/mcp-connections";

describe("POST /v1/mcp-connections", () => {
  test("201 connected, none", async () => {
    const { status, body } = await create({ name: "docs" });
    expect([status, body]).toEqual([
      201,
      {
        id: expect.stringMatching(/^mcp_[0-9a-z]{24}$/),
        name: "docs",
        url: scene.mcp.url,
        authType: "none",
        status: "connected",
        credentialFragment: "",
        lastAuthErrorCode: null,
        oauthIssuer: null,
        oauthResource: null,
        tokenExpiresAt: null,
        createdAt: expect.any(String),
        updatedAt: expect.any(String),
        leftOut: [],
      },
    ]);
    expect(scene.mcp.methods).toContain("tools/list");
  });

  test("201 connected, bearer: the token is sent, kept under seal, never shown", async () => {
    scene.mcp.settings.accepts = (token) => token === "secret-token-1234";
    const { status, body } = await create({ authType: "bearer", bearerToken: "secret-token-1234" });
    expect([status, body.status, body.credentialFragment]).toEqual([201, "connected", "1234"]);
    expect(JSON.stringify(body)).not.toContain("secret");
    const [row] = await h.sql`select sealed_credentials from mcp_connections where id = ${body.id}`;
    expect(row?.sealedCredentials.toString("latin1")).not.toContain("secret");
  });

  test("201 needs_auth, oauth_authorization_code: the server is not contacted", async () => {
    const { status, body } = await create({ authType: "oauth_authorization_code" });
    expect([status, body.status, scene.mcp.methods]).toEqual([201, "needs_auth", []]);
  });

  for (const [what, code, arrange] of failures)
    for (const form of ["a", "b"] as const)
      test(`400 ${code}: ${what}, nothing saved (form ${form})`, async () => {
        const response = await create(arrange(scene.mcp), form);
        expect(statusAndCode(response)).toEqual([400, form === "a" ? "invalid_request" : code]);
        expect((await scene.t.call("GET", path)).body).toEqual({ mcpConnections: [] });
      });

  test("400 mcp_connection_unreachable: a slow server, in bounded time", async () => {
    scene.mcp.settings.intercept = () => new Promise<Response>(() => {});
    const startedAt = Date.now();
    expect(statusAndCode(await create())).toEqual([400, "mcp_connection_unreachable"]);
    expect(Date.now() - startedAt).toBeLessThan(2 * validateTimeoutMs);
  });

  test("400 mcp_connection_invalid: a redirect to an address that may not be called", async () => {
    scene.mcp.settings.intercept = () =>
      new Response(null, { status: 307, headers: { location: "ftp://elsewhere.test/" } });
    expect(statusAndCode(await create())).toEqual([400, "mcp_connection_invalid"]);
  });

  test("400 mcp_connection_discovery_failed: a redirect elsewhere; nothing is sent there", async () => {
    let visits = 0;
    const other = listen({ hostname: "127.0.0.1", port: 0, fetch: () => new Response(String(visits++)) });
    const location = `http://127.0.0.1:${other.port}/mcp`;
    scene.mcp.settings.intercept = () => new Response(null, { status: 307, headers: { location } });
    const response = await create({ authType: "bearer", bearerToken: "secret-token-1234" });
    expect([statusAndCode(response), visits]).toEqual([[400, "mcp_connection_discovery_failed"], 0]);
    await other.stop(true);
  });

  const broken: [string, Record<string, unknown>, string][] = [
    ["no name", { name: undefined }, "/name"],
    ["an empty name", { name: "" }, "/name"],
    ["a name of 81 characters", { name: "n".repeat(81) }, "/name"],
    ["no URL", { url: undefined }, "/url"],
    ["a URL that is none", { url: "not a url" }, "/url"],
    ["an unknown authType", { authType: "basic" }, "/authType"],
    ["bearer without its token", { authType: "bearer" }, "/bearerToken"],
    ["a token that no header takes", { authType: "bearer", bearerToken: "a\nb" }, "/bearerToken"],
    ["a token for none", { bearerToken: "token" }, "/bearerToken"],
    ["client credentials without a secret", { authType: "oauth_client_credentials", clientId: "id" }, "/clientSecret"],
    ["a sign-in with half a client", { authType: "oauth_authorization_code", clientSecret: "secret" }, "/clientId"],
    ["a scope for none", { scope: "read" }, "/scope"],
    ["an unknown field", { userId: "u" }, "/userId"],
  ];
  for (const [what, fields, pointer] of broken)
    for (const form of ["a", "b"] as const)
      test(`400 validation_failed (A: invalid_request): ${what} (form ${form})`, async () => {
        const response = await create(fields, form);
        expect(statusAndCode(response)).toEqual([400, form === "a" ? "invalid_request" : "validation_failed"]);
        expect(response.body.error.details.issues[0].path).toBe(pointer);
      });

  test("409 mcp_connection_name_conflict: a name in use", async () => {
    await create({ name: "docs" });
    expect(statusAndCode(await create({ name: "docs" }))).toEqual([409, "mcp_connection_name_conflict"]);
    expect(statusAndCode(await create({ name: "docs" }, "a"))).toEqual([409, "invalid_request"]);
  });

  test("409 mcp_connection_name_conflict: all but one of a name created at once", async () => {
    const responses = await Promise.all(Array.from({ length: 4 }, () => create({ name: "docs" })));
    expect(responses.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409]);
  });

  test("400 mcp_connection_limit_reached: after 50; a deleted one frees its place", async () => {
    const rows = Array.from(
      { length: mcpConnectionsPerTenantMax - 1 },
      (_, index) => `mcp_${String(index).padStart(24, "0")}`,
    );
    await h.sql`
      insert into mcp_connections (id, tenant_id, name, url, auth_type, status)
      select id, ${scene.t.id}, id, 'https://mcp.test', 'none', 'connected' from unnest(${rows}::text[]) as id`;
    const last = await made();
    expect(statusAndCode(await create())).toEqual([400, "mcp_connection_limit_reached"]);
    expect(statusAndCode(await create({}, "a"))).toEqual([400, "invalid_request"]);
    expect((await scene.t.call("DELETE", `${path}/${last}`)).status).toBe(204);
    expect((await create()).status).toBe(201);
    await h.sql`delete from mcp_connections where tenant_id = ${scene.t.id}`;
  });

  test("401 unauthorized: without a credential", async () => {
    expect(statusAndCode(await scene.t.call("POST", path, { token: null, body: {} }))).toEqual([401, "unauthorized"]);
  });

  test("201 once under one Idempotency-Key", async () => {
    const body = { name: "once", url: scene.mcp.url, authType: "none" };
    const headers = { "idempotency-key": "key-1" };
    const first = await scene.t.call("POST", path, { body, headers });
    const second = await scene.t.call("POST", path, { body, headers });
    expect([first.status, second.status, second.body]).toEqual([201, 201, first.body]);
  });
});

describe("POST /v1/mcp-connections where private addresses are refused", () => {
  const unsafe = [
    "http://93.184.215.14/mcp",
    "https://127.0.0.1/mcp",
    "https://[::1]/mcp",
    "https://2130706433/mcp",
    "https://localhost/mcp",
    "https://169.254.169.254/latest/meta-data",
    "https://metadata.internal/mcp",
    "https://user:password@mcp.test/mcp",
    "file:///etc/passwd",
  ];
  let strict: Harness;
  beforeAll(async () => {
    strict = await startHarness({ env: { ALLOW_PRIVATE_NETWORK: "0" } });
  });
  afterAll(() => strict.stop());

  for (const url of unsafe)
    test(`400 mcp_connection_invalid: ${url}`, async () => {
      const tenant = await strict.tenant();
      const body = { name: "n", url, authType: "oauth_authorization_code" };
      expect(statusAndCode(await tenant.call("POST", path, { body }))).toEqual([400, "mcp_connection_invalid"]);
      const inA = await tenant.call("POST", path, { body: { ...body, authType: "none" }, form: "a" });
      expect(statusAndCode(inA)).toEqual([400, "invalid_request"]);
    });
});
