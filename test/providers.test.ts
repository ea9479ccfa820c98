import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { json, tx } from "../src/db.ts";
import type { ApiError } from "../src/errors.ts";
import { newId } from "../src/ids.ts";
import { fetchModelIds } from "../src/providers/discovery.ts";
import { checkModel } from "../src/providers/models.ts";
import { findProvider, lockProvider, type ProviderRow } from "../src/providers/store.ts";
import { type Harness, startHarness, type TestTenant } from "./harness.ts";
import { startVendor, type VendorRequest, type VendorServer } from "./vendor-server.ts";

let h: Harness;
let t: TestTenant;
beforeAll(async () => {
  h = await startHarness();
  t = await h.tenant();
});
afterAll(() => h.stop());

const secret = "sk-secret-0123456789abcdef";
const missingId = "prv_000000000000000000000000";

function providerBody(fields: Record<string, unknown> = {}) {
  return { name: `p-${newId("provider")}`, providerType: "llm_vendor_a", apiKey: secret, ...fields };
}

async function create(tenant: TestTenant, fields: Record<string, unknown> = {}): Promise<string> {
  const made = await tenant.call("POST", "/v1/providers", { body: providerBody(fields) });
  expect([made.status, made.body.error]).toEqual([201, undefined]);
  return made.body.id;
}

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
  test("201: answers the label and a fragment, and never the key", async () => {
    const made = await t.call("POST", "/v1/providers", {
      body: { name: "Main", providerType: "openai", apiKey: secret, baseUrl: "http://127.0.0.1:1/v1/" },
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
    expect(JSON.stringify({ ...row, sealed_key: row?.sealed_key.toString("latin1") })).not.toContain(secret);
    const found = (await findProvider(h.sql, t.id, made.body.id)) as ProviderRow;
    expect(h.ctx.sealer.open(found.sealedKey, found.id)).toBe(secret);
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
      const answer = await t.call("POST", "/v1/providers", { body: providerBody(fields) });
      const { code, details } = answer.body.error;
      expect([fields, answer.status, code, details.issues[0].path]).toEqual([fields, 400, "validation_failed", path]);
      expect(JSON.stringify(answer.body)).not.toContain(secret);
    }
    const inA = await t.call("POST", "/v1/providers", { body: providerBody({ name: "" }), form: "a" });
    expect([inA.status, inA.body.error.code]).toEqual([400, "invalid_request"]);
  });

  test("400 validation_failed: an address that is not https and public, when private networks are off", async () => {
    const strict = await startHarness({ env: { ALLOW_PRIVATE_NETWORK: "0" } });
    const tenant = await strict.tenant();
    for (const baseUrl of ["http://api.example.com", "https://localhost/v1", "https://10.0.0.1", "https://[::1]/v1"]) {
      const answer = await tenant.call("POST", "/v1/providers", { body: providerBody({ baseUrl }) });
      expect([baseUrl, answer.status, answer.body.error?.details.issues[0].path]).toEqual([baseUrl, 400, "/baseUrl"]);
    }
    const fine = await tenant.call("POST", "/v1/providers", {
      body: providerBody({ baseUrl: "https://api.example.com" }),
    });
    expect(fine.status).toBe(201);
    await strict.stop();
  });

  test("409 provider_name_conflict in both forms; another tenant may have the name", async () => {
    const tenant = await h.tenant();
    await create(tenant, { name: "Twice" });
    for (const form of ["a", "b"] as const) {
      const answer = await tenant.call("POST", "/v1/providers", { body: providerBody({ name: "Twice" }), form });
      expect([answer.status, answer.body.error.code]).toEqual([409, "provider_name_conflict"]);
    }
    await create(await h.tenant(), { name: "Twice" });
  });

  test("400 provider_limit_reached (A: invalid_request): the cap of 20 holds under concurrency; deleting frees a place", async () => {
    const tenant = await h.tenant();
    const answers = await Promise.all(
      Array.from({ length: 25 }, () => tenant.call("POST", "/v1/providers", { body: providerBody() })),
    );
    const made = answers.filter(({ status }) => status === 201);
    const refused = answers.filter(({ status }) => status !== 201);
    expect(made.length).toBe(20);
    for (const { status, body } of refused) expect([status, body.error.code]).toEqual([400, "provider_limit_reached"]);
    const inA = await tenant.call("POST", "/v1/providers", { body: providerBody(), form: "a" });
    expect([inA.status, inA.body.error.code]).toEqual([400, "invalid_request"]);
    await tenant.call("DELETE", `/v1/providers/${made[0]?.body.id}`);
    await create(tenant);
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
    const first = await create(tenant, { baseUrl: "http://127.0.0.1:1" });
    const second = await create(tenant);
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
    const id = await create(t, { baseUrl: "http://127.0.0.1:1" });
    const read = await t.call("GET", `/v1/providers/${id}`);
    expect(read.status).toBe(200);
    expect(read.body).toMatchObject({ id, baseUrl: "http://127.0.0.1:1", keyFragment: "cdef" });
    const renamed = await t.call("PATCH", `/v1/providers/${id}`, { body: { name: "New name" } });
    expect([renamed.status, renamed.body.name]).toEqual([200, "New name"]);
    expect(renamed.body.updatedAt >= read.body.updatedAt).toBe(true);
  });

  test("400: a malformed id, no name, a field that cannot change", async () => {
    const id = await create(t);
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
    const foreign = await create(await h.tenant());
    for (const id of [missingId, foreign])
      for (const [method, path, body] of [
        ["GET", "", undefined],
        ["PATCH", "", { name: "x" }],
        ["DELETE", "", undefined],
        ["GET", "/models", undefined],
        ["GET", "/thinking-levels?model=openai/gpt-5", undefined],
      ] as const)
        for (const form of ["a", "b"] as const) {
          const answer = await t.call(method, `/v1/providers/${id}${path}`, { body, form });
          expect([method, path, answer.status, answer.body.error.code]).toEqual([
            method,
            path,
            404,
            "provider_not_found",
          ]);
        }
  });

  test("409 provider_name_conflict", async () => {
    const name = (await t.call("GET", `/v1/providers/${await create(t)}`)).body.name;
    const other = await create(t);
    const answer = await t.call("PATCH", `/v1/providers/${other}`, { body: { name } });
    expect([answer.status, answer.body.error.code]).toEqual([409, "provider_name_conflict"]);
    expect((await t.call("PATCH", `/v1/providers/${other}`, { body: { name: "Own name" } })).status).toBe(200);
    expect((await t.call("PATCH", `/v1/providers/${other}`, { body: { name: "Own name" } })).status).toBe(200);
  });
});

