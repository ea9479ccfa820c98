import { describe, expect, test } from "bun:test";
import type { UsageBucket } from "parley/client";
import { csvOf, daysOf, everyDay, rowsOf } from "../../src/console/usage/usage-rows.ts";

const now = Date.parse("2026-03-02T10:00:00Z");
const sums = {
  requestCount: 1,
  durationMs: 10,
  cachedInputTokens: 0,
  cacheWriteTokens: 0,
  reasoningTokens: 0,
  costUsd: null,
  costIsComplete: false,
};
const bucket = (fields: Partial<UsageBucket>): UsageBucket => ({
  ...{ inputTokens: 1, outputTokens: 1, ...sums },
  ...{ day: null, agentId: null, sessionId: null, userId: null, provider: null, model: null },
  ...fields,
});
const totals = { inputTokens: 0, outputTokens: 0, ...sums };

describe("a report on usage", () => {
  test("covers the last 31 days unless it is told otherwise", () => {
    expect(daysOf(undefined, undefined, now)).toEqual({ from: "2026-01-31", to: "2026-03-02" });
    expect(everyDay(daysOf(undefined, undefined, now))).toHaveLength(31);
    expect(everyDay({ from: "2026-02-28", to: "2026-03-01" })).toEqual(["2026-02-28", "2026-03-01"]);
    expect(everyDay({ from: "2026-03-02", to: "2026-03-01" })).toEqual([]);
    expect(everyDay({ from: "never", to: "2026-03-01" })).toEqual([]);
  });

  test("has the largest row first, and names agents", () => {
    const buckets = [bucket({ agentId: "ag_1" }), bucket({ agentId: "ag_2", inputTokens: 9 })];
    const rows = rowsOf(
      { buckets, totals },
      { by: "agent", measure: "tokens", agentName: (id) => (id === "ag_1" ? "One" : id) },
    );
    expect(rows.map(({ label }) => label)).toEqual(["ag_2", "One"]);
    const users = rowsOf(
      { buckets: [bucket({ userId: "" })], totals },
      { by: "user", measure: "tokens", agentName: String },
    );
    expect(users[0]).toMatchObject({ label: "without a user", place: null });
    const dear = [bucket({ userId: "a/b", costUsd: "0.5" }), bucket({ userId: "c", costUsd: "2", inputTokens: 0 })];
    const byCost = rowsOf({ buckets: dear, totals }, { by: "user", measure: "cost", agentName: String });
    expect(byCost.map(({ place }) => place)).toEqual(["/users?id=c", "/users?id=a%2Fb"]);
  });

  test("as CSV quotes what would break a line, and disarms formulas", () => {
    const rows = ['a "b", c', "=1+1", "plain"].map((label) => ({ key: label, label, place: null, ...totals }));
    expect(csvOf("user", rows).split("\r\n")).toEqual([
      "user,input_tokens,output_tokens,turns,duration_ms,cost_usd,cost_is_complete",
      '"a ""b"", c",0,0,1,10,,false',
      "'=1+1,0,0,1,10,,false",
      "plain,0,0,1,10,,false",
      "",
    ]);
  });
});
