import { describe, expect, test } from "bun:test";
import type { UsageBucket } from "parley/client";
import { daysIn } from "../../src/console/parts/periods.ts";
import { calendarOfUtc, csvOf, everyDay, rowsOf } from "../../src/console/usage/usage-rows.ts";

const now = new Date("2026-03-02T23:30:00Z");
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
    const days = daysIn("month", calendarOfUtc(now));
    expect(days).toEqual({ from: "2026-01-31", to: "2026-03-02" });
    expect(everyDay(days ?? { from: "", to: "" })).toHaveLength(31);
    expect(everyDay({ from: "2026-02-28", to: "2026-03-01" })).toEqual(["2026-02-28", "2026-03-01"]);
    expect(everyDay({ from: "2026-03-02", to: "2026-03-01" })).toEqual([]);
    expect(everyDay({ from: "never", to: "2026-03-01" })).toEqual([]);
  });

  test("has the largest row first, and names agents", () => {
    const buckets = [bucket({ agentId: "ag_1" }), bucket({ agentId: "ag_2", inputTokens: 9 })];
    const rows = rowsOf(
      { buckets, totals },
      { by: "agent", measure: "tokens", agentName: (id) => (id === "ag_1" ? "One" : id), providerName: String },
    );
    expect(rows.map(({ label }) => label)).toEqual(["ag_2", "One"]);
    const users = rowsOf(
      { buckets: [bucket({ userId: "" })], totals },
      { by: "user", measure: "tokens", agentName: String, providerName: String },
    );
    expect(users[0]).toMatchObject({ label: "without a user", place: null });
    const dear = [bucket({ userId: "a/b", costUsd: "0.5" }), bucket({ userId: "c", costUsd: "2", inputTokens: 0 })];
    const byCost = rowsOf(
      { buckets: dear, totals },
      { by: "user", measure: "cost", agentName: String, providerName: String },
    );
    const models = ["prv_1", "prv_2"].map((provider) => bucket({ provider, model: "m" }));
    const ofModels = rowsOf(
      { buckets: [...models, bucket({ provider: "prv_1", model: "n" })], totals },
      { by: "model", measure: "tokens", agentName: String, providerName: (id) => `the ${id}` },
    );
    expect(ofModels.map(({ label }) => label)).toEqual(["m of the prv_1", "m of the prv_2", "n"]);
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
