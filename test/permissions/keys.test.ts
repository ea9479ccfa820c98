import { describe, expect, test } from "bun:test";
import { SignJWT } from "jose";
import { useTenant } from "../harness/fixture.ts";
import { type ApiResponse, eventually } from "../harness/harness.ts";
import { makeAgent, makeProvider } from "../harness/seed.ts";
import { dashboardSecret } from "../harness/sign-in-scene.ts";
import { statusAndCode } from "../harness/status-and-code.ts";
import { script } from "../harness/turns.ts";

const { h, t } = await useTenant({
  worker: true,
  env: { CONSOLE: "1", DASHBOARD_JWT_SECRET: dashboardSecret, ALLOW_PRIVATE_NETWORK: "1" },
});
await h.sql`update tenants set api_keys_max = 100 where id = ${t.id}`;
const [one, other] = [await makeAgent(h, t), await makeAgent(h, t)];
const keyWith = async (fields: object) => {
  const { status, body } = await t.call("POST", "/v1/apikeys", { body: { name: "k", ...fields } });
  expect(status).toBe(201);
  return body.token as string;
};
const say = (agentId: string, token = t.token) =>
  t.call("POST", `/v1/agents/${agentId}/sessions`, { token, body: { message: script('text="Hi"'), stream: false } });

describe("POST /v1/apikeys", () => {
  test("400 invalid_request: no agents, an agent twice, more than 100, a role that there is not; 404: an agent that there is not", async () => {
    const many = Array.from({ length: 101 }, (_, n) => `ag_${String(n).padStart(24, "0")}`);
    for (const [fields, path] of [
      [{ agentIds: [] }, "/agentIds"],
      [{ agentIds: [one, one] }, "/agentIds"],
      [{ agentIds: many }, "/agentIds"],
      [{ role: "owner" }, "/role"],
      [{ role: null }, "/role"],
    ] as const) {
      const response = await t.call("POST", "/v1/apikeys", { body: { name: "k", ...fields } });
      expect([...statusAndCode(response), response.body.error.details?.issues[0].path]).toEqual([
        ...[400, "invalid_request", path],
      ]);
    }
    const foreign = await makeAgent(h, await h.tenant());
    for (const id of [foreign, `ag_${"0".repeat(24)}`]) {
      const response = await t.call("POST", "/v1/apikeys", { body: { name: "k", agentIds: [one, id] } });
      expect(statusAndCode(response)).toEqual([404, "not_found"]);
    }
  });

  test("403 forbidden: for more agents than the key itself is limited to, and for an agent outside 404; within them 201", async () => {
    const token = await keyWith({ agentIds: [one] });
    for (const fields of [{}, { agentIds: null }]) {
      const response = await t.call("POST", "/v1/apikeys", { token, body: { name: "k", ...fields } });
      expect([...statusAndCode(response), response.body.error.details]).toEqual([
        ...[403, "forbidden", { role: "admin", needs: "admin" }],
      ]);
    }
    for (const agentIds of [[other], [one, other]]) {
      const response = await t.call("POST", "/v1/apikeys", { token, body: { name: "k", agentIds } });
      expect([403, 404]).toContain(response.status);
    }
    const made = await t.call("POST", "/v1/apikeys", { token, body: { name: "k", agentIds: [one], role: "reader" } });
    expect([made.status, made.body.apiKey]).toMatchObject([201, { role: "reader", agentIds: [one] }]);
    const seen = (await t.call("GET", "/v1/apikeys", { token })).body.apiKeys;
    expect(seen.map(({ agentIds }: { agentIds: string[] }) => agentIds)).toEqual([[one], [one]]);
    const [first] = (await t.call("GET", "/v1/apikeys")).body.apiKeys;
    expect((await t.call("DELETE", `/v1/apikeys/${first.id}`, { token })).status).toBe(404);
  });

  test("lastUsedAt: the minute of the last request, and one write a minute at most", async () => {
    const token = await keyWith({ name: "used" });
    const lastUsed = async () => {
      const [row] = await h.sql<{ lastUsedAt: Date | null; xmin: string }[]>`
        select last_used_at, xmin::text from api_keys where name = 'used' and tenant_id = ${t.id}`;
      return row;
    };
    expect(await lastUsed()).toMatchObject({ lastUsedAt: null });
    const before = Math.floor(Date.now() / 60_000) * 60_000;
    await t.call("GET", "/v1/agents", { token });
    await eventually(async () => (await lastUsed())?.lastUsedAt !== null);
    const first = await lastUsed();
    expect([before, before + 60_000]).toContain(first?.lastUsedAt?.getTime() as number);
    for (let n = 0; n < 20; n += 1) await t.call("GET", "/v1/agents", { token });
    const shown = (await t.call("GET", "/v1/apikeys")).body.apiKeys.find(
      ({ name }: { name: string }) => name === "used",
    );
    expect(shown.lastUsedAt).toMatch(/:00\.000Z$/);
    const minutes = new Set([first?.xmin, (await lastUsed())?.xmin]);
    // A further write is right where a further minute has begun.
    expect(minutes.size).toBeLessThanOrEqual(1 + Math.floor((Date.now() - before) / 60_000));
  });
});