describe("DELETE /v1/providers/:id", () => {
  test("204, then 404", async () => {
    const id = await create(t);
    expect((await t.call("DELETE", `/v1/providers/${id}?confirmVersionInvalidation=false`)).status).toBe(204);
    expect((await t.call("DELETE", `/v1/providers/${id}`)).status).toBe(404);
  });

  test("400: a query that is not true or false", async () => {
    const id = await create(t);
    expect((await t.call("DELETE", `/v1/providers/${id}?confirmVersionInvalidation=yes`)).status).toBe(400);
    expect((await t.call("DELETE", `/v1/providers/${id}?force=true`)).status).toBe(400);
  });

  test("409 provider_in_use names the agents, confirmed or not", async () => {
    const id = await create(t);
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

  test("409 provider_historical_use names agents, sessions and tasks; 204 when confirmed", async () => {
    const id = await create(t);
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
    const id = await create(t);
    const agentId = newId("agent");
    let deleting: ReturnType<TestTenant["call"]> | undefined;
    await tx(h.sql, async (inner) => {
      expect((await lockProvider(inner, t.id, id))?.id).toBe(id);
      deleting = t.call("DELETE", `/v1/providers/${id}`);
      await waitsForLock();
      await inner`insert into agents (id, tenant_id, name, config)
        values (${agentId}, ${t.id}, ${agentId}, ${json(inner, { providerId: id })})`;
    });
    const answer = await deleting;
    expect([answer?.status, answer?.body.error.details]).toEqual([409, { agentIds: [agentId] }]);
  });

  async function waitsForLock(): Promise<void> {
    for (let tries = 0; tries < 500; tries++) {
      const [row] = await h.sql`select count(*)::int as waiting from pg_locks where not granted`;
      if (row?.waiting > 0) return;
    }
    throw new Error("The delete did not wait for the lock.");
  }
});

describe("GET /v1/providers/:id/models", () => {
  const servers: VendorServer[] = [];
  afterAll(async () => {
    for (const server of servers) await server.stop();
  });
  function vendor(answer: (request: VendorRequest) => Response | Promise<Response>): VendorServer {
    const server = startVendor(answer);
    servers.push(server);
    return server;
  }
  async function models(providerType: string, baseUrl: string) {
    return t.call("GET", `/v1/providers/${await create(t, { providerType, baseUrl })}/models`);
  }
  const ids = (...list: string[]) => ({ models: list.map((id) => ({ id })) });

  test("200: OpenAI's list, trimmed, deduplicated, sorted, with the vendor's prefix", async () => {
    t = await h.tenant();
    const server = vendor(() =>
      Response.json({
        data: [{ id: "gpt-4o-mini" }, { id: " gpt-4.1 " }, { id: "gpt-4o-mini" }, { id: "" }, {}, null],
      }),
    );
    for (const base of ["/v1", "/v1/", "/proxy/v1"]) {
      const answer = await models("openai", server.url + base);
      expect([answer.status, answer.body]).toEqual([200, ids("openai/gpt-4.1", "openai/gpt-4o-mini")]);
    }
    expect(server.requests.map(({ method, path }) => [method, path])).toEqual([
      ["GET", "/v1/models"],
      ["GET", "/v1/models"],
      ["GET", "/proxy/v1/models"],
    ]);
    expect(server.requests[0]?.headers.get("authorization")).toBe(`Bearer ${secret}`);
  });

  test("200: Anthropic's list, page by page", async () => {
    const server = vendor(({ path }) =>
      path.includes("after_id=claude-a")
        ? Response.json({ data: [{ id: "claude-b" }], has_more: false, last_id: "claude-b" })
        : Response.json({ data: [{ id: "claude-a" }], has_more: true, last_id: "claude-a" }),
    );
    const answer = await models("llm_vendor_b", `${server.url}/v1`);
    expect([answer.status, answer.body]).toEqual([200, ids("anthropic/claude-a", "anthropic/claude-b")]);
    expect(server.requests.map(({ path }) => path)).toEqual([
      "/v1/models?limit=1000",
      "/v1/models?limit=1000&after_id=claude-a",
    ]);
    expect(server.requests[0]?.headers.get("x-api-key")).toBe(secret);
    expect(server.requests[0]?.headers.get("anthropic-version")).toBe("2023-06-01");
  });

  test("200: Google's list, page by page, without models/", async () => {
    const server = vendor(({ path }) =>
      path.includes("pageToken=p2")
        ? Response.json({ models: [{ name: "models/gemini-2.5-pro" }] })
        : Response.json({ models: [{ name: "models/gemini-3-flash" }], nextPageToken: "p2" }),
    );
    const answer = await models("llm_vendor_c", `${server.url}/v1beta`);
    expect([answer.status, answer.body]).toEqual([200, ids("google/gemini-2.5-pro", "google/gemini-3-flash")]);
    expect(server.requests.map(({ path }) => path)).toEqual([
      "/v1beta/models?pageSize=1000",
      "/v1beta/models?pageSize=1000&pageToken=p2",
    ]);
    expect(server.requests[0]?.headers.get("x-goog-api-key")).toBe(secret);
  });

  test("200: OpenRouter's list, ids as they are", async () => {
    const server = vendor(() => Response.json({ data: [{ id: "openai/gpt-5" }, { id: "anthropic/claude-opus-4.5" }] }));
    const answer = await models("openrouter", `${server.url}/api/v1`);
    expect([answer.status, answer.body]).toEqual([200, ids("anthropic/claude-opus-4.5", "openai/gpt-5")]);
    expect(server.requests[0]?.path).toBe("/api/v1/models");
  });

  test("the gateway's public catalogue is asked for without the key", async () => {
    let asked: [string, string | null] | null = null;
    const found = await fetchModelIds(
      async (input, init) => {
        asked = [String(input), new Headers(init?.headers).get("authorization")];
        return Response.json({ data: [{ id: "openai/gpt-5" }] });
      },
      { providerType: "gateway", baseUrl: null, apiKey: secret },
    );
    expect(found).toEqual(["openai/gpt-5"]);
    expect(asked as unknown).toEqual(["https://ai-gateway.vercel.sh/v1/models", null]);
  });

  test("422 model_discovery_unsupported for custom", async () => {
    const answer = await models("custom", h.model.url);
    expect([answer.status, answer.body.error.code]).toEqual([422, "model_discovery_unsupported"]);
  });

  test("503 model_validation_unavailable: key refused, failing, not a list, too large, closed; the key stays out", async () => {
    const answers: Record<string, () => Response> = {
      refused: () => Response.json({ error: { message: `Incorrect API key: ${secret}` } }, { status: 401 }),
      failing: () => new Response("oops", { status: 500 }),
      text: () => new Response("<html>"),
      shape: () => Response.json({ models: "none" }),
      null: () => Response.json(null),
      large: () => new Response(`{"data":[{"id":"${"x".repeat(9 * 1024 * 1024)}"}]}`),
    };
    const server = vendor(({ path }) => (answers[path.split("/")[1] as string] as () => Response)());
    const urls = [...Object.keys(answers).map((name) => `${server.url}/${name}`), "http://127.0.0.1:1"];
    for (const url of urls) {
      const answer = await models("openai", url);
      expect([url, answer.status, answer.body.error?.code]).toEqual([url, 503, "model_validation_unavailable"]);
      expect(JSON.stringify(answer.body)).not.toContain(secret);
    }
  });

  test("requests that come while a list is under way share it", async () => {
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const server = vendor(async () => {
      await held;
      return Response.json({ data: [{ id: "gpt-5" }] });
    });
    const id = await create(t, { baseUrl: server.url });
    const row = (await findProvider(h.sql, t.id, id)) as ProviderRow;
    const checks = Array.from({ length: 20 }, () => checkModel(h.ctx, row, "openai/gpt-5"));
    release();
    await Promise.all(checks);
    expect(server.requests.length).toBe(1);
    await checkModel(h.ctx, row, "openai/gpt-5");
    expect(server.requests.length).toBe(2);
  });

  test("checkModel: model_not_found, model_validation_unavailable, and no question for custom and gateway", async () => {
    const server = vendor(() => Response.json({ data: [{ id: "gpt-5" }] }));
    const reasonOf = async (providerType: string, baseUrl: string | null, model: string) => {
      const row = (await findProvider(h.sql, t.id, await create(t, { providerType, baseUrl }))) as ProviderRow;
      return checkModel(h.ctx, row, model).then(
        () => null,
        (error: ApiError) => error.reason,
      );
    };
    t = await h.tenant();
    expect(await reasonOf("openai", server.url, "openai/gpt-5")).toBeNull();
    expect(await reasonOf("openai", server.url, "openai/gpt-6")).toBe("model_not_found");
    expect(await reasonOf("openai", server.url, "anthropic/gpt-5")).toBe("model_not_found");
    expect(await reasonOf("openrouter", server.url, "openai/gpt-5")).toBe("model_not_found");
    expect(await reasonOf("openai", "http://127.0.0.1:1", "openai/gpt-5")).toBe("model_validation_unavailable");
    expect(await reasonOf("custom", "http://127.0.0.1:1", "any/model")).toBeNull();
    expect(await reasonOf("gateway", null, "any/model")).toBeNull();
  });
});

describe("GET /v1/providers/:id/thinking-levels", () => {
  const none = { known: true, levels: [] };
  const unknown = { known: false, levels: [] };
  const levels = (text: string) => ({ known: true, levels: text.split(" ") });

  test("200: from the bundled catalogue, with no network", async () => {
    t = await h.tenant();
    const cases: [string, Record<string, unknown>][] = [
      ["llm_vendor_a openai/gpt-5", levels("minimal low medium high")],
      ["llm_vendor_a gpt-5", levels("minimal low medium high")],
      ["llm_vendor_a openai/gpt-5-2025-08-07", levels("minimal low medium high")],
      ["llm_vendor_a openai/gpt-5.1", levels("none low medium high")],
      ["llm_vendor_a openai/gpt-4o-mini", none],
      ["llm_vendor_a openai/gpt-4o-mini-2024-07-18", none],
      ["llm_vendor_a openai/never-heard-of", unknown],
      ["llm_vendor_a openai/toString", unknown],
      ["llm_vendor_b anthropic/claude-opus-5-5", levels("low medium high xhigh max")],
      ["llm_vendor_b anthropic/claude-sonnet-4-6", levels("none low medium high max")],
      ["llm_vendor_b anthropic/claude-haiku-4-5-20251001", levels("none minimal low medium high xhigh max")],
      ["llm_vendor_b anthropic/claude-3-haiku-20240307", none],
      ["llm_vendor_b anthropic/never-heard-of", unknown],
      ["llm_vendor_c google/gemini-3-flash-preview", levels("minimal low medium high")],
      ["llm_vendor_c google/gemini-3-pro-preview", levels("low medium high")],
      ["llm_vendor_c google/gemini-2.5-flash", levels("none minimal low medium high xhigh max")],
      ["llm_vendor_c google/gemini-2.5-pro", levels("minimal low medium high xhigh max")],
      ["llm_vendor_c google/gemini-2.0-flash", none],
      ["llm_vendor_c google/gemini-2.5-flash-image", unknown],
      ["llm_vendor_c google/never-heard-of", unknown],
      ["router_vendor openai/gpt-5", levels("minimal low medium high")],
      ["router_vendor openai/gpt-4o:free", none],
      ["router_vendor anthropic/claude-sonnet-4.6", levels("none low medium high")],
      ["router_vendor deepseek/deepseek-r1", unknown],
      ["gateway anthropic/claude-sonnet-4.6", levels("none low medium high max")],
      ["gateway gpt-5", unknown],
      ["custom openai/gpt-5", unknown],
    ];
    const idOf: Record<string, string> = {};
    for (const [asked, expected] of cases) {
      const [type, model] = asked.split(" ") as [string, string];
      idOf[type] ??= await create(t, {
        providerType: type,
        ...(type === "custom" ? { baseUrl: "http://127.0.0.1:1" } : {}),
      });
      const answer = await t.call(
        "GET",
        `/v1/providers/${idOf[type]}/thinking-levels?model=${encodeURIComponent(model)}`,
      );
      expect([asked, answer.status, answer.body]).toEqual([asked, 200, expected]);
    }
  });

  test("400: without a model, or with an empty one", async () => {
    const id = await create(t);
    for (const query of ["", "?model=", "?model=a/b&x=1"]) {
      const answer = await t.call("GET", `/v1/providers/${id}/thinking-levels${query}`);
      expect([query, answer.status, answer.body.error.code]).toEqual([query, 400, "validation_failed"]);
    }
  });
});
