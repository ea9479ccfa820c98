import { describe, expect, test } from "bun:test";
import { longestPart, stepSpans } from "../../src/console/turns/step-spans.ts";
import { cancelOf, queryOf } from "../../src/console/turns/turn-filters.ts";
import { firstTextOf, ranOf } from "../../src/console/turns/turn-times.ts";

const now = Date.parse("2026-03-01T12:00:00Z");

describe("the filters of the list of turns", () => {
  test("make its query; words that the interface does not know are left out", () => {
    expect(queryOf({ status: "failed", kind: "task", since: "hour", userId: "u1" }, now)).toEqual({
      ...{ status: "failed", kind: "task", userId: "u1" },
      from: "2026-03-01T11:00:00.000Z",
    });
    expect(queryOf({ status: "ended", kind: "x", since: "ever", order: "shortest" }, now)).toEqual({});
    expect(queryOf({ order: "longest", error: "provider_error" }, now)).toEqual({
      sort: "longest",
      error: "provider_error",
      // What the list says of its time without a choice.
      from: "2026-02-28T12:00:00.000Z",
    });
    const { from, to } = queryOf({ since: "yesterday" }, now);
    expect(new Date(from ?? "").getHours() + new Date(to ?? "").getHours()).toBe(0);
    expect(Date.parse(to ?? "")).toBeLessThan(now);
  });

  test("name what is canceled with all that match, and nothing where the list is narrower than that", () => {
    expect(cancelOf({ agentId: "ag_1", status: "running", order: "longest" })).toEqual({
      ...{ agentId: "ag_1", status: "running" },
    });
    for (const filters of [
      {},
      { order: "longest" },
      { agentId: "ag_1", kind: "task" },
      { agentId: "ag_1", since: "hour" },
      { agentId: "ag_1", status: "failed" },
      { agentId: "ag_1", error: "provider_error" },
    ])
      expect(cancelOf(filters)).toBeNull();
  });
});

describe("a turn as bars", () => {
  const at = (second: number) => new Date(now + second * 1000).toISOString();
  const parts = { cachedInputTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0 };
  const step = { ...parts, index: 0, provider: "prv_1", model: "m", inputTokens: 1_200, outputTokens: 3, failures: [] };

  test("its wait, its model calls, and their tool calls below them", () => {
    const toolCall = { toolCallId: "c1", tool: "bash", status: "failed" as const, startedAt: at(2), finishedAt: at(3) };
    const steps = [{ ...step, startedAt: at(1), finishedAt: at(4), toolCalls: [toolCall] }];
    const turn = {
      acceptedAt: at(0),
      startedAt: at(1),
      firstTextAt: at(1.2),
      finishedAt: at(5),
      status: "succeeded" as const,
      steps,
    };
    expect(stepSpans(turn).map(({ label, from, until, depth, tone }) => [label, from, until, depth, tone])).toEqual([
      ["Queued", at(0), at(1), 0, "neutral"],
      ["Step 1: m", at(1), at(4), 0, "active"],
      ["bash", at(2), at(3), 1, "bad"],
    ]);
    expect(stepSpans(turn).map(({ mark }) => mark)).toEqual([undefined, at(1.2), undefined]);
  });

  test("what it waited for a person between a step and the call that was approved, and what took longest", () => {
    const toolCall = (id: string, from: number, until: number) => ({
      ...{ toolCallId: id, tool: "bash", status: "succeeded" as const },
      ...{ startedAt: at(from), finishedAt: at(until) },
    });
    const steps = [
      { ...step, startedAt: at(1), finishedAt: at(2), toolCalls: [toolCall("c1", 1.5, 2), toolCall("c2", 20, 22)] },
      { ...step, index: 1, startedAt: at(22), finishedAt: at(30), toolCalls: [toolCall("c3", 23, 29)] },
      { ...step, index: 2, startedAt: at(60), finishedAt: at(61), toolCalls: [] },
    ];
    const turn = {
      acceptedAt: at(0),
      startedAt: at(1),
      firstTextAt: at(1.2),
      finishedAt: at(61),
      status: "succeeded" as const,
      steps,
    };
    const spans = stepSpans(turn);
    expect(spans.map(({ label, from, until }) => [label, from, until])).toEqual([
      ["Queued", at(0), at(1)],
      ["Step 1: m", at(1), at(1.5)],
      ["bash", at(1.5), at(2)],
      ["Waited", at(2), at(20)],
      ["bash", at(20), at(22)],
      ["Step 2: m", at(22), at(30)],
      ["bash", at(23), at(29)],
      ["Waited", at(30), at(60)],
      ["Step 3: m", at(60), at(61)],
    ]);
    expect(new Set(spans.map(({ id }) => id)).size).toBe(spans.length);
    expect(longestPart(spans)).toEqual({ label: "Waited", milliseconds: 30_000 });
    const second = spans.slice(5, 7);
    expect(longestPart(second)).toEqual({ label: "bash", milliseconds: 6_000 });
    expect(longestPart([])).toBeNull();
  });

  test("what broke off ends with the turn; what runs has no end", () => {
    const steps = [{ ...step, startedAt: at(1), finishedAt: null, toolCalls: [] }];
    const turn = {
      acceptedAt: at(0),
      startedAt: at(1),
      firstTextAt: at(1.2),
      finishedAt: at(5),
      status: "failed" as const,
      steps,
    };
    expect(stepSpans(turn)[1]).toMatchObject({ until: at(5), tone: "bad" });
    expect(stepSpans({ ...turn, finishedAt: null, status: "running" })[1]).toMatchObject({ until: null });
    const ran = { ...turn, runMs: 3_000, waitedMs: 2_000 };
    expect([ranOf(ran, now), ranOf({ ...ran, finishedAt: null }, now + 8_000)]).toEqual([3_000, 5_000]);
    expect(ranOf({ ...ran, finishedAt: null, status: "waiting", waitedMs: 0 }, now + 8_000)).toBe(3_000);
  });

  test("spoke after a time without its wait for people, unless it spoke before it waited", () => {
    const of = (firstTextAt: string | null, waitedMs: number) =>
      firstTextOf({ acceptedAt: "2026-03-01T12:00:00Z", firstTextAt, waitedMs });
    expect(of("2026-03-01T12:00:05Z", 4_000)).toBe(1_000);
    expect(of("2026-03-01T12:00:01Z", 4_000)).toBe(1_000);
    expect(of(null, 4_000)).toBeNull();
  });
});
