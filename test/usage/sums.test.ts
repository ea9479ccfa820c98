import { beforeEach, describe, expect, test } from "bun:test";
import { newId } from "../../src/kernel/ids.ts";
import type { UsageQuestion } from "../../src/usage/query.ts";
import { type UsageTotals, usageGroups } from "../../src/usage/schema.ts";
import { readUsage } from "../../src/usage/store.ts";
import { sumUsage } from "../../src/usage/sums.ts";
import { type EarlierSums, sumAsEarlier } from "../harness/earlier-sums.ts";
import { useService } from "../harness/fixture.ts";
import { usageQuestion } from "../harness/usage-question.ts";

const h = await useService();

let tenantId = "";
beforeEach(() => {
  tenantId = newId("tenant");
});

const march = usageQuestion("2025-03-01", "2025-03-31");

/** Ended turns over 5 days, 3 agents, 2 models and none, 4 users and 7 sessions; numbers that tell them apart. */
async function meter(from: number, to: number, tenant = tenantId): Promise<void> {
  await h.sql`
    insert into usage (turn_id, tenant_id, agent_id, session_id, user_id, provider, model, input_tokens, output_tokens,
      duration_ms, cached_input_tokens, cache_write_tokens, reasoning_tokens, cost_pico, cost_complete, day)
    select ${newId("turn")} || n, ${tenant}, 'ag_' || n % 3, 'ss_' || n % 7, 'u' || n % 4,
      case n % 5 when 0 then null else 'prv_' || n % 2 end, case n % 5 when 0 then null else 'm' || n % 2 end,
      n, 2 * n, 3 * n, n / 2, 1, n, 1000000 * n, true, '2025-03-10'::date + n % 5
    from generate_series(${from}::int, ${to}::int) n`;
}

/** Queries that sums serve: all but those of sessions. */
const isSummable = ({ groupBy, sessionId }: UsageQuestion) => groupBy !== "session" && sessionId === undefined;

/** The same results without what a worker of an earlier release does not know. */
function withoutParts(results: Awaited<ReturnType<typeof responses>>) {
  const without = <T extends UsageTotals>(sums: T) => ({
    ...sums,
    cachedInputTokens: 0,
    cacheWriteTokens: 0,
    reasoningTokens: 0,
    costUsd: null,
    costIsComplete: false,
  });
  return results.map(({ buckets, totals }) => ({ buckets: buckets.map(without), totals: without(totals) }));
}

/** The same results where a sum that such a worker has begun is not known to have every price. */
function uncertain(results: Awaited<ReturnType<typeof responses>>) {
  const without = <T extends UsageTotals>(sums: T) => ({ ...sums, costIsComplete: false });
  return results.map(({ buckets, totals }) => ({ buckets: buckets.map(without), totals: without(totals) }));
}

/** The results of every kind of query, or of those of a kind. */
function responses(kind: (question: UsageQuestion) => boolean = () => true) {
  const filters = [
    {},
    { agentId: "ag_1" },
    { userId: "u1" },
    { sessionId: "ss_3" },
    { agentId: "ag_1", userId: "u1" },
    { userId: "u1", sessionId: "ss_3" },
    { from: "2025-03-11", to: "2025-03-12" },
    { from: "2025-03-11", to: "2025-03-12", userId: "u1" },
  ];
  const questions = usageGroups.flatMap((groupBy) => filters.map((filter) => ({ ...march, ...filter, groupBy })));
  return Promise.all(questions.filter(kind).map((question) => readUsage(h.sql, tenantId, question)));
}

const turnsOf = async (tenant = tenantId) => (await readUsage(h.sql, tenant, march)).totals.requestCount;

