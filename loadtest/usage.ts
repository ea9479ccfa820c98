/**
 * What reports cost while turns have no sum yet. Two tenants have the same 30 days of usage in sums, and one of them
 * has turns of today that no sum has; both are asked in turn. No worker runs meanwhile, so that nothing adds these up;
 * then one starts, and the reports are asked again once it has.
 *
 *     bun loadtest/usage.ts [--summed 100000] [--unsummed 100000] [--samples 51]
 */
import { parseArgs } from "node:util";
import postgres from "postgres";
import { sleep } from "../src/kernel/async/wait.ts";
import type { Sql } from "../src/kernel/database/client.ts";
import { newId } from "../src/kernel/ids.ts";
import { usageGroups } from "../src/usage/schema.ts";
import { sumUsage } from "../src/usage/sums.ts";
import { median, printLine } from "./figures.ts";
import { type Stand, type StandTenant, startStand } from "./stand.ts";

const { values } = parseArgs({
  options: {
    summed: { type: "string", default: "100000" },
    unsummed: { type: "string", default: "100000" },
    samples: { type: "string", default: "51" },
  },
});
/** Who ran the turns: so many end users, and sessions. */
const users = 1_000;
const sessions = 10_000;
const days = 30;
/** A report with turns that no sum has may take so many times as long as one without. */
const ratioMax = 1.5;

/** Writes turns' usage as their ends do, spread over so many days that end today. */
async function meter(sql: postgres.Sql, { tenantId, agentId }: StandTenant, turns: number, over: number) {
  await sql`
    insert into usage (turn_id, tenant_id, agent_id, session_id, user_id, provider, model, input_tokens, output_tokens, duration_ms, day)
    select ${newId("turn").slice(0, -8)} || lpad(n::text, 8, '0'), ${tenantId}, ${agentId}, 'ss_' || lpad((n % ${sessions}::int)::text, 24, '0'),
      'user-' || n % ${users}::int, 'custom', 'model-' || n % 3, 20, 30 + n % 100, 900, (now() at time zone 'UTC')::date - n % ${over}::int
    from generate_series(1, ${turns}::int) n`;
}

const userFilter = "userId=user-7";
const sessionFilter = `sessionId=ss_${"7".padStart(24, "0")}`;

/** The reports that are asked for. */
function reports({ agentId }: StandTenant): Readonly<Record<string, string>> {
  return {
    ...Object.fromEntries(usageGroups.map((group) => [`by ${group}`, `/v1/usage?groupBy=${group}`])),
    "of an agent": `/v1/agents/${agentId}/usage`,
    "of a user": `/v1/usage?${userFilter}`,
    "of a session": `/v1/usage?${sessionFilter}`,
  };
}

/** Milliseconds of a report. */
async function timed(tenant: StandTenant, name: string): Promise<number> {
  const from = performance.now();
  await tenant.call("GET", reports(tenant)[name] ?? "");
  return performance.now() - from;
}

async function compare(none: StandTenant, some: StandTenant, what: string): Promise<void> {
  printLine(`\n| usage | all in sums | ${what} | ratio | |\n|---|---|---|---|---|`);
  for (const name of Object.keys(reports(none))) {
    const taken: [number[], number[]] = [[], []];
    for (let n = -3; n < Number(values.samples); n++) {
      const pair = [await timed(none, name), await timed(some, name)] as const;
      if (n < 0) continue;
      taken[0].push(pair[0]);
      taken[1].push(pair[1]);
    }
    const [a, b] = [median(taken[0]), median(taken[1])];
    const verdict = b / a > ratioMax ? `above ${ratioMax}` : "";
    printLine(`| ${name} | ${a.toFixed(1)} ms | ${b.toFixed(1)} ms | ${(b / a).toFixed(2)} | ${verdict} |`);
  }
}

async function measure(stand: Stand, sql: postgres.Sql): Promise<void> {
  const [none, some] = [stand, await stand.addTenant()];
  for (const tenant of [none, some]) await meter(sql, tenant, Number(values.summed), days);
  await sumUsage(sql as unknown as Sql);
  const analyze = () => sql`vacuum analyze usage, usage_sums, usage_user_sums, usage_session_tokens`;
  await analyze();
  await meter(sql, some, Number(values.unsummed), 1);
  await analyze();
  await compare(none, some, `${values.unsummed} turns in no sum`);
  const from = performance.now();
  await stand.addWorker();
  const left = async () =>
    (await sql`select 1 from usage where not summed or not user_summed or not session_summed limit 1`).length > 0;
  // The job comes by the clock, every five minutes; here it is asked for at once.
  await sql`select graphile_worker.add_job('usage.sum')`;
  while (await left()) await sleep(100);
  printLine(`\nA worker had them in sums ${((performance.now() - from) / 1000).toFixed(1)} s after its start.`);
  await compare(none, some, "the same, in sums since");
}

const stand = await startStand({ workers: 0 });
const sql = postgres(stand.databaseUrl, { max: 1, onnotice: () => {} });
try {
  await measure(stand, sql);
} finally {
  await sql.end();
  await stand[Symbol.asyncDispose]();
}
process.exit(0);
