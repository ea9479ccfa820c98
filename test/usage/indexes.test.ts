import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import postgres from "postgres";
import type { Sql } from "../../src/kernel/database/client.ts";
import { largestSessions } from "../../src/usage/largest.ts";
import type { UsageQuestion } from "../../src/usage/query.ts";
import { usageGroups } from "../../src/usage/schema.ts";
import { readUsage } from "../../src/usage/store.ts";
import { sumUsage } from "../../src/usage/sums.ts";
import { useAgent } from "../harness/fixture.ts";
import { withPatientClient } from "../harness/patient-client.ts";
import { play, script } from "../harness/turns.ts";
import { usageQuestion } from "../harness/usage-question.ts";

const { h, t, agentId } = await useAgent({ worker: true });

/** The indexes of `usage` that hold a turn's row. */
async function indexesWith(turnId: string): Promise<string[]> {
  const indexes = await h.sql<{ name: string; holds: string }[]>`
    select indexrelid::regclass::text as name, coalesce(pg_get_expr(indpred, indrelid), 'true') as holds
    from pg_index where indrelid = 'usage'::regclass order by 1`;
  const found: string[] = [];
  for (const { name, holds } of indexes)
    if ((await h.sql`select 1 from usage where turn_id = ${turnId} and ${h.sql.unsafe(holds)}`).length > 0)
      found.push(name);
  return found;
}

test("the end of a turn writes to two indexes, and the others get its row when it is summed", async () => {
  const { turnId } = await play(t, agentId, null, { message: script("text=hi") });
  expect(await indexesWith(turnId)).toEqual(["usage_pkey", "usage_unsummed"]);
  await sumUsage(h.sql);
  expect(await indexesWith(turnId)).toEqual([
    "usage_agents",
    "usage_days",
    "usage_pkey",
    "usage_sessions",
    "usage_users",
  ]);
});

/** Turns of a tenant that are summed, and those that are not; other tenants have as many each. */
const summed = 10_000;
const unsummed = 400;
const tenants = 5;
const april = usageQuestion("2025-04-01", "2025-04-28");
const session = `ss_${"7".padStart(24, "0")}`;

/** 28 days, 10 agents, 250 users, 1,000 sessions of 10 turns; turns that are not summed are of the last day. */
async function seed(sql: postgres.Sql): Promise<void> {
  await sql`
    insert into usage (turn_id, tenant_id, agent_id, session_id, user_id, provider, model, input_tokens, output_tokens,
      duration_ms, day, summed, user_summed, session_summed)
    select 'turn_' || tenant || '_' || n, 'tn_' || tenant, 'ag_' || n % 10, 'ss_' || lpad((n % 1000)::text, 24, '0'), 'u' || n % 250,
      'prv_1', 'm', n % 1000, 1, 1, '2025-04-01'::date + least(27, n * 28 / ${summed}::int), done, done, done
    from generate_series(1, ${tenants}::int) tenant, generate_series(1, ${summed + unsummed}::int) n, lateral (select n <= ${summed}::int) as marker (done)`;
  await sql`
    insert into usage_session_tokens (tenant_id, session_id, tokens)
    select tenant_id, session_id, sum(input_tokens + output_tokens) from usage where session_summed group by 1, 2`;
  await sql`analyze usage`;
  await sql`analyze usage_session_tokens`;
}

/** The statements that were sent on a connection of their own, on which a scan is one and not shared by processes. */
const sent: { text: string; parameters: unknown[] }[] = [];
const watched = postgres(h.databaseUrl, {
  max: 1,
  onnotice: () => {},
  connection: { max_parallel_workers_per_gather: 0 },
  transform: { column: { from: postgres.toCamel } },
  types: { bigint: { to: 20, from: [20], serialize: String, parse: Number } },
  debug: (_connection, text, parameters) => void sent.push({ text, parameters }),
}) as unknown as Sql;
beforeAll(() => withPatientClient(h.databaseUrl, seed));
afterAll(() => watched.end());

interface Plan {
  readonly "Node Type": string;
  readonly "Relation Name"?: string;
  readonly "Index Name"?: string;
  readonly "Actual Rows": number;
  readonly "Actual Loops": number;
  readonly "Rows Removed by Filter"?: number;
  readonly Plans?: readonly Plan[];
}

const nodesOf = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];

/** Asks, and returns the nodes of the plans of all statements that were sent. */
async function nodesBy(ask: () => Promise<unknown>): Promise<Plan[]> {
  await watched`select 1`;
  sent.length = 0;
  await ask();
  const nodes: Plan[] = [];
  for (const { text, parameters } of sent.filter((one) => /^\s*(with|select)\b/.test(one.text))) {
    const [row] = await watched.unsafe(`explain (analyze, format json) ${text}`, parameters as never[]);
    const [{ Plan: plan }] = (row as unknown as { "QUERY PLAN": [{ Plan: Plan }] })["QUERY PLAN"];
    nodes.push(...nodesOf(plan));
  }
  return nodes;
}

/** How the plans read the rows of turns. */
function scansOf(nodes: readonly Plan[]) {
  const scans = nodes.filter((node) => node["Relation Name"] === "usage");
  const reads = scans.map(
    (node) => (node["Actual Rows"] + (node["Rows Removed by Filter"] ?? 0)) * node["Actual Loops"],
  );
  const byIndex = nodes.filter((node) => node["Index Name"]?.startsWith("usage_unsummed") === true);
  return {
    whole: scans.filter((node) => node["Node Type"].includes("Seq Scan")).length,
    mostRead: Math.max(0, ...reads),
    mostUnsummedScans: Math.max(0, ...byIndex.map((node) => node["Actual Loops"])),
  };
}

const filters: readonly (readonly [Partial<UsageQuestion>, number])[] = [
  [{}, summed],
  [{ agentId: "ag_3" }, summed / 10],
  [{ userId: "u3" }, summed / 250],
  [{ sessionId: session }, summed / 1_000],
  [{ agentId: "ag_7", sessionId: session }, summed / 1_000],
  [{ userId: "u7", sessionId: session }, summed / 1_000],
  [{ from: "2025-04-10", to: "2025-04-10" }, summed / 28 + 1],
];

describe("among many tenants' turns", () => {
  test.each(usageGroups)(
    "usage by %s reads those that it is asked for, and those that are not summed",
    async (groupBy) => {
      for (const [filter, turns] of filters) {
        const { whole, mostRead, mostUnsummedScans } = scansOf(
          await nodesBy(() => readUsage(watched, "tn_2", { ...april, ...filter, groupBy })),
        );
        const tooMany = mostRead > turns + unsummed;
        expect({ filter, mostRead, tooMany, whole }).toEqual({ filter, mostRead, tooMany: false, whole: 0 });
        expect([filter, mostUnsummedScans]).toEqual([filter, 1]);
      }
    },
  );

  test("sessions that are sought are looked up one by one, and turns that are not summed once", async () => {
    const reach = { turnsMax: 0, filteredTurnsMax: 0, steps: [200] };
    for (const filter of [{}, { from: "2025-04-28", to: "2025-04-28" }]) {
      const asked = { ...april, ...filter, groupBy: "session" as const, limit: 10 };
      const { whole, mostUnsummedScans } = scansOf(await nodesBy(() => largestSessions(watched, "tn_2", asked, reach)));
      expect([filter, whole, mostUnsummedScans]).toEqual([filter, 0, 1]);
    }
  });
});