describe("sums of usage", () => {
  test("every result is the same before and after its turns are summed, and while some are", async () => {
    await meter(1, 200);
    const before = await responses();
    expect(before[0]?.totals).toEqual({
      inputTokens: 20_100,
      outputTokens: 40_200,
      cachedInputTokens: 10_000,
      cacheWriteTokens: 200,
      reasoningTokens: 20_100,
      costUsd: "0.0201",
      costIsComplete: true,
      requestCount: 200,
      durationMs: 60_300,
    });
    expect(before[0]?.buckets).toHaveLength(5);
    expect(await sumUsage(h.sql)).toBe(200);
    expect(await responses()).toEqual(before);
    await meter(201, 230);
    const more = await responses();
    expect(more[0]?.totals.requestCount).toBe(230);
    expect(await sumUsage(h.sql)).toBe(30);
    expect(await responses()).toEqual(more);
    expect(await sumUsage(h.sql)).toBe(0);
  });

  test("a few rows hold what many turns used, and questions read them", async () => {
    await meter(1, 1_000);
    await sumUsage(h.sql);
    const rows = (table: string) =>
      h.sql`select count(*)::int as n, sum(turns)::int as turns from ${h.sql(table)} where tenant_id = ${tenantId}`;
    // 5 days, each with 3 agents; a day has either both models or turns without one.
    const perAgent = 5 * 3 * 2 - 3;
    expect([...(await rows("usage_sums"))]).toEqual([{ n: perAgent, turns: 1_000 }]);
    // 4 users, of whom each has one of the models.
    expect([...(await rows("usage_user_sums"))]).toEqual([{ n: 5 * 3 * 4, turns: 1_000 }]);
    // Only sums know of these turns any more.
    const before = await responses(isSummable);
    await h.sql`delete from usage where tenant_id = ${tenantId}`;
    expect(await responses(isSummable)).toEqual(before);
  });

  test("what is not summed yet is found by an index that holds nothing else", async () => {
    for (const marker of ["summed", "user_summed", "session_summed"]) {
      const plan = await h.sql`
        explain (format json) select 1 from usage where tenant_id = ${tenantId} and not ${h.sql(marker)} and day = '2025-03-10'`;
      expect(JSON.stringify(plan)).toContain("usage_unsummed");
    }
  });

  test.each<EarlierSums>(["day", "day and user"])(
    "turns that a worker of an earlier release has summed by %s only count in every result too",
    async (kept) => {
      await meter(1, 200);
      const before = await responses();
      expect(await sumAsEarlier(h.sql, tenantId, kept, 150)).toBe(150);
      expect(withoutParts(await responses())).toEqual(withoutParts(before));
      expect(await sumUsage(h.sql)).toBe(200);
      expect(uncertain(await responses())).toEqual(uncertain(before));
      expect(await sumUsage(h.sql)).toBe(0);
    },
  );

  test("what a worker of the release before has summed gets its parts added once", async () => {
    await meter(1, 200);
    const before = await responses();
    await sumAsEarlier(h.sql, tenantId, "day and user", 150);
    await h.sql`update usage set session_summed = true where summed and tenant_id = ${tenantId}`;
    await h.sql`
      insert into usage_session_tokens select tenant_id, session_id, sum(input_tokens + output_tokens) from usage
      where summed and tenant_id = ${tenantId} group by 1, 2`;
    expect(withoutParts(await responses())).toEqual(withoutParts(before));
    expect(await sumUsage(h.sql)).toBe(200);
    expect(uncertain(await responses())).toEqual(uncertain(before));
    expect(await sumUsage(h.sql)).toBe(0);
  });

  test("turns that a worker of the release before has summed by day and by user count for their session too", async () => {
    await meter(1, 150);
    // What that worker leaves of its turns; these sums themselves are not asked for here.
    await h.sql`update usage set summed = true, user_summed = true where tenant_id = ${tenantId}`;
    await meter(151, 200);
    expect(await sumUsage(h.sql)).toBe(200);
    const kept = await h.sql`
      select session_id, tokens from usage_session_tokens where tenant_id = ${tenantId} order by session_id`;
    const used = await h.sql`
      select session_id, sum(input_tokens + output_tokens)::bigint as tokens from usage
      where tenant_id = ${tenantId} group by session_id order by session_id`;
    expect([...kept]).toEqual([...used]);
    expect(await sumUsage(h.sql)).toBe(0);
  });

  test("each turn counts once in every result while workers sum side by side and turns end", async () => {
    await meter(1, 2_000);
    const before = await responses();
    let summing = true;
    const seen: unknown[] = [];
    const reader = async () => {
      while (summing) seen.push(await responses());
    };
    const worker = () => sumUsage(h.sql, { rows: 60 });
    const reading = Promise.all([reader(), reader()]);
    const other = newId("tenant");
    const writing = Promise.all(Array.from({ length: 10 }, (_, n) => meter(n * 10 + 1, n * 10 + 10, other)));
    const summed = await Promise.all([worker(), worker(), worker(), writing]);
    await worker();
    summing = false;
    await reading;
    expect(seen.length).toBeGreaterThan(1);
    for (const response of seen) expect(response).toEqual(before);
    expect(summed[0] + summed[1] + summed[2]).toBeGreaterThanOrEqual(2_000);
    expect([await turnsOf(), await turnsOf(other)]).toEqual([2_000, 100]);
  });
});
