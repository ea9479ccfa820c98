import { describe, expect, test } from "bun:test";
import { json } from "../../src/kernel/database/client.ts";
import { newId } from "../../src/kernel/ids.ts";
import { findProvider, lockProvider, type ProviderRow } from "../../src/providers/store.ts";
import { useTenant } from "../harness/fixture.ts";
import { eventually, startHarness, type TestTenant } from "../harness/harness.ts";
import { createProvider, providerBody, providerKey } from "../harness/provider-fixture.ts";

const { h, t } = await useTenant();

const missingId = "prv_000000000000000000000000";

/** Writes an agent and its versions, each with the provider given, the last one current. */
async function insertAgent(tenant: TestTenant, ...providerIds: (string | null)[]): Promise<string> {
  const id = newId("agent");
  const configOf = (providerId: string | null) => json(h.sql, { providerId });
  const current = providerIds.at(-1) ?? null;
  await h.sql`
    insert into agents (id, tenant_id, name, version, config)
    values (${id}, ${tenant.id}, ${id}, ${providerIds.length}, ${configOf(current)})`;
  for (const [index, providerId] of providerIds.entries())
    await h.sql`
      insert into agent_versions (agent_id, version, tenant_id, config)
      values (${id}, ${index + 1}, ${tenant.id}, ${configOf(providerId)})`;
  return id;
}

async function insertPinnedSession(tenant: TestTenant, agentId: string, version: number): Promise<string> {
  const id = newId("session");
  await h.sql`
    insert into sessions (id, tenant_id, agent_id, pinned_version, visible)
    values (${id}, ${tenant.id}, ${agentId}, ${version}, true)`;
  return id;
}

