import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { listMigrations, migrate } from "../../src/kernel/database/migrate.ts";
import { newId } from "../../src/kernel/ids.ts";
import { createLogger } from "../../src/kernel/telemetry/log.ts";
import { usageGroups } from "../../src/usage/schema.ts";
import { readUsage } from "../../src/usage/store.ts";
import { sumUsage } from "../../src/usage/sums.ts";
import { type Harness, startHarness } from "../harness/harness.ts";
import { usageQuestion } from "../harness/usage-question.ts";

/** The last migrations of releases that kept no sums by user, and not what a session ever used. */
const withoutUsers = "0014_usage_sums.sql";
const withoutSessions = "0017_usage_unsummed_dropped.sql";

let h: Harness;
beforeAll(async () => {
  h = await startHarness();
});
afterAll(() => h.stop());

const tenantId = newId("tenant");

/** Brings the database back to what a release left. */
async function asBefore(lastBefore: string): Promise<void> {
  await h.sql`drop schema public cascade`;
  await h.sql`create schema public`;
  await h.sql`drop schema graphile_worker cascade`;
  await h.sql`create table schema_migrations (name text primary key, applied_at timestamptz not null default now())`;
  for (const name of (await listMigrations()).filter((known) => known <= lastBefore)) {
    await h.sql.unsafe(await readFile(join(import.meta.dirname, "../../sql", name), "utf8"));
    await h.sql`insert into schema_migrations (name) values (${name})`;
  }
}

/** Turns of 4 users, 3 agents and 2 models or none, as both releases metered them. */
async function meter(from: number, to: number): Promise<void> {
  await h.sql`
    insert into usage (turn_id, tenant_id, agent_id, session_id, user_id, provider, model, input_tokens, output_tokens,
      duration_ms, day)
    select 'turn_' || n, ${tenantId}, 'ag_' || n % 3, 'ss_' || n % 7, 'u' || n % 4,
      case n % 5 when 0 then null else 'prv_' || n % 2 end, case n % 5 when 0 then null else 'm' || n % 2 end,
      n, 2 * n, 3 * n, '2025-03-10'::date + n % 5
    from generate_series(${from}::int, ${to}::int) n`;
}

/** What the job of the release without users did with the turns that were not summed. */
async function sumAsBefore(): Promise<void> {
  await h.sql`
    with taken as (update usage set summed = true where not summed returning *)
    insert into usage_sums as s
      (tenant_id, day, agent_id, provider, model, turns, input_tokens, output_tokens, duration_ms)
    select tenant_id, day, agent_id, provider, model, count(*), sum(input_tokens), sum(output_tokens), sum(duration_ms)
    from taken group by 1, 2, 3, 4, 5
    on conflict (tenant_id, day, agent_id, (coalesce(provider, '')), (coalesce(model, ''))) do update set
      turns = s.turns + excluded.turns, input_tokens = s.input_tokens + excluded.input_tokens,
      output_tokens = s.output_tokens + excluded.output_tokens, duration_ms = s.duration_ms + excluded.duration_ms`;
}

/** Totals by each way to group, over all turns and over a user's. */
function totals() {
  const questions = usageGroups.flatMap((groupBy) =>
    [undefined, "u1"].map((userId) => usageQuestion("2025-03-01", "2025-03-31", { userId, groupBy })),
  );
  return Promise.all(questions.map(async (question) => (await readUsage(h.sql, tenantId, question)).totals));
}

/** The totals of turns 1 to `last`, of which every fourth is u1's. */
function expected(last: number) {
  const numbers = Array.from({ length: last }, (_, index) => index + 1);
  const of = (turns: number[]) => {
    const sum = turns.reduce((a, b) => a + b, 0);
    return { inputTokens: sum, outputTokens: 2 * sum, requestCount: turns.length, durationMs: 3 * sum };
  };
  return usageGroups.flatMap(() => [of(numbers), of(numbers.filter((n) => n % 4 === 1))]);
}

describe("an upgrade from a release without sums by user", () => {
  test("carries over what was summed and what was not, and goes on beside a worker of that release", async () => {
    await asBefore(withoutUsers);
    await meter(1, 150);
    await sumAsBefore();
    await meter(151, 200);
    await migrate(h.databaseUrl, createLogger("silent"));
    expect(await totals()).toEqual(expected(200));
    await meter(201, 230);
    expect(await totals()).toEqual(expected(230));
    // A worker that was not restarted yet: it sums by day alone.
    await sumAsBefore();
    expect(await totals()).toEqual(expected(230));
    await meter(231, 240);
    // Those of 201 to 230, by user; 231 to 240, by both.
    expect(await sumUsage(h.sql)).toBe(40);
    expect(await totals()).toEqual(expected(240));
    expect(await sumUsage(h.sql)).toBe(0);
    // A sum holds every turn: the rows are not needed.
    const sums = await h.sql`
      select (select sum(turns) from usage_sums)::int as sums, (select sum(turns) from usage_user_sums)::int as by_user`;
    expect([...sums]).toEqual([{ sums: 240, by_user: 240 }]);
  });
});

describe("an upgrade from a release that did not keep what a session ever used", () => {
  test("carries over what was summed and what was not, and goes on beside a worker of that release", async () => {
    await asBefore(withoutSessions);
    await meter(1, 150);
    // What that release's job leaves of its turns; the sums themselves are not asked for here.
    const sum = () => h.sql`update usage set summed = true, user_summed = true where not summed or not user_summed`;
    await sum();
    await meter(151, 200);
    await migrate(h.databaseUrl, createLogger("silent"));
    expect(await tokensKept()).toEqual(tokensOfTurns(200));
    await meter(201, 230);
    await sum();
    await meter(231, 240);
    // What it has summed since, and what came after.
    expect(await sumUsage(h.sql)).toBe(40);
    expect(await tokensKept()).toEqual(tokensOfTurns(240));
    expect(await sumUsage(h.sql)).toBe(0);
  });
});

async function tokensKept() {
  return [...(await h.sql`select session_id, tokens from usage_session_tokens order by session_id`)];
}

/** What the sessions used in turns 1 to `last`. */
function tokensOfTurns(last: number) {
  return Array.from({ length: 7 }, (_, session) => {
    const turns = Array.from({ length: last }, (_, index) => index + 1).filter((n) => n % 7 === session);
    return { session_id: `ss_${session}`, tokens: 3 * turns.reduce((a, b) => a + b, 0) };
  });
}
