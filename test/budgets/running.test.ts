import { describe, expect, test } from "bun:test";
import { useService } from "../harness/fixture.ts";
import { eventually } from "../harness/harness.ts";
import { afterTools, holdModel } from "../harness/held-model.ts";
import { makeAgent } from "../harness/seed.ts";
import { statusAndCode } from "../harness/status-and-code.ts";
import { TaskFixture } from "../harness/task-fixture.ts";
import { idle, messagesOf, play, script, sessionPath, textOf } from "../harness/turns.ts";
import { useReceiver } from "../harness/webhook-fixture.ts";

const h = await useService({ worker: true });
const hooks = await useReceiver();
const forms = ["a", "b"] as const;
const step = 'tool=write_todos args={"todos":[]} inputTokens=300 outputTokens=100';

async function withBudget(fields: object, agent: Parameters<typeof makeAgent>[2] = { tools: ["write_todos"] }) {
  const t = await h.tenant();
  const agentId = await makeAgent(h, t, agent);
  const { body } = await t.call("POST", "/v1/budgets", { body: { name: "Support", period: "day", ...fields } });
  const budget = body as { readonly id: string };
  const used = async () => (await t.call("GET", `/v1/budgets/${budget.id}/spending`)).body.data[0]?.used;
  return { t, agentId, budget, used };
}

describe("a budget that is used up within a turn", () => {
  test.each(forms)("ends it before the next model call, and what its steps did is kept; form %s", async (form) => {
    const { t, agentId, budget, used } = await withBudget({ limit: { tokens: 1_000 } });
    const message = script(`text="First." ${step}; text="Second." ${step}; text="Third." ${step}; text="Never."`);
    h.model.clear();
    const { chunks, sessionId, turnId } = await play(t, agentId, null, { message }, { form });
    expect(chunks.at(-1)).toEqual({
      type: "error",
      errorText: 'The budget "Support" is used up: its 1000 tokens of this UTC day.',
    });
    expect(textOf(chunks)).toBe("First.Second.Third.");
    expect(h.model.requests()).toHaveLength(3);
    expect(await used()).toBe(1_200);
    const turn = (await t.call("GET", `/v1/turns/${turnId}`)).body;
    expect([turn.status, turn.error.code, turn.error.details]).toEqual([
      "failed",
      "budget_exceeded",
      { budgetId: budget.id },
    ]);
    expect((await t.call("GET", "/v1/turns")).body.data[0].error).toEqual({
      code: "budget_exceeded",
      message: turn.error.message,
    });
    const [asked, answer] = await messagesOf(t, agentId, sessionId);
    expect(asked.parts).toEqual(message.parts);
    expect(JSON.stringify(answer)).toContain("Third.");
  });

  test.each(forms)("429 budget_exceeded: with stream: false, in a session and a generation; form %s", async (form) => {
    const { t, agentId, budget } = await withBudget({ limit: { tokens: 300 } });
    const message = script(`${step}; text=Never`);
    const played = await play(t, agentId, null, { message, stream: false }, { form });
    const change = { body: { limit: { tokens: 600 } } };
    expect((await t.call("PATCH", `/v1/budgets/${budget.id}`, change)).status).toBe(200);
    const body = { messages: [message], stream: false };
    const generated = await t.call("POST", `/v1/agents/${agentId}/generate`, { body, form });
    for (const response of [played, generated]) {
      expect(statusAndCode(response)).toEqual([429, "budget_exceeded"]);
      expect(response.body.error.details).toEqual({ budgetId: budget.id });
      expect(Number(response.headers.get("retry-after"))).toBeGreaterThan(0);
    }
  });

  test("50 turns at once with one token left: each makes at most one model call, and nothing is lost", async () => {
    const { t, agentId, used } = await withBudget({ limit: { tokens: 1 } });
    h.model.clear();
    const turns = await Promise.all(
      Array.from({ length: 50 }, () => play(t, agentId, null, { message: script(`${step}; ${step}; text=Never`) })),
    );
    const begun = turns.filter(({ status }) => status === 201);
    expect(begun.length).toBeGreaterThan(0);
    expect(h.model.requests().length).toBeLessThanOrEqual(begun.length);
    const rows = await h.sql<{ calls: number }[]>`select model_calls as calls from turns where tenant_id = ${t.id}`;
    for (const { calls } of rows) expect(calls).toBeLessThanOrEqual(1);
    expect(await used()).toBe(400 * h.model.requests().length);
    const [booked] = await h.sql`
      select sum(input_tokens + output_tokens)::int as tokens from usage where tenant_id = ${t.id}`;
    expect(booked?.tokens).toBe(await used());
  });

  test("money: a model without a price costs nothing, one with a price is booked to the picodollar", async () => {
    const { t, used } = await withBudget({ limit: { usd: "1000" } });
    const agentId = await makeAgent(h, t, { model: "gpt-4o-mini" });
    const { turnId } = await play(t, agentId, null, { message: script("text=a inputTokens=1000 outputTokens=1000") });
    const turn = (await t.call("GET", `/v1/turns/${turnId}`)).body;
    expect(await used()).toBe(turn.costUsd ?? "0");
  });

  test("a continuation asks too, and is not counted as a turn again", async () => {
    const approvalInChat = { default: "manual" as const, overrides: [] };
    const { t, agentId, budget } = await withBudget(
      { limit: { tokens: 1_000 } },
      { tools: ["workspace"], approvalInChat },
    );
    const turns = (await t.call("POST", "/v1/budgets", { body: { name: "T", period: "day", limit: { turns: 5 } } }))
      .body;
    const { sessionId, turnId } = await play(t, agentId, null, {
      message: script('text=Before tool=write args={"path":"a.txt","content":"x"}; text=Never'),
    });
    const path = sessionPath(agentId, sessionId, "/tool-approvals");
    const { approvals } = (await t.call("GET", path)).body;
    await t.call("PATCH", `/v1/budgets/${budget.id}`, { body: { limit: { tokens: 0 } } });
    h.model.clear();
    expect((await t.call("POST", `${path}/${approvals[0].id}`, { body: { approved: true } })).status).toBe(202);
    await idle(h, sessionId);
    expect(h.model.requests()).toHaveLength(0);
    const [turn] = await h.sql`select status, error ->> 'code' as code from turns where id = ${turnId}`;
    expect(turn).toEqual({ status: "failed", code: "budget_exceeded" });
    expect((await t.call("GET", `/v1/budgets/${turns.id}/spending`)).body.data[0].used).toBe(1);
  });

  test("a budget that is made while a turn runs counts all of it, and holds before its next call", async () => {
    const t = await h.tenant();
    await using model = holdModel(h.model, afterTools);
    const agentId = await makeAgent({ model }, t, { tools: ["write_todos"] });
    const message = script(`${step}; text=Slow ${step}; ${step}; text=Never`);
    h.model.clear();
    const playing = play(t, agentId, null, { message });
    await eventually(() => h.model.requests().length >= 2);
    const { body } = await t.call("POST", "/v1/budgets", {
      body: { name: "Late", period: "ever", limit: { tokens: 500 } },
    });
    model.release();
    const { chunks } = await playing;
    expect(chunks.at(-1)).toMatchObject({ type: "error", errorText: 'The budget "Late" is used up: its 500 tokens.' });
    expect(h.model.requests()).toHaveLength(2);
    expect((await t.call("GET", `/v1/budgets/${body.id}/spending`)).body.data).toMatchObject([{ used: 800 }]);
  });
});

