import { describe, expect, test } from "bun:test";
import { useService } from "../harness/fixture.ts";
import type { ApiResponse, TestTenant } from "../harness/harness.ts";
import { eventually } from "../harness/harness.ts";
import { busySession, lineIs } from "../harness/line.ts";
import { makeAgent, userMessage } from "../harness/seed.ts";
import { statusAndCode } from "../harness/status-and-code.ts";
import { play, script, sessionPath } from "../harness/turns.ts";

const h = await useService({ worker: true });
const forms = ["a", "b"] as const;
const refused = [429, "budget_exceeded"] as [number, string];

/** A tenant with an agent and this budget. */
async function withBudget(fields: object) {
  const t = await h.tenant();
  const agentId = await makeAgent(h, t);
  return { t, agentId, budget: await makeBudget(t, fields) };
}

async function makeBudget(t: TestTenant, fields: object) {
  const { status, body } = await t.call("POST", "/v1/budgets", { body: { name: "B", period: "day", ...fields } });
  expect([status, body]).toEqual([201, expect.objectContaining({ name: "B" })]);
  return body as { readonly id: string };
}

async function spendingOf(t: TestTenant, { id }: { readonly id: string }) {
  return (await t.call("GET", `/v1/budgets/${id}/spending`)).body.data;
}

const ask = (t: TestTenant, agentId: string, text: string, fields: object = {}) =>
  play(t, agentId, null, { message: script(text), stream: false, ...fields });

/** Every door a turn comes in through over HTTP. */
function doors(t: TestTenant, agentId: string, sessionId: string, form: "a" | "b"): Promise<ApiResponse[]> {
  const post = (path: string, body: object) => t.call("POST", path, { body: { stream: false, ...body }, form });
  return Promise.all([
    post(sessionPath(agentId, null), { message: userMessage("x") }),
    post(sessionPath(agentId, sessionId), { message: userMessage("x") }),
    post(sessionPath(agentId, sessionId), { trigger: "regenerate-message" }),
    post(`/v1/agents/${agentId}/generate`, { messages: [userMessage("x")] }),
    post("/v1/responses", { model: agentId, input: "x" }),
  ]);
}

