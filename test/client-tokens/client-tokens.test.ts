import { describe, expect, test } from "bun:test";
import { createApiKey } from "../../src/apikeys/store.ts";
import { sweepClientTokens } from "../../src/client-tokens/store.ts";
import { makeClientToken } from "../harness/client-tokens.ts";
import { eventually } from "../harness/eventually.ts";
import { useAgent } from "../harness/fixture.ts";
import { makeAgent } from "../harness/seed.ts";
import { statusAndCode } from "../harness/status-and-code.ts";
import { tablesWith } from "../harness/traces.ts";
import { play, script, sessionPath } from "../harness/turns.ts";

const { h, t, agentId } = await useAgent({ worker: true });
const create = (body: object) => t.call("POST", "/v1/client-tokens", { body: { agentId, userId: "anna", ...body } });
const isValid = async (token: string) => (await t.call("GET", sessionPath(agentId, null), { token })).status === 200;

describe("POST /v1/client-tokens", () => {
  test("201: shown once, valid for an hour or as long as was asked, stored as a digest", async () => {
    const made = await create({ origins: ["https://app.example.com"] });
    expect([made.status, made.body]).toEqual([
      201,
      {
        id: expect.stringMatching(/^ctk_[0-9a-z]{24}$/),
        token: expect.stringMatching(/^parleyc_[A-Za-z0-9]{40}$/),
        can: ["approvals", "clientTools"],
        expiresAt: expect.any(String),
      },
    ]);
    const seconds = (made.body.expiresAt ? Date.parse(made.body.expiresAt) - Date.now() : 0) / 1000;
    expect(Math.abs(seconds - 3_600)).toBeLessThan(60);
    const short = await create({ expiresInSeconds: 60 });
    expect(Date.parse(made.body.expiresAt) - Date.parse(short.body.expiresAt)).toBeGreaterThan(3_000_000);
    expect(await isValid(made.body.token)).toBe(true);
    const headers = { "idempotency-key": crypto.randomUUID() };
    const kept = await t.call("POST", "/v1/client-tokens", { body: { agentId, userId: "anna" }, headers });
    for (const { token } of [made.body, kept.body]) expect(await tablesWith(h.sql, token.slice(8))).toEqual([]);
  });

  test("400 validation_failed, 404 not_found: what is wrong is named; an agent or a session that is not there, another user's too", async () => {
    const wrong: readonly [object, string][] = [
      [{ userId: "" }, "/userId"],
      [{ userId: undefined }, "/userId"],
      [{ expiresInSeconds: 59 }, "/expiresInSeconds"],
      [{ expiresInSeconds: 86_401 }, "/expiresInSeconds"],
      [{ expiresInSeconds: 60.5 }, "/expiresInSeconds"],
      [{ origins: "https://app.example.com" }, "/origins"],
      [{ origins: Array.from({ length: 21 }, (_, place) => `https://${place}.example.com`) }, "/origins"],
      [{ scope: "all" }, "/scope"],
      ...[
        "*",
        "null",
        "app.example.com",
        "https://app.example.com/",
        "https://App.example.com",
        "https://app.example.com:443",
        "https://*.example.com",
        "ftp://app.example.com",
        "https://user@app.example.com",
        "https://app.example.com/chat",
      ].map((origin): [object, string] => [{ origins: ["http://localhost:3000", origin] }, "/origins/1"]),
    ];
    for (const [fields, path] of wrong) {
      const { status, body } = await create(fields);
      expect([status, body.error?.details?.issues?.map((issue: { path: string }) => issue.path)]).toEqual([
        400,
        [path],
      ]);
    }
    const other = await h.tenant();
    const { sessionId } = await play(t, agentId, null, { message: script('text="Hi"'), userId: "bea" });
    const foreign = await makeAgent(h, other);
    for (const fields of [{ agentId: foreign }, { sessionId }, { sessionId: `ss_${"0".repeat(24)}`, userId: "bea" }])
      expect(statusAndCode(await create(fields))).toEqual([404, "not_found"]);
    expect((await create({ sessionId, userId: "bea" })).status).toBe(201);
  });

  test("400 invalid_request: a tenant has 20,000 valid ones at most, also when many ask at once; expired ones do not count", async () => {
    const tenant = await h.tenant();
    const agent = await makeAgent(h, tenant);
    const insert = (count: number, seconds: number) => h.sql`
      insert into client_tokens (id, tenant_id, digest, agent_id, user_id, origins, expires_at)
      select 'ctk_' || md5(random()::text), ${tenant.id}, sha256(random()::text::bytea), ${agent}, 'x', '{}',
        now() + make_interval(secs => ${seconds}) from generate_series(1, ${count})`;
    await insert(19_998, 600);
    await insert(10, -1);
    const make = () => tenant.call("POST", "/v1/client-tokens", { body: { agentId: agent, userId: "anna" } });
    const made = await Promise.all(Array.from({ length: 8 }, make));
    expect(made.filter(({ status }) => status === 201)).toHaveLength(2);
    for (const response of made)
      if (response.status !== 201) expect(statusAndCode(response)).toEqual([400, "invalid_request"]);
  });

  test("400 invalid_request: the client tokens of a tenant have 10,000 origins at most, each agent's counted apart", async () => {
    const tenant = await h.tenant();
    const agent = await makeAgent(h, tenant);
    await h.sql`
      insert into client_origins (origin, agent_id, tenant_id, expires_at)
      select 'https://' || number || '.example.com', ${agent}, ${tenant.id}, now() + interval '1 day'
      from generate_series(1, 9999) number`;
    const make = (origin: string) =>
      tenant.call("POST", "/v1/client-tokens", { body: { agentId: agent, userId: "anna", origins: [origin] } });
    expect((await make("https://last.example.com")).status).toBe(201);
    expect(statusAndCode(await make("https://beyond.example.com"))).toEqual([400, "invalid_request"]);
    expect((await make("https://last.example.com")).status).toBe(201);
    const [count] = await h.sql`select count(*)::int as tokens from client_tokens where tenant_id = ${tenant.id}`;
    expect(count?.tokens).toBe(2);
  });

  test("expires no later than its key", async () => {
    const { token } = await createApiKey(h.sql, t.id, "short", new Date(Date.now() + 120_000));
    const made = await t.call("POST", "/v1/client-tokens", { token, body: { agentId, userId: "anna" } });
    expect(Date.parse(made.body.expiresAt) - Date.now()).toBeLessThanOrEqual(120_000);
  });
});