describe("POST /v1/providers", () => {
  test("201: returns the label and a fragment, and never the key", async () => {
    const made = await t.call("POST", "/v1/providers", {
      body: { name: "Main", providerType: "openai", apiKey: providerKey, baseUrl: "http://127.0.0.1:1/v1/" },
    });
    expect(made.status).toBe(201);
    expect(made.body).toEqual({
      id: expect.stringMatching(/^prv_[0-9a-z]{24}$/),
      name: "Main",
      providerType: "llm_vendor_a",
      baseUrl: "http://127.0.0.1:1/v1/",
      keyFragment: "cdef",
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
    });
    const [row] = await h.sql`select * from providers where id = ${made.body.id}`;
    expect(JSON.stringify({ ...row, sealedKey: row?.sealedKey.toString("latin1") })).not.toContain(providerKey);
    const found = (await findProvider(h.sql, t.id, made.body.id)) as ProviderRow;
    expect(h.ctx.sealer.open(found.sealedKey, found.id)).toBe(providerKey);
  });

  test("201: each type and alias, in both forms", async () => {
    const tenant = await h.tenant({ form: "a" });
    const labels = {
      llm_vendor_a: "llm_vendor_a",
      llm_vendor_b: "llm_vendor_b",
      llm_vendor_c: "llm_vendor_c",
      router_vendor: "router_vendor",
      gateway: "gateway",
      custom: "custom",
      openai: "llm_vendor_a",
      anthropic: "llm_vendor_b",
      google: "llm_vendor_c",
      openrouter: "router_vendor",
    };
    for (const [providerType, label] of Object.entries(labels)) {
      const baseUrl = providerType === "custom" ? "http://127.0.0.1:1" : null;
      const made = await tenant.call("POST", "/v1/providers", { body: providerBody({ providerType, baseUrl }) });
      expect([providerType, made.status, made.body.providerType]).toEqual([providerType, 201, label]);
    }
  });

  test("400 validation_failed (A: invalid_request): every field rule", async () => {
    const wrong: [Record<string, unknown>, string][] = [
      [{ name: "" }, "/name"],
      [{ name: "x".repeat(81) }, "/name"],
      [{ name: undefined }, "/name"],
      [{ providerType: "azure" }, "/providerType"],
      [{ providerType: undefined }, "/providerType"],
      [{ providerType: "constructor" }, "/providerType"],
      [{ apiKey: "" }, "/apiKey"],
      [{ apiKey: undefined }, "/apiKey"],
      [{ apiKey: "two\nlines" }, "/apiKey"],
      [{ apiKey: " padded" }, "/apiKey"],
      [{ apiKey: "schlüssel" }, "/apiKey"],
      [{ providerType: "custom" }, "/baseUrl"],
      [{ providerType: "custom", baseUrl: null }, "/baseUrl"],
      [{ providerType: "gateway", baseUrl: "https://x.example" }, "/baseUrl"],
      [{ baseUrl: "" }, "/baseUrl"],
      [{ baseUrl: "not a url" }, "/baseUrl"],
      [{ baseUrl: "ftp://x.example" }, "/baseUrl"],
      [{ baseUrl: "https://user:pass@x.example" }, "/baseUrl"],
      [{ baseUrl: "https://x.example/v1?key=1" }, "/baseUrl"],
      [{ baseUrl: `https://x.example/${"y".repeat(2048)}` }, "/baseUrl"],
      [{ baseUrl: 5 }, "/baseUrl"],
      [{ color: "red" }, "/color"],
    ];
    for (const [fields, path] of wrong) {
      const response = await t.call("POST", "/v1/providers", { body: providerBody(fields) });
      const { code, details } = response.body.error;
      expect([fields, response.status, code, details.issues[0].path]).toEqual([fields, 400, "validation_failed", path]);
      expect(JSON.stringify(response.body)).not.toContain(providerKey);
    }
    const inA = await t.call("POST", "/v1/providers", { body: providerBody({ name: "" }), form: "a" });
    expect([inA.status, inA.body.error.code]).toEqual([400, "invalid_request"]);
  });

  test("400 validation_failed: an address that is not https and public, when private networks are off", async () => {
    const strict = await startHarness({ env: { ALLOW_PRIVATE_NETWORK: "0" } });
    const tenant = await strict.tenant();
    for (const baseUrl of ["http://api.example.com", "https://localhost/v1", "https://10.0.0.1", "https://[::1]/v1"]) {
      const response = await tenant.call("POST", "/v1/providers", { body: providerBody({ baseUrl }) });
      expect([baseUrl, response.status, response.body.error?.details.issues[0].path]).toEqual([
        baseUrl,
        400,
        "/baseUrl",
      ]);
    }
    const fine = await tenant.call("POST", "/v1/providers", {
      body: providerBody({ baseUrl: "https://api.example.com" }),
    });
    expect(fine.status).toBe(201);
    await strict.stop();
  });

  test("409 provider_name_conflict: both forms; another tenant may have the name", async () => {
    const tenant = await h.tenant();
    await createProvider(tenant, { name: "Twice" });
    for (const form of ["a", "b"] as const) {
      const response = await tenant.call("POST", "/v1/providers", { body: providerBody({ name: "Twice" }), form });
      expect([response.status, response.body.error.code]).toEqual([409, "provider_name_conflict"]);
    }
    await createProvider(await h.tenant(), { name: "Twice" });
  });

  test("400 provider_limit_reached (A: invalid_request): the cap of 20 holds under concurrency; deleting frees a place", async () => {
    const tenant = await h.tenant();
    const responses = await Promise.all(
      Array.from({ length: 25 }, () => tenant.call("POST", "/v1/providers", { body: providerBody() })),
    );
    const made = responses.filter(({ status }) => status === 201);
    const refused = responses.filter(({ status }) => status !== 201);
    expect(made.length).toBe(20);
    for (const { status, body } of refused) expect([status, body.error.code]).toEqual([400, "provider_limit_reached"]);
    const inA = await tenant.call("POST", "/v1/providers", { body: providerBody(), form: "a" });
    expect([inA.status, inA.body.error.code]).toEqual([400, "invalid_request"]);
    await tenant.call("DELETE", `/v1/providers/${made[0]?.body.id}`);
    await createProvider(tenant);
  });

  test("201 once for one Idempotency-Key", async () => {
    const tenant = await h.tenant();
    const call = { body: providerBody(), headers: { "idempotency-key": "k" } };
    const first = await tenant.call("POST", "/v1/providers", call);
    const again = await tenant.call("POST", "/v1/providers", call);
    expect([again.status, again.body]).toEqual([201, first.body]);
    expect((await tenant.call("GET", "/v1/providers")).body.providers.length).toBe(1);
  });
});

describe("GET /v1/providers", () => {
  test("200: most recently updated first, without baseUrl and keyFragment", async () => {
    const tenant = await h.tenant();
    const first = await createProvider(tenant, { baseUrl: "http://127.0.0.1:1" });
    const second = await createProvider(tenant);
    await tenant.call("PATCH", `/v1/providers/${first}`, { body: { name: "Renamed" } });
    const { status, body } = await tenant.call("GET", "/v1/providers");
    expect(status).toBe(200);
    expect(body.providers.map(({ id }: { id: string }) => id)).toEqual([first, second]);
    expect(Object.keys(body.providers[0]).sort()).toEqual(["createdAt", "id", "name", "providerType", "updatedAt"]);
    expect((await (await h.tenant()).call("GET", "/v1/providers")).body).toEqual({ providers: [] });
  });
});

