import { describe, expect, test } from "bun:test";
import { deleteTenant } from "../../src/tenants/purge.ts";
import { changeTenant, type TenantChange } from "../../src/tenants/store.ts";
import { useService } from "../harness/fixture.ts";
import { type ApiResponse, eventually, type TestTenant } from "../harness/harness.ts";
import { makeAgent, userMessage } from "../harness/seed.ts";
import { statusAndCode } from "../harness/status-and-code.ts";
import { messagesOf, open, play, script, sessionPath, usageOf } from "../harness/turns.ts";

const h = await useService({ worker: true });

const forms = ["a", "b"] as const;

/** A tenant with an agent and a session, and the limits set after that. */
async function limited(change?: TenantChange) {
  const t = await h.tenant();
  const agentId = await makeAgent(h, t);
  const { sessionId } = await play(t, agentId, null, { message: userMessage("hi"), stream: false });
  if (change !== undefined) await changeTenant(h.sql, t.id, change);
  return { t, agentId, sessionId };
}

/** Every door a turn comes in through over HTTP. */
function doors(t: TestTenant, agentId: string, sessionId: string, form: "a" | "b"): Promise<ApiResponse[]> {
  const post = (path: string, body: object) => t.call("POST", path, { body: { stream: false, ...body }, form });
  return Promise.all([
    post(sessionPath(agentId, null), { message: userMessage("x") }),
    post(sessionPath(agentId, sessionId), { message: userMessage("x") }),
    post(sessionPath(agentId, sessionId), { trigger: "regenerate-message" }),
    post(`/v1/agents/${agentId}/generate`, { messages: [userMessage("x")] }),
  ]);
}

async function expectReadable(t: TestTenant, agentId: string, sessionId: string, status = 200): Promise<void> {
  for (const path of [sessionPath(agentId, null), sessionPath(agentId, sessionId, "/messages"), "/v1/sessions/latest"])
    expect((await t.call("GET", path)).status).toBe(status);
}

describe("usage credit", () => {
  test("402 usage_credit_required: at every door once input and output tokens have used it up; reads stay open", async () => {
    const { t, agentId, sessionId } = await limited({ usageCredit: 150 });
    const ask = (text: string) => play(t, agentId, sessionId, { message: script(text), stream: false });
    expect((await ask("text=a inputTokens=60 outputTokens=40")).status).toBe(200);
    expect((await ask("tool=nothing inputTokens=30 outputTokens=19; fail=401")).status).toBe(502);
    expect((await ask("text=a inputTokens=500 outputTokens=500")).status).toBe(200);
    const before = await messagesOf(t, agentId, sessionId);
    for (const form of forms)
      for (const response of await doors(t, agentId, sessionId, form))
        expect(statusAndCode(response)).toEqual([402, "usage_credit_required"]);
    expect(await messagesOf(t, agentId, sessionId)).toEqual(before);
    await expectReadable(t, agentId, sessionId);
    await changeTenant(h.sql, t.id, { usageCredit: null });
    expect((await ask("text=a")).status).toBe(200);
  });

  test("0 means none left; 1 lets one more turn in", async () => {
    const { t, agentId } = await limited({ usageCredit: 0 });
    const make = () => play(t, agentId, null, { message: userMessage("x"), stream: false });
    expect(statusAndCode(await make())).toEqual([402, "usage_credit_required"]);
    await changeTenant(h.sql, t.id, { usageCredit: 1 });
    expect((await make()).status).toBe(201);
    expect(statusAndCode(await make())).toEqual([402, "usage_credit_required"]);
  });
});

