import { beforeEach, describe, expect, test } from "bun:test";
import { newId } from "../../src/kernel/ids.ts";
import { largestSessions, type Reach } from "../../src/usage/largest.ts";
import type { UsageQuestion } from "../../src/usage/query.ts";
import { sumUsage } from "../../src/usage/sums.ts";
import { sumAsEarlier } from "../harness/earlier-sums.ts";
import { useService } from "../harness/fixture.ts";
import { usageQuestion } from "../harness/usage-question.ts";

const h = await useService();

let tenantId = "";
beforeEach(() => {
  tenantId = newId("tenant");
});

const april = usageQuestion("2025-04-01", "2025-04-30", { groupBy: "session" });

/** Seeks however few turns there are, and never gives up. */
const seeking: Reach = { turnsMax: 0, filteredTurnsMax: 0, steps: [3, 7, 20, 1_000] };
/** Reads all turns. */
const reading: Reach = { turnsMax: Number.MAX_SAFE_INTEGER, filteredTurnsMax: Number.MAX_SAFE_INTEGER, steps: [] };

const seek = (question: Partial<UsageQuestion> = {}, reach = seeking) =>
  largestSessions(h.sql, tenantId, { ...april, ...question }, reach);
const read = (question: Partial<UsageQuestion> = {}) => seek(question, reading);

/**
 * Turns from March to May: of 120 sessions, of which some last one day and some
 * all the time, each of an agent; every tenth turn is stateless. The numbers of
 * tokens are few, so that many sessions are equal.
 */
async function meter(from: number, to: number): Promise<void> {
  await h.sql`
    insert into usage (turn_id, tenant_id, agent_id, session_id, user_id, provider, model, input_tokens, output_tokens,
      duration_ms, cached_input_tokens, cache_write_tokens, reasoning_tokens, cost_pico, cost_complete, day)
    select ${newId("turn")} || n, ${tenantId}, 'ag_' || s % 3, case when n % 10 = 0 then '' else 'ss_' || lpad(s::text, 3, '0') end,
      'u' || n % 4, 'prv_1', 'm', 100 * (1 + n % 3), 50 * (n % 2), n, n % 100, n % 7, n % 50, nullif(n % 9, 0), n % 9 > 0,
      '2025-03-01'::date + case when s % 2 = 0 then s % 90 else n * 7 % 90 end
    from (select n, n * 31 % 121 as s from generate_series(${from}::int, ${to}::int) n) turns`;
}

const filters: Partial<UsageQuestion>[] = [
  {},
  { limit: 1 },
  { limit: 200 },
  { agentId: "ag_1" },
  { userId: "u1", limit: 5 },
  { agentId: "ag_1", userId: "u1" },
  { sessionId: "ss_003" },
  { sessionId: "" },
  { from: "2025-03-15", to: "2025-03-15" },
  { from: "2025-05-20", to: "2025-05-29", limit: 3 },
  { from: "2025-01-01", to: "2025-01-31" },
  { from: "2025-04-10", to: "2025-04-11", agentId: "ag_2" },
];

/** The same from the rows alone, whatever is summed. */
function count(question: Partial<UsageQuestion>): ReturnType<typeof largestSessions> {
  const { from, to, limit, agentId, userId, sessionId } = { ...april, ...question };
  return h.sql<Awaited<ReturnType<typeof largestSessions>>>`
    with turns as (
      select * from usage where tenant_id = ${tenantId} and day between ${from}::date and ${to}::date
        and agent_id = coalesce(${agentId ?? null}, agent_id) and user_id = coalesce(${userId ?? null}, user_id)
        and session_id = coalesce(${sessionId ?? null}, session_id)
    )
    select session_id, count(*) as turns, sum(input_tokens)::bigint as input_tokens,
      sum(output_tokens)::bigint as output_tokens, sum(duration_ms)::bigint as duration_ms, sum(cached_input_tokens)::bigint as cached_input_tokens,
      sum(cache_write_tokens)::bigint as cache_write_tokens, sum(reasoning_tokens)::bigint as reasoning_tokens,
      trim_scale(sum(cost_pico) * 0.000000000001)::text as cost_usd, bool_and(cost_complete) as cost_complete, totals.*
    from turns cross join (
      select count(*) as total_turns, sum(input_tokens)::bigint as total_input_tokens,
        sum(output_tokens)::bigint as total_output_tokens, sum(duration_ms)::bigint as total_duration_ms,
        sum(cached_input_tokens)::bigint as total_cached_input_tokens,
        sum(cache_write_tokens)::bigint as total_cache_write_tokens, sum(reasoning_tokens)::bigint as total_reasoning_tokens, null as total_cost_usd, false as total_cost_complete
      from turns) totals
    group by session_id, total_turns, total_input_tokens, total_output_tokens, total_duration_ms,
      total_cached_input_tokens, total_cache_write_tokens, total_reasoning_tokens, total_cost_usd, total_cost_complete
    order by sum(input_tokens + output_tokens) desc, session_id limit ${limit}`;
}