describe("a role", () => {
  test("of a key that was recalled is looked up by the statement that accepts the turn", async () => {
    const token = await keyWith({ role: "runner", agentIds: [one], name: "recalled" });
    expect((await say(one, token)).status).toBe(201);
    await h.sql`update api_keys set role = 'approver' where tenant_id = ${t.id} and name = 'recalled'`;
    const refused = await say(one, token);
    expect([...statusAndCode(refused), refused.body.error.details]).toEqual([
      ...[403, "forbidden", { role: "approver", needs: "runner" }],
    ]);
    await h.sql`update api_keys set role = 'runner' where tenant_id = ${t.id} and name = 'recalled'`;
    expect((await say(one, token)).status).toBe(201);
    await h.sql`update api_keys set agent_ids = ${[other]} where tenant_id = ${t.id} and name = 'recalled'`;
    expect(statusAndCode(await say(one, token))).toEqual([404, "not_found"]);
    expect((await say(other, token)).status).toBe(201);
  });

  test("of a dashboard JWT is the claim's; none is admin, another one 401", async () => {
    const signed = (claims: object) =>
      new SignJWT({ tenantId: t.id, ...claims })
        .setProtectedHeader({ alg: "HS256" })
        .setExpirationTime("5 min")
        .sign(new TextEncoder().encode(dashboardSecret));
    const asked = async (claims: object) => {
      const token = await signed(claims);
      const [keys, agents] = [
        await t.call("GET", "/v1/apikeys", { token }),
        await t.call("GET", "/v1/agents", { token }),
      ];
      return [keys.status, agents.status];
    };
    expect(await asked({})).toEqual([200, 200]);
    expect(await asked({ role: "admin" })).toEqual([200, 200]);
    expect(await asked({ role: "reader" })).toEqual([403, 200]);
    for (const role of ["owner", "", null, 1, ["admin"]]) expect(await asked({ role })).toEqual([401, 401]);
  });

  test("below editor sees no end of a credential", async () => {
    const provider = await makeProvider(h, t, { name: crypto.randomUUID() });
    const read = async (role: string) =>
      (await t.call("GET", `/v1/providers/${provider.id}`, { token: await keyWith({ role }) })).body;
    const shown = await read("editor");
    expect(shown.keyFragment).not.toBe("");
    for (const role of ["reader", "approver", "runner"])
      expect(await read(role)).toEqual({ ...shown, keyFragment: "" });
  });
});

