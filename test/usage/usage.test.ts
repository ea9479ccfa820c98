import { describe, expect, test } from "bun:test";
import { newId } from "../../src/kernel/ids.ts";
import { readUsageQuery } from "../../src/usage/query.ts";
import { useService } from "../harness/fixture.ts";
import type { ApiResponse, TestTenant } from "../harness/harness.ts";

const h = await useService();

const agentA = `ag_${"a".repeat(24)}`;
const agentB = `ag_${"b".repeat(24)}`;
const session1 = `ss_${"1".repeat(24)}`;
const session2 = `ss_${"2".repeat(24)}`;
const noParts = { cachedInputTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0, costUsd: null, costIsComplete: false };
const noTotals = {
  ...noParts,
  costUsd: "0",
  costIsComplete: true,
  inputTokens: 0,
  outputTokens: 0,
  requestCount: 0,
  durationMs: 0,
};

interface Turn {
  day?: string;
  agent?: string;
  session?: string;
  user?: string;
  provider?: string | null;
  model?: string | null;
  input?: number;
  output?: number;
  durationMs?: number;
}

async function meter(tenant: TestTenant, turns: readonly Turn[]): Promise<void> {
  for (const turn of turns) {
    const { day = "2025-03-10", agent = agentA, session = session1, user = "", provider = "prv_1" } = turn;
    const { model = "openai/gpt-4o", input = 1, output = 1, durationMs = 1 } = turn;
    await h.sql`
      insert into usage
        (turn_id, tenant_id, agent_id, session_id, user_id, provider, model, input_tokens, output_tokens, duration_ms, day)
      values (${newId("turn")}, ${tenant.id}, ${agent}, ${session}, ${user}, ${provider}, ${model}, ${input}, ${output},
        ${durationMs}, ${day}::text::date)`;
  }
}

const march = "from=2025-03-01&to=2025-03-31";

async function usage(tenant: TestTenant, query = "", path = "/v1/usage") {
  const response = await tenant.call("GET", `${path}?${query}`);
  expect([response.status, Object.keys(response.body).sort()]).toEqual([200, ["buckets", "totals"]]);
  return response.body;
}

/** A bucket with only the given fields set. */
function bucket(fields: Record<string, unknown>) {
  const key = { day: null, agentId: null, sessionId: null, userId: null, provider: null, model: null };
  return { ...key, ...noParts, inputTokens: 1, outputTokens: 1, requestCount: 1, durationMs: 1, ...fields };
}

async function expectBroken(tenant: TestTenant, path: string, field: string): Promise<void> {
  for (const form of ["a", "b"] as const) {
    const response: ApiResponse = await tenant.call("GET", path, { form });
    expect([path, response.status, response.body.error?.code]).toEqual([path, 400, "invalid_request"]);
    expect(response.body.error.details.issues.map((issue: { path: string }) => issue.path)).toEqual([field]);
  }
}

function daysAgo(days: number): string {
  return new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10);
}

describe("GET /v1/usage groups", () => {
  test("200 by day (the default): days with turns, in order, all else null; the same in form A", async () => {
    const t = await h.tenant();
    await meter(t, [
      { day: "2025-03-11", input: 500, output: 5, durationMs: 7 },
      { day: "2025-03-10", input: 10, output: 20, durationMs: 30 },
      { day: "2025-03-10", input: 1, output: 2, durationMs: 3, agent: agentB },
    ]);
    const expected = {
      buckets: [
        bucket({ day: "2025-03-10", inputTokens: 11, outputTokens: 22, requestCount: 2, durationMs: 33 }),
        bucket({ day: "2025-03-11", inputTokens: 500, outputTokens: 5, requestCount: 1, durationMs: 7 }),
      ],
      totals: { ...noParts, inputTokens: 511, outputTokens: 27, requestCount: 3, durationMs: 40 },
    };
    expect(await usage(t, march)).toEqual(expected);
    expect(await usage(t, `${march}&groupBy=day`)).toEqual(expected);
    expect((await t.call("GET", `/v1/usage?${march}`, { form: "a" })).body).toEqual(expected);
  });

  test("200 by agent, session, user and model: most tokens first, only the group's own fields set", async () => {
    const t = await h.tenant();
    await meter(t, [
      { agent: agentA, session: session1, user: "", provider: "prv_1", model: "m", input: 3, output: 9 },
      { agent: agentB, session: session2, user: "ada", provider: "prv_2", model: "m", input: 20, output: 5 },
      { agent: agentB, session: "", user: "ada", provider: null, model: null, input: 1, output: 0 },
    ]);
    const by = async (group: string) => (await usage(t, `${march}&groupBy=${group}`)).buckets;
    const twoOfAda = { inputTokens: 21, outputTokens: 5, requestCount: 2, durationMs: 2 };
    const one = { inputTokens: 3, outputTokens: 9 };
    expect(await by("agent")).toEqual([bucket({ agentId: agentB, ...twoOfAda }), bucket({ agentId: agentA, ...one })]);
    expect(await by("user")).toEqual([bucket({ userId: "ada", ...twoOfAda }), bucket({ userId: "", ...one })]);
    expect(await by("session")).toEqual([
      bucket({ sessionId: session2, inputTokens: 20, outputTokens: 5 }),
      bucket({ sessionId: session1, ...one }),
      bucket({ sessionId: "", inputTokens: 1, outputTokens: 0 }),
    ]);
    expect(await by("model")).toEqual([
      bucket({ provider: "prv_2", model: "m", inputTokens: 20, outputTokens: 5 }),
      bucket({ provider: "prv_1", model: "m", ...one }),
      bucket({ inputTokens: 1, outputTokens: 0 }),
    ]);
  });

  test("200: sums beyond 32 bits are whole numbers", async () => {
    const t = await h.tenant();
    await meter(t, [{ input: 3_000_000_000 }, { input: 3_000_000_000 }]);
    expect((await usage(t, march)).totals.inputTokens).toBe(6_000_000_000);
  });
});