describe("the largest sessions of a range", () => {
  test("are the same whether they are sought or all turns are read, while none, some and all are summed, or some sums lack", async () => {
    const states = [
      async () => {},
      () => sumAsEarlier(h.sql, tenantId, "day", 100),
      () => sumAsEarlier(h.sql, tenantId, "day and user", 200),
      () => sumUsage(h.sql),
    ];
    // The totals of the parts come from sums that a worker of an earlier release makes without them.
    const known = (rows: Awaited<ReturnType<typeof read>>) =>
      [...rows].map((row) => ({
        ...row,
        totalCachedInputTokens: 0,
        totalCacheWriteTokens: 0,
        totalReasoningTokens: 0,
        totalCostUsd: null,
        totalCostComplete: false,
      }));
    for (const [from, to] of [
      [1, 600],
      [601, 900],
      [901, 910],
    ] as const) {
      await meter(from, to);
      for (const reachState of states) {
        await reachState();
        for (const filter of filters) {
          const all = known(await count(filter));
          expect([filter, known(await read(filter))]).toEqual([filter, all]);
          expect([filter, known(await seek(filter))]).toEqual([filter, all]);
          expect([filter, known(await seek(filter, { ...seeking, steps: [1, 1] }))]).toEqual([filter, all]);
        }
      }
    }
    const [stateless] = await read();
    expect(stateless?.sessionId).toBe("");
    expect(await read({ from: "2025-01-01", to: "2025-01-31" })).toEqual([]);
    expect(await read()).toHaveLength(50);
  });

  test("are sought among those that ever used most, and no further than needed", async () => {
    await meter(1, 900);
    await sumUsage(h.sql);
    const [, first, second] = await read({ limit: 3 });
    // Were all turns read, this would change nothing.
    await h.sql`delete from usage_session_tokens where tenant_id = ${tenantId} and session_id = ${first?.sessionId ?? ""}`;
    expect((await seek({ limit: 2 }))[1]).toEqual(second as never);
    // One that used more in all than any within the range is read in vain; with the steps at an end, all are read.
    await h.sql`
      insert into usage_session_tokens (tenant_id, session_id, tokens) values (${tenantId}, 'ss_elsewhere', 1000000)`;
    expect((await seek({ limit: 2 }))[1]).toEqual(second as never);
    expect((await seek({ limit: 2 }, { ...seeking, steps: [1] }))[1]).toEqual(first as never);
    // An agent's turns have a bound of their own: below it they are read, however many are sought among all.
    const ofAgent = { agentId: "ag_1", limit: 1 };
    const [agentsFirst] = await read(ofAgent);
    await h.sql`delete from usage_session_tokens where tenant_id = ${tenantId}`;
    expect(await seek(ofAgent, { ...seeking, filteredTurnsMax: 1_000 })).toEqual([agentsFirst as never]);
    expect(await seek(ofAgent)).not.toEqual([agentsFirst as never]);
  });

  test("count each turn once while workers sum side by side", async () => {
    await meter(1, 900);
    const before = await read();
    let summing = true;
    const seen: unknown[] = [];
    const reader = async () => {
      while (summing) seen.push(await seek());
    };
    const readers = Promise.all([reader(), reader()]);
    await Promise.all([1, 2, 3].map(() => sumUsage(h.sql, { rows: 20 })));
    await sumUsage(h.sql);
    summing = false;
    await readers;
    expect(seen.length).toBeGreaterThan(1);
    for (const response of seen) expect(response).toEqual(before);
    const [tokens] = await h.sql`
      select sum(tokens)::int as sum, count(*)::int as sessions from usage_session_tokens where tenant_id = ${tenantId}`;
    const [metered] = await h.sql`
      select sum(input_tokens + output_tokens)::int as sum, count(distinct session_id)::int as sessions
      from usage where tenant_id = ${tenantId} and session_id <> ''`;
    expect(tokens).toEqual(metered as never);
  });
});