describe("GET and PATCH /v1/providers/:id", () => {
  test("200", async () => {
    const id = await createProvider(t, { baseUrl: "http://127.0.0.1:1" });
    const read = await t.call("GET", `/v1/providers/${id}`);
    expect(read.status).toBe(200);
    expect(read.body).toMatchObject({ id, baseUrl: "http://127.0.0.1:1", keyFragment: "cdef" });
    const renamed = await t.call("PATCH", `/v1/providers/${id}`, { body: { name: "New name" } });
    expect([renamed.status, renamed.body.name]).toEqual([200, "New name"]);
    expect(renamed.body.updatedAt >= read.body.updatedAt).toBe(true);
  });

  test("400 validation_failed: a malformed id, no name, a field that cannot change", async () => {
    const id = await createProvider(t);
    expect((await t.call("GET", "/v1/providers/prv_x")).status).toBe(400);
    for (const body of [
      {},
      { name: "x", apiKey: "y" },
      { name: "x", providerType: "custom" },
      { name: "x", baseUrl: null },
    ])
      expect([body, (await t.call("PATCH", `/v1/providers/${id}`, { body })).status]).toEqual([body, 400]);
  });

  test("404 provider_not_found: a missing one and a foreign one alike, at every operation", async () => {
    const foreign = await createProvider(await h.tenant());
    for (const id of [missingId, foreign])
      for (const [method, path, body] of [
        ["GET", "", undefined],
        ["PATCH", "", { name: "x" }],
        ["DELETE", "", undefined],
        ["GET", "/models", undefined],
        ["GET", "/thinking-levels?model=openai/gpt-5", undefined],
      ] as const)
        for (const form of ["a", "b"] as const) {
          const response = await t.call(method, `/v1/providers/${id}${path}`, { body, form });
          expect([method, path, response.status, response.body.error.code]).toEqual([
            method,
            path,
            404,
            "provider_not_found",
          ]);
        }
  });

  test("409 provider_name_conflict: renaming", async () => {
    const name = (await t.call("GET", `/v1/providers/${await createProvider(t)}`)).body.name;
    const other = await createProvider(t);
    const response = await t.call("PATCH", `/v1/providers/${other}`, { body: { name } });
    expect([response.status, response.body.error.code]).toEqual([409, "provider_name_conflict"]);
    expect((await t.call("PATCH", `/v1/providers/${other}`, { body: { name: "Own name" } })).status).toBe(200);
    expect((await t.call("PATCH", `/v1/providers/${other}`, { body: { name: "Own name" } })).status).toBe(200);
  });
});

describe("DELETE /v1/providers/:id", () => {
  test("204, then 404", async () => {
    const id = await createProvider(t);
    expect((await t.call("DELETE", `/v1/providers/${id}?confirmVersionInvalidation=false`)).status).toBe(204);
    expect((await t.call("DELETE", `/v1/providers/${id}`)).status).toBe(404);
  });

  test("400 validation_failed: a query that is not true or false", async () => {
    const id = await createProvider(t);
    expect((await t.call("DELETE", `/v1/providers/${id}?confirmVersionInvalidation=yes`)).status).toBe(400);
    expect((await t.call("DELETE", `/v1/providers/${id}?force=true`)).status).toBe(400);
  });

  test("409 provider_in_use: names the agents, confirmed or not", async () => {
    const id = await createProvider(t);
    const agentId = await insertAgent(t, id, id);
    await insertAgent(t, id, null);
    for (const query of ["", "?confirmVersionInvalidation=true"])
      for (const form of ["a", "b"] as const) {
        const { status, body } = await t.call("DELETE", `/v1/providers/${id}${query}`, { form });
        expect([status, body.error.code, body.error.details]).toEqual([
          409,
          "provider_in_use",
          { agentIds: [agentId] },
        ]);
      }
  });

  test("409 provider_historical_use: names agents, sessions and tasks; 204 when confirmed", async () => {
    const id = await createProvider(t);
    const agentId = await insertAgent(t, id, id, null);
    const pinned = await insertPinnedSession(t, agentId, 1);
    await insertPinnedSession(t, agentId, 3);
    const gone = await insertPinnedSession(t, agentId, 2);
    await h.sql`update sessions set deleted_at = now() where id = ${gone}`;
    const refused = await t.call("DELETE", `/v1/providers/${id}`);
    expect([refused.status, refused.body.error.code]).toEqual([409, "provider_historical_use"]);
    expect(refused.body.error.details).toEqual({ agentIds: [agentId], sessionIds: [pinned], taskIds: [] });
    expect((await t.call("DELETE", `/v1/providers/${id}?confirmVersionInvalidation=true`)).status).toBe(204);
    expect((await t.call("GET", `/v1/providers/${id}`)).status).toBe(404);
  });

  test("409 provider_in_use: an agent that is being saved with it wins over the delete that waits", async () => {
    const id = await createProvider(t);
    const agentId = newId("agent");
    let deleting: ReturnType<TestTenant["call"]> | undefined;
    await h.sql.begin(async (inner) => {
      expect(await lockProvider(inner, t.id, id)).toMatchObject({ id });
      deleting = t.call("DELETE", `/v1/providers/${id}`);
      await waitsForLock();
      await inner`insert into agents (id, tenant_id, name, config)
        values (${agentId}, ${t.id}, ${agentId}, ${json(inner, { providerId: id })})`;
    });
    const response = await deleting;
    expect([response?.status, response?.body.error.details]).toEqual([409, { agentIds: [agentId] }]);
  });

  /** Waits until the delete waits for the lock; the database is this file's own. */
  async function waitsForLock(): Promise<void> {
    await eventually(async () => {
      const waiting = await h.sql`
        select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
      return waiting.length > 0;
    });
  }
});