describe("GET /v1/usage filters", () => {
  test("200: each alone and together; empty means stateless turns or the tenant's own; nothing found is zero", async () => {
    const t = await h.tenant();
    await meter(t, [
      { agent: agentA, session: session1, user: "", input: 1 },
      { agent: agentA, session: "", user: "ada", input: 10 },
      { agent: agentB, session: session2, user: "ada", input: 100 },
    ]);
    const found = async (query: string) => (await usage(t, `${march}&${query}`)).totals.inputTokens;
    expect(await found("")).toBe(111);
    expect(await found(`agentId=${agentA}`)).toBe(11);
    expect(await found(`sessionId=${session2}`)).toBe(100);
    expect(await found("sessionId=")).toBe(10);
    expect(await found("userId=ada")).toBe(110);
    expect(await found("userId=")).toBe(1);
    expect(await found(`agentId=${agentA}&userId=ada&sessionId=&groupBy=user`)).toBe(10);
    const nothing = await usage(t, `${march}&agentId=ag_${"z".repeat(24)}`);
    expect(nothing).toEqual({ buckets: [], totals: noTotals });
  });

  test("200: another tenant's usage is nobody else's, whatever the filter names", async () => {
    const t = await h.tenant();
    const stranger = await h.tenant();
    await meter(t, [{ user: "ada" }]);
    const empty = { buckets: [], totals: noTotals };
    for (const query of ["", `agentId=${agentA}`, `sessionId=${session1}`, "userId=ada", "groupBy=session"])
      expect(await usage(stranger, `${march}&${query}`)).toEqual(empty);
    expect(await usage(stranger, march, `/v1/agents/${agentA}/usage`)).toEqual(empty);
    expect(await usage(t, march)).not.toEqual(empty);
  });

  test("400 invalid_request: both forms, malformed and unknown fields, each named", async () => {
    const t = await h.tenant();
    for (const [query, field] of [
      ["agentId=nope", "agentId"],
      ["agentId=", "agentId"],
      ["sessionId=nope", "sessionId"],
      [`sessionId=${agentA}`, "sessionId"],
      [`userId=${"u".repeat(257)}`, "userId"],
      ["userId=%00", "userId"],
      ["userId=%ff", "userId"],
      ["userId=a%", "userId"],
      ["groupBy=", "groupBy"],
      ["groupBy=provider", "groupBy"],
      ["group_by=day", "group_by"],
      ["cursor=x", "cursor"],
      ["groupBy=day&groupBy=day", "groupBy"],
    ] as const)
      await expectBroken(t, `/v1/usage?${query}`, field);
  });
});