describe("turns per day", () => {
  test("429 quota_exceeded: of 20 at once with a quota of 5 all but five, until midnight UTC", async () => {
    const t = await h.tenant();
    const agentId = await makeAgent(h, t);
    await changeTenant(h.sql, t.id, { quotaTurnsPerDay: 5 });
    const responses = await Promise.all(
      Array.from({ length: 20 }, () => play(t, agentId, null, { message: userMessage("x"), stream: false })),
    );
    expect(responses.filter(({ status }) => status === 201)).toHaveLength(5);
    const refused = responses.filter(({ status }) => status !== 201);
    const midnight = 86_400 - (Math.floor(Date.now() / 1000) % 86_400);
    for (const response of refused) {
      expect(statusAndCode(response)).toEqual([429, "quota_exceeded"]);
      expect(Math.abs(Number(response.headers.get("retry-after")) - midnight)).toBeLessThan(30);
    }
    expect((await t.call("GET", sessionPath(agentId, null))).body.data).toHaveLength(5);
    const [row] = await h.sql`select count(*) as turns from turns where tenant_id = ${t.id}`;
    expect(row?.turns).toBe(5);
  });

  test("counts every door, failed and canceled turns and those before it was set; refused ones not", async () => {
    const { t, agentId, sessionId } = await limited({ quotaTurnsPerDay: 5 }); // One is used.
    expect((await play(t, agentId, sessionId, { message: script("fail=401"), stream: false })).status).toBe(502);
    const live = await open(h, t, "POST", sessionPath(agentId, sessionId), {
      body: { message: script("text=a hangAfterChunks=0") },
    });
    for (const body of [{ message: userMessage("x") }, { message: null }, { trigger: "regenerate-message" }])
      expect([400, 409]).toContain((await play(t, agentId, sessionId, body)).status);
    expect((await play(t, agentId, null, { message: userMessage("x"), version: 7 })).status).toBe(404);
    await t.call("POST", sessionPath(agentId, sessionId, "/cancel"));
    await live.rest();
    expect((await play(t, agentId, sessionId, { trigger: "regenerate-message", stream: false })).status).toBe(200);
    const generated = await t.call("POST", `/v1/agents/${agentId}/generate`, {
      body: { messages: [userMessage("x")], stream: false },
    });
    expect(generated.status).toBe(200);
    for (const form of forms)
      for (const response of await doors(t, agentId, sessionId, form))
        expect(statusAndCode(response)).toEqual([429, "quota_exceeded"]);
    await expectReadable(t, agentId, sessionId);
  });

  test("0 means none", async () => {
    const { t, agentId } = await limited({ quotaTurnsPerDay: 0 });
    expect(statusAndCode(await play(t, agentId, null, { message: userMessage("x") }))).toEqual([429, "quota_exceeded"]);
  });
});

describe("rate limit", () => {
  test("429 rate_limited: with Retry-After beyond so many requests a second, reads included", async () => {
    const { t, agentId } = await limited({ rateLimit: 5 });
    // A second may begin in between, or two where the machine is slow, so one of several tries must see so many.
    const refused = await eventually(async () => {
      const responses = await Promise.all(Array.from({ length: 25 }, () => t.call("GET", sessionPath(agentId, null))));
      const some = responses.filter(({ status }) => status === 429);
      return some.length >= 15 ? some : null;
    });
    for (const response of refused) {
      expect(statusAndCode(response)).toEqual([429, "rate_limited"]);
      expect(Number(response.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
    }
    await eventually(async () => (await t.call("GET", sessionPath(agentId, null))).status === 200);
  });
});

describe("subscription and the end of a tenant", () => {
  test("402 subscription_required: everywhere while inactive; a running turn finishes", async () => {
    const { t, agentId, sessionId } = await limited();
    const message = script('text="one two three" delayMs=40');
    const live = await open(h, t, "POST", sessionPath(agentId, sessionId), { body: { message } });
    await live.until("text-delta");
    await changeTenant(h.sql, t.id, { subscription: "inactive" });
    for (const form of forms)
      for (const response of await doors(t, agentId, sessionId, form))
        expect(statusAndCode(response)).toEqual([402, "subscription_required"]);
    await expectReadable(t, agentId, sessionId, 402);
    const events = await live.rest();
    expect(events.at(-2)?.data).toMatchObject({ type: "finish" });
    await changeTenant(h.sql, t.id, { subscription: "active" });
    expect(await messagesOf(t, agentId, sessionId)).toHaveLength(4);
  });

  test("409 tenant_deleting: while its last turn runs, 401 afterwards", async () => {
    const { t, agentId, sessionId } = await limited();
    const message = script('text="one two three" hangAfterChunks=1');
    const live = await open(h, t, "POST", sessionPath(agentId, sessionId), { body: { message } });
    await live.until("text-delta");
    expect(await deleteTenant(h.sql, t.id)).toBe("deleting");
    for (const form of forms)
      for (const response of await doors(t, agentId, sessionId, form))
        expect(statusAndCode(response)).toEqual([409, "tenant_deleting"]);
    await expectReadable(t, agentId, sessionId);
    expect((await t.call("POST", sessionPath(agentId, sessionId, "/cancel"))).status).toBe(202);
    await live.until("abort");
    await eventually(async () => (await t.call("GET", sessionPath(agentId, null))).status === 401);
    expect(await usageOf(h, live.turnId)).not.toBeNull();
  });
});