describe("a client token ends", () => {
  test("when it is deleted, which only its tenant can do: 204, then 401; 404 for a missing and a foreign one", async () => {
    const made = await makeClientToken(t, { agentId });
    const other = await h.tenant();
    expect(statusAndCode(await other.call("DELETE", `/v1/client-tokens/${made.id}`))).toEqual([404, "not_found"]);
    expect(await isValid(made.token)).toBe(true);
    expect((await t.call("DELETE", `/v1/client-tokens/${made.id}`)).status).toBe(204);
    expect(statusAndCode(await made.call("GET", sessionPath(agentId, null)))).toEqual([401, "unauthorized"]);
    expect(statusAndCode(await t.call("DELETE", `/v1/client-tokens/${made.id}`))).toEqual([404, "not_found"]);
  });

  test("when the key that made it is deleted, and no other key's with it", async () => {
    const tenant = await h.tenant();
    const agent = await makeAgent(h, tenant);
    const { apiKey, token: key } = await createApiKey(h.sql, tenant.id, "page", null);
    const body = { agentId: agent, userId: "anna" };
    const [mine, kept] = await Promise.all([
      tenant.call("POST", "/v1/client-tokens", { token: key, body }),
      tenant.call("POST", "/v1/client-tokens", { body }),
    ]);
    expect((await tenant.call("DELETE", `/v1/apikeys/${apiKey.id}`)).status).toBe(204);
    const read = (token: string) => tenant.call("GET", sessionPath(agent, null), { token });
    expect(statusAndCode(await read(mine.body.token))).toEqual([401, "unauthorized"]);
    expect((await read(kept.body.token)).status).toBe(200);
  });

  test("with its key, also when that is deleted while tokens are made: each is refused or not valid", async () => {
    const tenant = await h.tenant();
    const agent = await makeAgent(h, tenant);
    for (let round = 0; round < 5; round += 1) {
      const { apiKey, token } = await createApiKey(h.sql, tenant.id, `page-${round}`, null);
      const body = { agentId: agent, userId: "anna" };
      const making = Array.from({ length: 6 }, () => tenant.call("POST", "/v1/client-tokens", { token, body }));
      expect((await tenant.call("DELETE", `/v1/apikeys/${apiKey.id}`)).status).toBe(204);
      for (const made of await Promise.all(making)) {
        expect([201, 401]).toContain(made.status);
        if (made.status !== 201) continue;
        const read = await tenant.call("GET", sessionPath(agent, null), { token: made.body.token });
        expect(statusAndCode(read)).toEqual([401, "unauthorized"]);
      }
    }
  });

  test("when its time is over, and is swept then", async () => {
    const made = await makeClientToken(t, { agentId, origins: ["https://expired.example.com"] });
    await h.sql`update client_tokens set expires_at = now() where id = ${made.id}`;
    expect(statusAndCode(await made.call("GET", sessionPath(agentId, null)))).toEqual([401, "unauthorized"]);
    const kept = await makeClientToken(t, { agentId });
    await sweepClientTokens(h.sql);
    const rows = await h.sql`select id from client_tokens where id in (${made.id}, ${kept.id})`;
    expect(rows.map(({ id }) => id)).toEqual([kept.id]);
    const origins = () => h.sql`select 1 from client_origins where origin = 'https://expired.example.com'`;
    expect(await origins()).toHaveLength(1);
    await h.sql`update client_origins set expires_at = now() where origin = 'https://expired.example.com'`;
    await sweepClientTokens(h.sql);
    expect(await origins()).toHaveLength(0);
  });

  test("with its agent, of which nothing is left", async () => {
    const agent = await makeAgent(h, t);
    const made = await makeClientToken(t, { agentId: agent, origins: ["https://gone.example.com"] });
    expect((await t.call("DELETE", `/v1/agents/${agent}`)).status).toBe(204);
    expect(statusAndCode(await made.call("GET", sessionPath(agent, null)))).toEqual([401, "unauthorized"]);
    await eventually(async () => {
      const rows = await h.sql`
        select id as row from client_tokens where agent_id = ${agent}
        union all select origin from client_origins where agent_id = ${agent}`;
      return rows.length === 0;
    });
  });
});