describe("GET /v1/usage ranges", () => {
  test("200: without one, the last 30 days that end today", async () => {
    const t = await h.tenant();
    await meter(t, [
      { day: daysAgo(30), input: 1 },
      { day: daysAgo(29), input: 10 },
      { day: daysAgo(0), input: 100 },
      { day: daysAgo(-1), input: 1_000 },
    ]);
    expect((await usage(t)).totals.inputTokens).toBe(110);
  });

  test("The default range is counted in UTC days, over month ends and leap days", () => {
    const range = (now: string) => {
      const { from, to } = readUsageQuery({}, new Date(now));
      return [from, to];
    };
    expect(range("2024-03-01T00:00:00.000Z")).toEqual(["2024-02-01", "2024-03-01"]);
    expect(range("2025-12-31T23:59:59.999Z")).toEqual(["2025-12-02", "2025-12-31"]);
    expect(range("2025-12-31T23:59:59.999-01:00")).toEqual(["2025-12-03", "2026-01-01"]);
  });

  test("200: both ends belong to it; one day and 31 days are ranges", async () => {
    const t = await h.tenant();
    await meter(t, [
      { day: "2025-02-28", input: 1 },
      { day: "2025-03-01", input: 10 },
      { day: "2025-03-31", input: 100 },
      { day: "2025-04-01", input: 1_000 },
    ]);
    const found = async (from: string, to: string) => (await usage(t, `from=${from}&to=${to}`)).totals.inputTokens;
    expect(await found("2025-03-01", "2025-03-31")).toBe(110);
    expect(await found("2025-03-31", "2025-03-31")).toBe(100);
    expect(await found("2024-02-29", "2024-02-29")).toBe(0);
    expect(await found("0001-01-01", "0001-01-31")).toBe(0);
    expect(await found("9999-12-01", "9999-12-31")).toBe(0);
  });

  test("400 invalid_request: both forms, partial, reversed, 32 days, days that do not exist", async () => {
    const t = await h.tenant();
    for (const [query, field] of [
      ["from=2025-03-01", "to"],
      ["to=2025-03-01", "from"],
      ["from=2025-03-02&to=2025-03-01", "to"],
      ["from=2025-03-01&to=2025-04-01", "to"],
      ["from=&to=2025-03-01", "from"],
      ["from=2025-3-1&to=2025-03-01", "from"],
      ["from=2025-03-01T00:00:00Z&to=2025-03-01", "from"],
      ["from=2025-02-29&to=2025-03-01", "from"],
      ["from=2025-03-01&to=2025-03-32", "to"],
      ["from=2025-13-01&to=2025-12-01", "from"],
      ["from=0000-01-01&to=0000-01-02", "to"],
    ] as const)
      await expectBroken(t, `/v1/usage?${query}`, field);
  });
});

describe("GET /v1/usage limit", () => {
  test("200: cuts sessions, the largest first, and neither totals nor other groups; 50 by default", async () => {
    const t = await h.tenant();
    const ids = Array.from({ length: 201 }, (_, index) => String(index).padStart(24, "0"));
    await meter(
      t,
      ids.map((id, index) => ({ session: `ss_${id}`, agent: `ag_${id}`, input: index, output: 0 })),
    );
    const by = async (query: string) => (await usage(t, `${march}&${query}`)) as { buckets: object[]; totals: object };
    const top = await by("groupBy=session&limit=1");
    expect(top.buckets).toEqual([bucket({ sessionId: `ss_${ids[200]}`, inputTokens: 200, outputTokens: 0 })]);
    expect(top.totals).toEqual({
      ...noParts,
      inputTokens: 20_100,
      outputTokens: 0,
      requestCount: 201,
      durationMs: 201,
    });
    expect((await by("groupBy=session")).buckets).toHaveLength(50);
    expect((await by("groupBy=session&limit=200")).buckets).toHaveLength(200);
    expect((await by("groupBy=agent&limit=1")).buckets).toHaveLength(201);
  });

  test("400 invalid_request: both forms, whatever it is grouped by; below 1, above 200, no whole number", async () => {
    const t = await h.tenant();
    for (const limit of ["0", "201", "-1", "1.5", "1e1", "", "x", "99999"])
      for (const group of ["day", "session"])
        await expectBroken(t, `/v1/usage?groupBy=${group}&limit=${limit}`, "limit");
  });
});

describe("GET /v1/agents/:agentId/usage", () => {
  test("200: the path's agent, whether it exists or not; an agentId in the query is ignored", async () => {
    const t = await h.tenant();
    await meter(t, [
      { agent: agentA, input: 1 },
      { agent: agentB, input: 10 },
    ]);
    const path = `/v1/agents/${agentA}/usage`;
    for (const query of ["", `&agentId=${agentB}`, "&agentId=nope", "&agentId="])
      expect((await usage(t, march + query, path)).totals.inputTokens).toBe(1);
    expect((await usage(t, `${march}&groupBy=agent`, path)).buckets).toEqual([bucket({ agentId: agentA })]);
    const unknown = await usage(t, march, `/v1/agents/ag_${"z".repeat(24)}/usage`);
    expect(unknown).toEqual({ buckets: [], totals: noTotals });
  });

  test("400 invalid_request: both forms, a malformed id, and every broken query", async () => {
    const t = await h.tenant();
    await expectBroken(t, `/v1/agents/nope/usage?${march}`, "agentId");
    await expectBroken(t, `/v1/agents/${agentA}/usage?from=2025-03-01`, "to");
    await expectBroken(t, `/v1/agents/${agentA}/usage?limit=201`, "limit");
    await expectBroken(t, `/v1/agents/${agentA}/usage?agent=x`, "agent");
  });
});
