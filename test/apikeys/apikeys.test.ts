import { describe, expect, test } from "bun:test";
import { useService } from "../harness/fixture.ts";
import type { TestTenant } from "../harness/harness.ts";
import { expectSameError } from "../harness/status-and-code.ts";

let t: TestTenant;
const h = await useService();

describe("POST /v1/apikeys", () => {
  test("201: the token is shown once and authenticates", async () => {
    t = await h.tenant();
    const made = await t.call("POST", "/v1/apikeys", { body: { name: "ci" } });
    expect(made.status).toBe(201);
    expect(made.body.token).toMatch(/^parley_[A-Za-z0-9]{40}$/);
    expect(made.body.apiKey).toEqual({
      id: expect.stringMatching(/^ak_[0-9a-z]{24}$/),
      name: "ci",
      keyFragment: made.body.token.slice(-4),
      createdAt: expect.any(String),
      expiresAt: null,
      role: "admin",
      agentIds: null,
      lastUsedAt: null,
    });
    const listed = await t.call("GET", "/v1/apikeys", { token: made.body.token });
    expect(listed.status).toBe(200);
    expect(JSON.stringify(listed.body)).not.toContain(made.body.token);
    const [row] = await h.sql`select * from api_keys where id = ${made.body.apiKey.id}`;
    expect(JSON.stringify(row)).not.toContain(made.body.token.slice(7));
  });

  test("keys of requests that come at once are told apart: two tenants', one that is gone, one nobody has", async () => {
    const tenants = [await h.tenant(), await h.tenant()];
    const made = await Promise.all(
      tenants.map((tenant, n) => tenant.call("POST", "/v1/apikeys", { body: { name: `of ${n}` } })),
    );
    const gone = await t.call("POST", "/v1/apikeys", { body: { name: "gone" } });
    await t.call("DELETE", `/v1/apikeys/${gone.body.apiKey.id}`);
    const tokens = [...made.map(({ body }) => body.token), gone.body.token, `parley_${"x".repeat(40)}`];
    const responses = await Promise.all(
      Array.from({ length: 40 }, (_, n) => t.call("GET", "/v1/apikeys", { token: tokens[n % tokens.length] })),
    );
    for (const [n, { status, body }] of responses.entries()) {
      expect(status).toBe(n % 4 < 2 ? 200 : 401);
      if (status === 200) expect(body.apiKeys.map(({ name }: { name: string }) => name)).toContain(`of ${n % 4}`);
    }
  });

  test("400 invalid_request: past expiry, a moment that does not exist, the cap under concurrency", async () => {
    const tenant = await h.tenant();
    for (const expiresAt of [
      "2020-01-01T00:00:00Z",
      "2099-02-30T00:00:00Z",
      "2099-02-30",
      "2099-01-01T00:00:00",
      "2099-01-01T25:00:00Z",
    ]) {
      const response = await tenant.call("POST", "/v1/apikeys", { body: { name: "x", expiresAt } });
      expect([response.status, response.body.error.code]).toEqual([400, "invalid_request"]);
      expect(response.body.error.details.issues[0].path).toBe("/expiresAt");
    }
    const responses = await Promise.all(
      Array.from({ length: 10 }, () => tenant.call("POST", "/v1/apikeys", { body: { name: "x" } })),
    );
    expect(responses.filter((response) => response.status === 201)).toHaveLength(4);
    expect(
      responses.filter((response) => response.status === 400 && response.body.error.code === "invalid_request"),
    ).toHaveLength(6);
  });

  test("400 invalid_request: both forms, as the contract has it, naming every broken field", async () => {
    const body = { name: "", extra: 1, expiresAt: "tomorrow" };
    const inB = await t.call("POST", "/v1/apikeys", { body, form: "b" });
    expect([inB.status, inB.body.error.code]).toEqual([400, "invalid_request"]);
    const paths = inB.body.error.details.issues.map((issue: { path: string }) => issue.path).sort();
    expect(paths).toEqual(["/expiresAt", "/extra", "/name"]);
    const inA = await t.call("POST", "/v1/apikeys", { body, form: "a" });
    expect([inA.status, inA.body.error.code]).toEqual([400, "invalid_request"]);
  });

  test("422 idempotency_key_reused: another body; 10 at once make one key; the kept response is sealed", async () => {
    const tenant = await h.tenant();
    const headers = { "idempotency-key": "once" };
    const send = () => tenant.call("POST", "/v1/apikeys", { body: { name: "x" }, headers });
    const responses = await Promise.all(Array.from({ length: 10 }, send));
    const made = responses.filter((response) => response.status === 201);
    expect(new Set(made.map((response) => response.body.apiKey.id)).size).toBe(1);
    for (const response of responses)
      if (response.status !== 201) expect(response.body.error.code).toBe("idempotency_in_progress");
    expect((await send()).body.token).toBe(made[0]?.body.token);
    const other = await tenant.call("POST", "/v1/apikeys", { body: { name: "y" }, headers });
    expect([other.status, other.body.error.code]).toEqual([422, "idempotency_key_reused"]);
    const rows =
      await h.sql`select encode(sealed_body, 'escape') as text from idempotency_keys where tenant_id = ${tenant.id}`;
    expect(rows[0]?.text).not.toContain("parley_");
  });
});

describe("DELETE /v1/apikeys/:id", () => {
  test("204: the key is 401 at its next request; 404 for a missing and, byte for byte, a foreign one; 400 malformed", async () => {
    const tenant = await h.tenant();
    const made = await tenant.call("POST", "/v1/apikeys", { body: { name: "x" } });
    const stranger = await h.tenant();
    const foreign = await stranger.call("DELETE", `/v1/apikeys/${made.body.apiKey.id}`);
    const missing = await stranger.call("DELETE", `/v1/apikeys/ak_${"0".repeat(24)}`);
    expectSameError(foreign, missing);
    expect(missing.status).toBe(404);
    expect((await tenant.call("DELETE", "/v1/apikeys/nope")).status).toBe(400);
    expect((await tenant.call("DELETE", `/v1/apikeys/${made.body.apiKey.id}`)).status).toBe(204);
    expect((await tenant.call("GET", "/v1/apikeys", { token: made.body.token })).status).toBe(401);
  });

  test("401 unauthorized: an expired key", async () => {
    const tenant = await h.tenant();
    const made = await tenant.call("POST", "/v1/apikeys", {
      body: { name: "x", expiresAt: "2099-01-01T00:00:00+02:00" },
    });
    expect(made.body.apiKey.expiresAt).toBe("2098-12-31T22:00:00.000Z");
    await h.sql`update api_keys set expires_at = now() - interval '1 second' where id = ${made.body.apiKey.id}`;
    expect((await tenant.call("GET", "/v1/apikeys", { token: made.body.token })).status).toBe(401);
  });
});
