import { expect, test } from "bun:test";
import { eventually } from "../harness/harness.ts";
import {
  type Client,
  type Installation,
  processWaitMs,
  sharedRedisUrl,
  startInstallation,
} from "../harness/processes.ts";

/** Budgets over two HTTP processes and two workers. */

/** A model call of 100 tokens that asks for the next one. */
const step = 'tool=write_todos args={"todos":[]} inputTokens=60 outputTokens=40';
const turnsAtOnce = 30;

/** The same tenant at each of two HTTP processes, with an agent that may call a tool. */
async function openTenant(installation: Installation): Promise<[Client, Client]> {
  const [first, second] = await Promise.all([installation.serve(), installation.serve()]);
  const made = await installation.client(first.url);
  const changed = await made.request("PUT", `/v1/agents/${made.agentId}`, { tools: ["write_todos"] });
  expect(changed.status).toBe(200);
  return [made, made.at(second.url)];
}

async function makeBudget(c: Client, limit: object) {
  const made = await c.request("POST", "/v1/budgets", { name: "B", period: "ever", limit });
  expect(made.status).toBe(201);
  const { id } = (await made.json()) as { id: string };
  const used = async () => {
    const { data } = (await (await c.request("GET", `/v1/budgets/${id}/spending`)).json()) as {
      data: { used: number }[];
    };
    return data[0]?.used;
  };
  return { id, used };
}

test.skipIf(sharedRedisUrl === null)(
  "turns at once over two HTTP processes: exactly as many as the budget has are accepted",
  async () => {
    await using installation = await startInstallation();
    const both = await openTenant(installation);
    await installation.work();
    const budget = await makeBudget(both[0], { turns: 10 });
    const all = await Promise.all(
      Array.from({ length: turnsAtOnce }, (_, place) => (both[place % 2] as Client).json("[[sim: text=a]]")),
    );
    const refused = all.filter(({ status }) => status !== 201);
    expect(refused).toHaveLength(turnsAtOnce - 10);
    for (const { status, body } of refused)
      expect([status, body.error.code, body.error.details]).toEqual([429, "budget_exceeded", { budgetId: budget.id }]);
    const [row] =
      await installation.sql`select count(*)::int as turns from turns where tenant_id = ${both[0].tenantId}`;
    expect(row?.turns).toBe(10);
    expect(await budget.used()).toBe(10);
  },
  2 * processWaitMs,
);

test.skipIf(sharedRedisUrl === null)(
  "a worker is killed while turns spend: no token is lost or counted twice, and each turn overdraws by one call at most",
  async () => {
    await using installation = await startInstallation();
    const both = await openTenant(installation);
    const { sql, model } = installation;
    const [{ tenantId }] = both;
    const workers = await Promise.all([installation.work(), installation.work()]);
    const limit = 6_000;
    const budget = await makeBudget(both[0], { tokens: limit });
    const all = Array.from({ length: turnsAtOnce }, (_, place) =>
      (both[place % 2] as Client).json(`[[sim: ${`chunks=4 delayMs=100 ${step}; `.repeat(6)}text=Done]]`),
    );
    const runningAt = async (workerId: string) => {
      const [row] = await sql`
        select count(*)::int as n from turns where tenant_id = ${tenantId} and worker_id = ${workerId} and status = 'running' and steps_done > 0`;
      return Number(row?.n);
    };
    const [killed] = workers;
    await eventually(async () => (await runningAt(killed?.workerId ?? "")) > 0, processWaitMs);
    await killed?.kill();
    await Promise.all(all);
    await eventually(async () => {
      const [row] = await sql`
        select count(*)::int as n from turns where tenant_id = ${tenantId} and status in ('queued', 'running')`;
      return row?.n === 0;
    }, processWaitMs);
    const [booked] = await sql`
      select sum(input_tokens + output_tokens)::int as tokens from usage where tenant_id = ${tenantId}`;
    expect(await budget.used()).toBe(booked?.tokens);
    expect(booked?.tokens).toBeGreaterThanOrEqual(limit);
    // A call under way of each turn that ran when the limit was reached, and of the killed worker's turns the one that was lost.
    const calls = model.requests().length;
    expect(calls).toBeLessThanOrEqual(limit / 100 + 2 * turnsAtOnce);
    for (const client of both) {
      const { status, body } = await client.json("[[sim: text=Never]]");
      expect([status, body.error.code]).toEqual([429, "budget_exceeded"]);
    }
    expect(model.requests()).toHaveLength(calls);
  },
  3 * processWaitMs,
);