test("runs of tasks are blocked: at their start, and in the midst", async () => {
  const { t, agentId, budget } = await withBudget({ limit: { tokens: 300 } });
  const prompt = `[[sim: ${step}; text=Never]]`;
  const tasks = new TaskFixture(h, t, agentId);
  const path = await tasks.made(prompt);
  const run = async () => tasks.ended(await tasks.started(path));
  for (const ran of [await run(), await run()]) {
    expect(ran.status).toBe("blocked");
    expect(ran.error).toEqual({ code: "budget_exceeded", message: expect.stringContaining("Support") });
  }
  expect(budget.id).toMatch(/^bud_/);
});

describe("webhooks", () => {
  test("budget.warned and budget.reached: once a period and subject", async () => {
    const { t, agentId, budget } = await withBudget({ limit: { tokens: 100 }, warnAtPercent: 50, each: "user" });
    const hook = await hooks.hook(t, ["budget.warned", "budget.reached"]);
    const ask = (userId: string, tokens: number) =>
      play(t, agentId, null, { message: script(`text=a inputTokens=${tokens} outputTokens=0`), userId, stream: false });
    await ask("anna", 40);
    await ask("anna", 20);
    await hooks.told(t, hook, 1);
    await ask("anna", 1);
    await ask("anna", 50);
    await ask("ben", 200);
    const told = await hooks.told(t, hook, 4);
    const seen = told.map(({ type, data }) => [type, data.ids.userId].join(" ")).sort();
    expect(seen).toEqual(["budget.reached anna", "budget.reached ben", "budget.warned anna", "budget.warned ben"]);
    expect(told[0]?.data).toEqual({ ids: { budgetId: budget.id, userId: "anna", agentId: null }, status: "warned" });
    // The next period.
    await h.sql`update budget_spending set period_start = period_start - interval '1 day' where budget_id = ${budget.id}`;
    await ask("anna", 60);
    await hooks.told(t, hook, 5);
    // A limit that is lowered below what was used.
    await t.call("PATCH", `/v1/budgets/${budget.id}`, { body: { limit: { tokens: 60 } } });
    await hooks.told(t, hook, 6);
  });
});
