import { expect, test } from "bun:test";
import postgres from "postgres";
import { useService } from "../harness/fixture.ts";
import { eventually, type TestTenant } from "../harness/harness.ts";
import { statusAndCode } from "../harness/status-and-code.ts";

const h = await useService();

const make = (t: TestTenant, n: number) =>
  t.call("POST", "/v1/budgets", { body: { name: `B${n}`, period: "day", limit: { turns: 10 } } });

async function budgetsOf(t: TestTenant): Promise<number> {
  const [row] = await h.sql<{ budgets: number }[]>`
    select count(*)::int as budgets from budgets where tenant_id = ${t.id}`;
  return row?.budgets ?? 0;
}

test("60 at once of one tenant: a few are under way, the others wait without a connection; another tenant's is made meanwhile", async () => {
  const [many, other] = [await h.tenant(), await h.tenant()];
  // What was used before a budget is counted when no statement runs any more that began before it: this one holds that up.
  const older = postgres(h.databaseUrl, { max: 1 });
  const held = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const holding = older.begin("isolation level repeatable read", async (inner) => {
    await inner`select 1 from tenants limit 1`;
    begun.resolve();
    await held.promise;
  });
  await begun.promise;
  const all = Array.from({ length: 60 }, (_, n) => make(many, n));
  await eventually(async () => (await budgetsOf(many)) === 2);
  const others = make(other, 0);
  await eventually(async () => (await budgetsOf(other)) === 1);
  expect(await budgetsOf(many)).toBe(2);
  held.resolve();
  await holding;
  await older.end();
  expect((await others).status).toBe(201);
  const responses = await Promise.all(all);
  // On a machine where this takes longer than a request waits, the last ones are told to come again.
  const made = responses.filter(({ status }) => status === 201);
  for (const response of responses.filter(({ status }) => status !== 201)) {
    expect(statusAndCode(response)).toEqual([429, "rate_limited"]);
    expect(response.headers.get("retry-after")).toBe("1");
  }
  expect(await budgetsOf(many)).toBe(made.length);
  expect(made.length).toBeGreaterThanOrEqual(2);
});