describe("a key that is limited to agents", () => {
  test("sums, the overview and what waits hold theirs alone", async () => {
    const token = await keyWith({ agentIds: [one] });
    await Promise.all([say(one), say(other), say(other)]);
    const counted = (agentId: string) => h.sql`select 1 from usage where agent_id = ${agentId}`;
    const mine = (await counted(one)).length;
    const usage = async (path: string) => (await t.call("GET", path, { token })).body.totals.requestCount;
    expect(await usage("/v1/usage")).toBe(mine);
    expect(await usage("/v1/usage?groupBy=session")).toBe(mine);
    expect(await usage(`/v1/usage?agentId=${other}`)).toBe(0);
    expect(await usage(`/v1/agents/${other}/usage`)).toBe(0);
    const canceled = await t.call("POST", "/v1/turns/cancel", { token, body: { agentId: other } });
    expect([canceled.status, canceled.body]).toEqual([202, { canceled: 0 }]);
  });

  test("makes no agent, and a webhook of its agents alone, which others of it see", async () => {
    const token = await keyWith({ agentIds: [one] });
    const refused = await t.call("POST", "/v1/agents", { token, body: { name: crypto.randomUUID() } });
    expect(statusAndCode(refused)).toEqual([403, "forbidden"]);
    const body = { url: "http://127.0.0.1:9/", events: ["turn.ended"] };
    const made = await t.call("POST", "/v1/webhooks", { token, body });
    expect([made.status, made.body.agentIds]).toEqual([201, [one]]);
    const wide = (await t.call("POST", "/v1/webhooks", { body })).body;
    expect(wide.agentIds).toBeNull();
    expect((await t.call("GET", `/v1/webhooks/${wide.id}`, { token })).status).toBe(404);
    expect((await t.call("POST", `/v1/webhooks/${wide.id}/test`, { token })).status).toBe(404);
    const seen = (await t.call("GET", "/v1/webhooks", { token })).body.data;
    expect(seen.map(({ id }: { id: string }) => id)).toEqual([made.body.id]);
    const turns = await Promise.all([say(one), say(other)]);
    const ids = turns.map(({ headers }) => headers.get("x-turn-id"));
    const told = async (webhookId: string) => {
      const rows = await h.sql<{ ids: { turnId: string } }[]>`
        select ids from webhook_deliveries where webhook_id = ${webhookId}`;
      return rows.map((row) => row.ids.turnId);
    };
    await eventually(async () => (await told(wide.id)).length === ids.length);
    await eventually(async () => (await told(made.body.id)).length > 0);
    expect(await told(made.body.id)).toEqual([String(ids[0])]);
  });

  test("422 idempotency_key_reused: what is out of its reach is not told under the key of who reaches it", async () => {
    const token = await keyWith({ agentIds: [one] });
    const headers = { "idempotency-key": crypto.randomUUID() };
    const path = `/v1/agents/${other}/sessions`;
    const body = { message: script('text="a secret"'), stream: false };
    expect((await t.call("POST", path, { headers, body })).status).toBe(201);
    expect((await t.call("POST", path, { headers, body })).status).toBe(201);
    const answers = await Promise.all(
      [path, `/v1/agents/ag_${"1".repeat(24)}/sessions`].map((asked) =>
        t.call("POST", asked, { headers, body, token }),
      ),
    );
    for (const answer of answers) {
      expect(answer.status).toBeGreaterThanOrEqual(400);
      expect(JSON.stringify(answer.body)).not.toContain("secret");
    }
    expect(statusAndCode(answers[0] as ApiResponse)).toEqual(statusAndCode(answers[1] as ApiResponse));
  });

  test("422 idempotency_key_reused: a key or a webhook for all, which somebody else has made under the same key", async () => {
    const token = await keyWith({ agentIds: [one], role: "admin" });
    for (const [path, body] of [
      ["/v1/apikeys", { name: "for all" }],
      ["/v1/webhooks", { url: "https://example.org/all", events: ["turn.ended"] }],
    ] as const) {
      const headers = { "idempotency-key": crypto.randomUUID() };
      const made = await t.call("POST", path, { body, headers });
      expect(made.status).toBe(201);
      const replayed = await t.call("POST", path, { body, headers, token });
      expect(statusAndCode(replayed)).toEqual([422, "idempotency_key_reused"]);
      expect((await t.call("POST", path, { body, headers })).body).toEqual(made.body);
    }
  });

  test("403 forbidden: what all agents pay by, prices and the connection to a billing provider", async () => {
    const token = await keyWith({ agentIds: [one], role: "admin" });
    for (const [method, path, body] of [
      ["PUT", "/v1/model-prices", { prices: [] }],
      ["POST", "/v1/merchant-connection", { provider: "stripe", apiKey: "sk_test_1" }],
      ["DELETE", "/v1/merchant-connection", undefined],
    ] as const)
      expect(statusAndCode(await t.call(method, path, { token, ...(body && { body }) }))).toEqual([403, "forbidden"]);
  });

  test("reads those audit events that are about one of its agents", async () => {
    const token = await keyWith({ agentIds: [one] });
    for (const id of [one, other]) await t.parley.agents.update(id, { instructions: crypto.randomUUID() });
    const { data } = (await t.call("GET", "/v1/audit-events?action=agent.update", { token })).body;
    expect(new Set(data.map(({ resourceId }: { resourceId: string }) => resourceId))).toEqual(new Set([one]));
  });
});
