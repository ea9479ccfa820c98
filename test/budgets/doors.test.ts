import { describe, expect, test } from "bun:test";
import { useChat } from "../harness/chat-fixture.ts";
import { makeClientToken } from "../harness/client-tokens.ts";
import type { TestTenant } from "../harness/harness.ts";
import { makeAgent, userMessage } from "../harness/seed.ts";
import { statusAndCode } from "../harness/status-and-code.ts";
import { play, script, sessionPath, textOf } from "../harness/turns.ts";

/** Budgets at the doors where nobody has an API key, and budgets in money. */

const chat = await useChat();
const { h } = chat;
/** A model call of 400 tokens that asks for the next one. */
const step = 'tool=write_todos args={"todos":[]} inputTokens=300 outputTokens=100';
const steps = `[[sim: ${step}; ${step}; text=Never]]`;

async function makeBudget(t: TestTenant, fields: object) {
  const { status, body } = await t.call("POST", "/v1/budgets", { body: { name: "B", period: "day", ...fields } });
  expect(status).toBe(201);
  const used = async () => (await t.call("GET", `/v1/budgets/${body.id}/spending`)).body.data;
  return { id: body.id as string, used };
}

test("a chat is told that there is no answer: in the midst of one, and before the next", async () => {
  const { t, agentId } = await chat.tenant({ tools: ["write_todos"], approvalInChat: { default: "full" } });
  const budget = await makeBudget(t, { limit: { tokens: 300 } });
  const connection = await chat.connectSlack(t, agentId);
  const thread = await chat.mention(connection, steps);
  expect((await chat.inThread(thread, 1)).at(-1)?.text).toContain("could not finish my answer");
  expect(await budget.used()).toMatchObject([{ used: 400 }]);
  h.model.clear();
  await chat.mention(connection, "[[sim: text=Never]]", { thread });
  expect((await chat.inThread(thread, 2)).at(-1)?.text).toBe("Sorry, I cannot answer right now.");
  expect(h.model.requests()).toHaveLength(0);
  expect(await budget.used()).toMatchObject([{ used: 400 }]);
});

describe("a client token", () => {
  test("spends its user's budget, and no other one's", async () => {
    const t = await h.tenant();
    const agentId = await makeAgent(h, t, { tools: ["write_todos"] });
    const budget = await makeBudget(t, { limit: { tokens: 300 }, each: "user" });
    const [anna, ben] = await Promise.all(["anna", "ben"].map((userId) => makeClientToken(t, { agentId, userId })));
    const ask = (who: typeof anna, text: string) =>
      who?.call("POST", sessionPath(agentId, null), { body: { message: userMessage(text), stream: false } });
    const first = await ask(anna, steps);
    const next = await ask(anna, "[[sim: text=Never]]");
    for (const response of [first, next]) {
      expect(statusAndCode(response as never)).toEqual([429, "budget_exceeded"]);
      expect(response?.body.error.details).toEqual({ budgetId: budget.id });
      expect(Number(response?.headers.get("retry-after"))).toBeGreaterThan(0);
    }
    expect((await ask(ben, "[[sim: text=Yes inputTokens=1 outputTokens=1]]"))?.status).toBe(201);
    expect(await budget.used()).toMatchObject([
      { userId: "anna", used: 400 },
      { userId: "ben", used: 2 },
    ]);
  });
});

describe("a budget in money", () => {
  /** A call of 300 and 100 tokens costs 0.005 dollars. */
  const prices = [{ model: "simulated/model", inputUsd: "10", outputUsd: "20" }];

  test("ends a turn before the call that it does not pay for, and refuses the next one", async () => {
    const t = await h.tenant();
    const agentId = await makeAgent(h, t, { tools: ["write_todos"], model: "simulated/model" });
    expect((await t.call("PUT", "/v1/model-prices", { body: { prices } })).status).toBe(200);
    const budget = await makeBudget(t, { limit: { usd: "0.012" } });
    h.model.clear();
    const message = script(`${step}; ${step}; ${step}; text=Never`);
    const { chunks, turnId } = await play(t, agentId, null, { message });
    expect(chunks.at(-1)).toEqual({
      type: "error",
      errorText: 'The budget "B" is used up: its 0.012 US dollars of this UTC day.',
    });
    expect(textOf(chunks)).not.toContain("Never");
    expect(h.model.requests()).toHaveLength(3);
    expect((await t.call("GET", `/v1/turns/${turnId}`)).body).toMatchObject({ costUsd: "0.015", costIsComplete: true });
    expect(await budget.used()).toMatchObject([{ used: "0.015", limit: "0.012" }]);
    const refused = await play(t, agentId, null, { message: script("text=Never"), stream: false });
    expect(statusAndCode(refused)).toEqual([429, "budget_exceeded"]);
    await t.call("PATCH", `/v1/budgets/${budget.id}`, { body: { limit: { usd: 0.02 } } });
    const paid = await play(t, agentId, null, {
      message: script("text=Yes inputTokens=1 outputTokens=1"),
      stream: false,
    });
    expect(paid.status).toBe(201);
    expect(await budget.used()).toMatchObject([{ used: "0.01503", limit: "0.02" }]);
  });

  test("a limit is shown as it was sent, wherever it is", async () => {
    const t = await h.tenant();
    const agentId = await makeAgent(h, t);
    const budget = await makeBudget(t, { limit: { usd: "12.50" } });
    const shown = async () => (await t.call("GET", `/v1/budgets/${budget.id}`)).body.limit;
    expect(await shown()).toEqual({ usd: "12.50" });
    expect(await budget.used()).toMatchObject([{ used: "0", limit: "12.50" }]);
    await t.call("PATCH", `/v1/budgets/${budget.id}`, { body: { limit: { usd: 0.0000001 } } });
    expect(await shown()).toEqual({ usd: "0.0000001" });
    await t.call("PATCH", `/v1/budgets/${budget.id}`, { body: { limit: { usd: "0.00" } } });
    const refused = await play(t, agentId, null, { message: script("text=Never"), stream: false });
    expect(refused.body.error.message).toContain("its 0.00 US dollars of this UTC day");
    // As a process of the version before leaves it.
    await h.sql`update budgets set limit_amount = 3000000000000 where id = ${budget.id}`;
    expect(await shown()).toEqual({ usd: "3" });
    for (const usd of ["1e3", "007", "0.0000000000001", "1000000000000.1", 1e13, 0.1234567890123456, -1]) {
      const { status, body } = await t.call("PATCH", `/v1/budgets/${budget.id}`, { body: { limit: { usd } } });
      expect([usd, status, body.error.details.issues[0].path]).toEqual([usd, 400, "/limit/usd"]);
    }
  });

  test("a model without a price costs nothing, whatever it uses", async () => {
    const t = await h.tenant();
    const agentId = await makeAgent(h, t, { model: "simulated/model" });
    const budget = await makeBudget(t, { limit: { usd: "0.000001" } });
    for (const text of ["One", "Two"]) {
      const message = script(`text=${text} inputTokens=1000000 outputTokens=1000000`);
      const { status, turnId } = await play(t, agentId, null, { message, stream: false });
      expect(status).toBe(201);
      expect((await t.call("GET", `/v1/turns/${turnId}`)).body).toMatchObject({ costUsd: null, costIsComplete: false });
    }
    expect(await budget.used()).toMatchObject([{ used: "0" }]);
  });
});