describe("a budget of turns", () => {
  test("of 50 at once with a limit of 10 exactly 10 are accepted", async () => {
    const { t, agentId, budget } = await withBudget({ limit: { turns: 10 } });
    const all = await Promise.all(Array.from({ length: 50 }, () => ask(t, agentId, "text=a")));
    expect(all.filter(({ status }) => status === 201)).toHaveLength(10);
    for (const response of all.filter(({ status }) => status !== 201)) expect(statusAndCode(response)).toEqual(refused);
    const [row] = await h.sql`select count(*)::int as turns from turns where tenant_id = ${t.id}`;
    expect(row?.turns).toBe(10);
    expect(await spendingOf(t, budget)).toMatchObject([{ used: 10, limit: 10, userId: null, agentId: null }]);
  });

  test("429 budget_exceeded: at every door, with the budget and the time until the period ends", async () => {
    const { t, agentId, budget } = await withBudget({ limit: { turns: 1 } });
    const { sessionId } = await ask(t, agentId, "text=a");
    const midnight = 86_400 - (Math.floor(Date.now() / 1000) % 86_400);
    for (const form of forms)
      for (const response of await doors(t, agentId, sessionId, form)) {
        expect(statusAndCode(response)).toEqual(refused);
        expect(response.body.error.details).toEqual({ budgetId: budget.id });
        expect(Math.abs(Number(response.headers.get("retry-after")) - midnight)).toBeLessThan(30);
      }
    expect((await t.call("GET", sessionPath(agentId, sessionId, "/messages"))).status).toBe(200);
  });

  test("counts failed and canceled turns; refused ones not", async () => {
    const { t, agentId, budget } = await withBudget({ limit: { turns: 3 } });
    expect((await ask(t, agentId, "fail=401")).status).toBe(502);
    expect((await play(t, agentId, null, { message: userMessage("x"), version: 7 })).status).toBe(404);
    const { sessionId } = await ask(t, agentId, "text=a");
    expect((await ask(t, "ag_000000000000000000000000", "text=a")).status).toBe(404);
    expect(await spendingOf(t, budget)).toMatchObject([{ used: 2 }]);
    expect((await play(t, agentId, sessionId, { message: script("text=a"), stream: false })).status).toBe(200);
    expect(statusAndCode(await ask(t, agentId, "text=a"))).toEqual(refused);
  });

  test("of a turn in the line: asked when it starts, and the turn ends with it", async () => {
    const t = await h.tenant();
    const agentId = await makeAgent(h, t);
    const s = await busySession(h, t, agentId);
    // The one that runs counts, and the one before it.
    const budget = await makeBudget(t, { limit: { turns: 3 } });
    expect(await spendingOf(t, budget)).toMatchObject([{ used: 2 }]);
    const first = play(t, agentId, s.sessionId, { message: userMessage("one"), onBusy: "enqueue", stream: false });
    await lineIs(h, s.sessionId, 1);
    const second = await s.send("two");
    const third = play(t, agentId, s.sessionId, { message: userMessage("three"), onBusy: "enqueue", stream: false });
    await lineIs(h, s.sessionId, 3);
    await s.cancel();
    expect((await first).status).toBe(200);
    const events = await second.rest();
    expect(events.at(-2)?.data).toMatchObject({ type: "error", errorText: expect.stringContaining("budget") });
    const late = await third;
    expect(statusAndCode(late)).toEqual(refused);
    expect(late.body.error.details).toEqual({ budgetId: budget.id });
    expect(Number(late.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(await spendingOf(t, budget)).toMatchObject([{ used: 3 }]);
  });
});

describe("a budget of tokens", () => {
  test("429 budget_exceeded: once input and output have used it up; a raised limit holds at once", async () => {
    const { t, agentId, budget } = await withBudget({ limit: { tokens: 150 } });
    expect((await ask(t, agentId, "text=a inputTokens=60 outputTokens=40")).status).toBe(201);
    expect(await spendingOf(t, budget)).toMatchObject([{ used: 100, limit: 150 }]);
    expect((await ask(t, agentId, "text=a inputTokens=500 outputTokens=500")).status).toBe(201);
    expect(statusAndCode(await ask(t, agentId, "text=a"))).toEqual(refused);
    const change = (body: object) => t.call("PATCH", `/v1/budgets/${budget.id}`, { body });
    expect((await change({ limit: { tokens: 2_000 } })).status).toBe(200);
    expect((await ask(t, agentId, "text=a inputTokens=1 outputTokens=1")).status).toBe(201);
    await change({ limit: { tokens: 1 } });
    expect(statusAndCode(await ask(t, agentId, "text=a"))).toEqual(refused);
    await change({ enabled: false });
    expect((await ask(t, agentId, "text=a inputTokens=1 outputTokens=1")).status).toBe(201);
    expect(await spendingOf(t, budget)).toMatchObject([{ used: 1_104, limit: 1 }]);
    await change({ enabled: true });
    expect(statusAndCode(await ask(t, agentId, "text=a"))).toEqual(refused);
    expect((await t.call("DELETE", `/v1/budgets/${budget.id}`)).status).toBe(204);
    expect((await ask(t, agentId, "text=a")).status).toBe(201);
  });

  test("ends with its period", async () => {
    const { t, agentId, budget } = await withBudget({ limit: { tokens: 10 } });
    expect((await ask(t, agentId, "text=a inputTokens=10 outputTokens=10")).status).toBe(201);
    expect(statusAndCode(await ask(t, agentId, "text=a"))).toEqual(refused);
    await h.sql`update budget_spending set period_start = period_start - interval '1 day' where budget_id = ${budget.id}`;
    expect((await ask(t, agentId, "text=a inputTokens=1 outputTokens=1")).status).toBe(201);
    expect(await spendingOf(t, budget)).toMatchObject([{ used: 2 }]);
  });
});

test("limit 0 refuses everything, by each measure; a budget for ever names no time", async () => {
  for (const limit of [{ turns: 0 }, { tokens: 0 }, { usd: "0" }]) {
    const { t, agentId, budget } = await withBudget({ limit, period: "ever" });
    const response = await ask(t, agentId, "text=a");
    expect(statusAndCode(response)).toEqual(refused);
    expect(response.headers.get("retry-after")).toBeNull();
    expect(response.body.error.details).toEqual({ budgetId: budget.id });
  }
});

describe("whose", () => {
  test("each user by themselves, and turns without one", async () => {
    const { t, agentId, budget } = await withBudget({ limit: { turns: 1 }, each: "user" });
    for (const userId of ["anna", "ben", undefined]) {
      const fields = userId === undefined ? {} : { userId };
      expect((await ask(t, agentId, "text=a", fields)).status).toBe(201);
      expect(statusAndCode(await ask(t, agentId, "text=a", fields))).toEqual(refused);
    }
    const spending = await spendingOf(t, budget);
    expect(spending.map(({ userId }: { userId: string | null }) => userId).sort()).toEqual(
      ["anna", "ben", null].sort(),
    );
  });

  test("one user, one agent, each agent", async () => {
    const t = await h.tenant();
    const [one, other] = [await makeAgent(h, t), await makeAgent(h, t)];
    await makeBudget(t, { limit: { turns: 1 }, userId: "anna", agentId: one });
    const status = async (agentId: string, userId: string) => (await ask(t, agentId, "text=a", { userId })).status;
    expect(await status(one, "anna")).toBe(201);
    expect(await status(one, "anna")).toBe(429);
    expect(await status(one, "ben")).toBe(201);
    expect(await status(other, "anna")).toBe(201);
    const each = await makeBudget(t, { limit: { turns: 3 }, each: "agent" });
    // What was used before it counts.
    expect(await spendingOf(t, each)).toMatchObject([
      { agentId: one, used: 2 },
      { agentId: other, used: 1 },
    ]);
    expect(await status(one, "ben")).toBe(201);
    expect(await status(one, "ben")).toBe(429);
    expect(await status(other, "ben")).toBe(201);
  });

  test("of several the one that lasts longest is named", async () => {
    const { t, agentId } = await withBudget({ limit: { turns: 0 }, period: "hour" });
    const month = await makeBudget(t, { limit: { tokens: 0 }, period: "month" });
    expect((await ask(t, agentId, "text=a")).body.error.details).toEqual({ budgetId: month.id });
  });
});

test("a new budget counts what was used before it in its period, by each measure and period", async () => {
  const t = await h.tenant();
  const agentId = await makeAgent(h, t);
  for (const userId of ["anna", "ben", "anna"])
    await ask(t, agentId, "text=a inputTokens=7 outputTokens=3", { userId });
  await h.sql`update usage set cost_pico = 5000000, cost_complete = true where tenant_id = ${t.id}`;
  for (const period of ["hour", "day", "month", "ever"])
    for (const [limit, used] of [
      [{ turns: 100 }, [2, 1]],
      [{ tokens: 100 }, [20, 10]],
      [{ usd: 1 }, ["0.00001", "0.000005"]],
    ] as const) {
      const budget = await makeBudget(t, { limit, period, each: "user" });
      expect(await spendingOf(t, budget)).toMatchObject([
        { userId: "anna", used: used[0] },
        { userId: "ben", used: used[1] },
      ]);
    }
  await eventually(async () => (await h.sql`select 1 from usage where tenant_id = ${t.id}`).length === 3);
});
