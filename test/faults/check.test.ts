import { describe, expect, test } from "bun:test";
import { check, checkTurns } from "./check.ts";
import { checkClientTools } from "./check-client-tools.ts";
import { checkKept } from "./check-kept.ts";
import { checkLine } from "./check-line.ts";
import { checkLogs } from "./check-logs.ts";
import { checkTools } from "./check-tools.ts";
import { checkTranscripts } from "./check-transcripts.ts";
import { type Entry, History, type Message } from "./record.ts";
import type { Remains, TurnRecord } from "./rows.ts";
import { checkTold } from "./webhooks.ts";

/** A second of an invented history. */
const at = (second: number) => new Date(second * 1_000);

function turn(id: string, fields: Partial<TurnRecord> = {}): TurnRecord {
  return {
    ...{
      id,
      op: id,
      sessionId: "s",
      status: "succeeded",
      attempt: 1,
      crashes: 0,
      attemptsBefore: 0,
      stepsDone: 0,
      trigger: "submit-message",
    },
    ...{ error: null, continuationId: null, assistantMessageId: `a-${id}`, cancelRequested: false, cancelKeep: null },
    ...{ acceptedAt: at(0), claimedAt: at(1), finishedAt: at(2), usageRows: 1 },
    ...fields,
  };
}

function historyOf(...entries: Partial<Entry>[]): History {
  const history = new History();
  for (const fields of entries) {
    const op = fields.op ?? fields.turnId ?? "op";
    const entry = history.begin({ id: op, op, kind: "turn", sessionId: "s" });
    Object.assign(entry, { status: 200, ...fields });
  }
  return history;
}

const user = (id: string): Message => ({ id, role: "user", parts: [] });
const answer = (id: string, ...parts: object[]): Message => ({ id, role: "assistant", parts });

function remainsOf(fields: Partial<Remains>): Remains {
  return {
    ...{ turns: [], sessions: [], approvals: [], memories: [], counted: new Map(), strayUsage: 0, requestCount: 0 },
    ...{ transcripts: new Map() },
    ...fields,
  };
}

describe("what the checker must see", () => {
  test("an end that a webhook was told of twice, wrongly or never, and one that never was", () => {
    const told = (id: string, turnId: string, status: string) => ({
      id,
      event: { type: "turn.ended", timestamp: "", data: { ids: { turnId }, status } },
    });
    const remains = remainsOf({ turns: [turn("t1"), turn("t2")] });
    const right = [told("m1", "t1", "succeeded"), told("m2", "t2", "succeeded")];
    expect(checkTold([...right, ...right], remains)).toEqual([]);
    expect(checkTold(right.slice(1), remains)).toHaveLength(1);
    expect(checkTold([...right, told("m3", "t1", "succeeded")], remains)).toHaveLength(1);
    expect(checkTold([...right.slice(1), told("m1", "t1", "failed")], remains)).toHaveLength(1);
    expect(checkTold([...right, told("m3", "t3", "succeeded")], remains)).toHaveLength(1);
  });

  /** Two turns of a session's line, the second asked for when the first was accepted. */
  const line = (second: "enqueue" | "interrupt") =>
    historyOf(
      { turnId: "t1", onBusy: "enqueue", startedAt: 1_000, respondedAt: 2_000 },
      { turnId: "t2", onBusy: second, startedAt: 3_000, respondedAt: 4_000 },
    );
  const began = (t1: number, t2: number) =>
    remainsOf({
      turns: [turn("t1", { claimedAt: at(t1) }), turn("t2", { claimedAt: at(t2), finishedAt: at(t2 + 1) })],
    });

  test("a line out of order", () => {
    expect(checkLine(line("enqueue"), began(5, 6))).toEqual([]);
    expect(checkLine(line("enqueue"), began(6, 5))).toHaveLength(1);
    expect(checkLine(line("interrupt"), began(6, 5))).toEqual([]);
    expect(checkLine(line("interrupt"), began(5, 6))).toHaveLength(1);
  });

  test("a turn past its first step that was lost to one worker", () => {
    const error = { code: "service_unavailable", message: "The worker that ran this turn was lost." };
    const lost = (fields: Partial<TurnRecord>) => checkTurns([turn("t1", { status: "failed", error, ...fields })]);
    expect(lost({ stepsDone: 1 })).toHaveLength(1);
    expect(lost({ stepsDone: 0 })).toEqual([]);
    expect(lost({ stepsDone: 1, crashes: 1 })).toEqual([]);
  });

  test("a turn that succeeds although it was interrupted", () => {
    const ran = (status: string) =>
      remainsOf({
        turns: [
          turn("t1", { status, claimedAt: at(2), finishedAt: at(5) }),
          turn("t2", { claimedAt: at(6), finishedAt: at(7) }),
        ],
      });
    expect(checkLine(line("interrupt"), ran("canceled"))).toEqual([]);
    expect(checkLine(line("interrupt"), ran("succeeded"))).toHaveLength(1);
  });

  test("a kept answer that nobody was shown", () => {
    const reading = {
      ...{ from: 0, ids: ["t1:0", "t1:1"], finished: true, left: false },
      chunks: [{ type: "start" }, { type: "text-delta", delta: "so far" }],
    };
    const said = (text: string, cancelKeep: "partial" | "nothing" = "partial") =>
      remainsOf({
        turns: [turn("t1", { status: "canceled", cancelKeep })],
        transcripts: new Map([["s", [user("u"), answer("a-t1", { type: "text", text })]]]),
      });
    const history = historyOf({ turnId: "t1", reading });
    expect(checkKept(history, said("so f"))).toEqual([]);
    expect(checkKept(history, said("so well"))).toHaveLength(1);
    expect(checkKept(history, said("so f", "nothing"))).toHaveLength(1);
  });

  /** What a reader saw: events by their ids, from `start` to a good end. */
  const reading = (events: Readonly<Record<string, object>>) => ({
    ...{ from: 0, finished: true, left: false, ids: Object.keys(events) },
    chunks: Object.values(events) as { type: string }[],
  });
  const live = reading({
    ...{ "t1:0": { type: "start" }, "t1:1": { type: "text-start", id: "txt-0" } },
    ...{ "t1:2": { type: "text-delta", id: "txt-0", delta: "so" }, "t1:3": { type: "finish" } },
  });
  const saw = (...seen: object[]) =>
    checkLogs(
      historyOf(...seen.map((reading) => ({ turnId: "t1", reading: reading as never }))),
      remainsOf({ turns: [turn("t1")] }),
      true,
    );

  test("two readers of one log that saw different events", () => {
    expect(saw(live, live)).toEqual([]);
    const other = {
      ...live,
      chunks: live.chunks.map((chunk, index) => (index === 2 ? { ...chunk, delta: "no" } : chunk)),
    };
    expect(saw(live, other)).toHaveLength(1);
  });

  test("a stored message under the numbers of its log, and not under those of its own", () => {
    const storedAs = (name: string, delta = "so") =>
      reading({
        ...{ "t1:0": { type: "start" }, [`${name}:1`]: { type: "text-start", id: "part-1" } },
        ...{ [`${name}:2`]: { type: "text-delta", id: "part-1", delta }, [`${name}:3`]: { type: "finish" } },
      });
    expect(saw(storedAs("t1"))).toHaveLength(1);
    expect(saw(live, storedAs("t1+stored"), storedAs("t1+now", "so far"), storedAs("t1+now", "so"))).toEqual([]);
    expect(saw(storedAs("t1+stored"), storedAs("t1+stored", "so far"))).toHaveLength(1);
    expect(saw(storedAs("t2+stored"))).toHaveLength(1);
  });

  test("a log that was lost, and the one after it", () => {
    const anew = (second: string, third: string) =>
      reading({
        ...{ "t1:0": { type: "start" }, [`${second}:1`]: { type: "text-start", id: "txt-0" } },
        ...{ [`${third}:2`]: { type: "text-delta", id: "txt-0", delta: "so on" }, [`${third}:3`]: { type: "finish" } },
      });
    expect(saw(live, anew("t1.2", "t1.2"))).toEqual([]);
    expect(saw(live, anew("t1", "t1.2"))).toHaveLength(1);
    expect(saw(live, anew("t1.2", "t1"))).not.toEqual([]);
    expect(saw(anew("t1.2", "t1.3"))).toHaveLength(1);
  });

  test("a message sent back that gets what its continuation cannot end with", async () => {
    const sentBack = (status: number, code: string) =>
      check(historyOf({ kind: "round trip", status, code, body: { error: { code } } }), remainsOf({}), []);
    expect(await sentBack(409, "turn_canceled")).toEqual([]);
    expect(await sentBack(502, "provider_error")).toEqual([]);
    expect(await sentBack(409, "session_idle")).toHaveLength(1);
  });

  test("a tool that ran twice, but for regenerations, of forks too", () => {
    const counted = new Map([["t1/1", 2]]);
    const sessions = ["s", "fork"].map((id) => ({ id, agentId: "a", deleted: false, op: id }));
    const fork = { kind: "fork", op: "fork", status: 201, body: { id: "fork" } };
    const again = turn("t2", { sessionId: "fork", trigger: "regenerate-message" });
    expect(checkTools(historyOf(fork), remainsOf({ counted, sessions, turns: [turn("t1")] }))).toHaveLength(1);
    expect(checkTools(historyOf(fork), remainsOf({ counted, sessions, turns: [turn("t1"), again] }))).toEqual([]);
  });

  test("a fork that holds something else than its source held", async () => {
    const sessions = ["s", "fork"].map((id) => ({ id, agentId: "a", deleted: false, op: id }));
    const history = historyOf(
      { op: "t1", message: user("u1") },
      { op: "t2", message: user("u2") },
      { kind: "fork", op: "fork", status: 201, body: { id: "fork" } },
    );
    const whole = [user("u1"), answer("a-t1"), user("u2"), answer("a-t2")];
    const holding = (...held: Message[]) =>
      remainsOf({
        sessions,
        turns: [turn("t1"), turn("t2")],
        transcripts: new Map([
          ["s", whole],
          ["fork", held],
        ]),
      });
    expect(await checkTranscripts(history, holding(user("u1"), answer("a-t1")))).toEqual([]);
    expect(await checkTranscripts(history, holding(...whole))).toEqual([]);
    expect(await checkTranscripts(history, holding(user("u1")))).toHaveLength(1);
  });

  test("a fork's question that was lost when it was answered", async () => {
    const sessions = ["s", "fork"].map((id) => ({ id, agentId: "a", deleted: false, op: id }));
    const history = historyOf(
      { op: "t1", message: user("u1") },
      { kind: "fork", op: "fork", status: 201, body: { id: "fork" }, cutAt: "u1" },
      { kind: "regenerate", op: "t2", sessionId: "fork", message: null },
    );
    const turns = [turn("t1"), turn("t2", { sessionId: "fork", trigger: "regenerate-message" })];
    const holding = (...fork: Message[]) =>
      remainsOf({
        sessions,
        turns,
        transcripts: new Map([
          ["s", [user("u1"), answer("a-t1")]],
          ["fork", fork],
        ]),
      });
    expect(await checkTranscripts(history, holding(user("u1"), answer("a-t2")))).toEqual([]);
    expect(await checkTranscripts(history, holding(answer("a-t2")))).toHaveLength(1);
  });

  test("a transcript of many cancelled turns of which some kept an answer", async () => {
    const turns = Array.from({ length: 12 }, (_, place) =>
      turn(`t${place}`, { status: "canceled", cancelKeep: "partial", finishedAt: at(place + 1) }),
    );
    const history = historyOf(...turns.map(({ id }) => ({ op: id, message: user(`u-${id}`) })));
    const sessions = [{ id: "s", agentId: "a", deleted: false, op: "s" }];
    const held = turns.flatMap(({ id }, place) => [user(`u-${id}`), ...(place % 2 === 0 ? [] : [answer(`a-${id}`)])]);
    const holding = (list: Message[]) => remainsOf({ sessions, turns, transcripts: new Map([["s", list]]) });
    expect(await checkTranscripts(history, holding(held))).toEqual([]);
    expect(await checkTranscripts(history, holding(held.filter(({ id }) => id !== "u-t3")))).toHaveLength(1);
    expect(await checkTranscripts(history, holding(held.toReversed()))).toHaveLength(1);
  });

  test("a fork of a turn that waited, and another message than was sent in its own session", async () => {
    const sessions = ["s", "fork"].map((id) => ({ id, agentId: "a", deleted: false, op: id }));
    const sent = answer("a-t1", { type: "text", text: "Both." });
    const history = historyOf(
      { op: "t1", turnId: "c1", message: user("u1"), body: { message: sent } },
      { kind: "fork", op: "fork", status: 201, body: { id: "fork" } },
    );
    const holding = (own: Message) =>
      remainsOf({
        sessions,
        turns: [turn("t1", { continuationId: "c1" })],
        transcripts: new Map([
          ["s", [user("u1"), own]],
          ["fork", [user("u1"), answer("a-t1")]],
        ]),
      });
    expect(await checkTranscripts(history, holding(sent))).toEqual([]);
    expect(await checkTranscripts(history, holding(answer("a-t1")))).toHaveLength(1);
  });

  test("a denied call that who joined its continuation as a whole reads otherwise, but for the decision", async () => {
    const sessions = [{ id: "s", agentId: "a", deleted: false, op: "s" }];
    const call = { type: "tool-save", toolCallId: "c", input: {}, state: "output-denied" };
    const decision = { id: "apr_1", approved: false, reason: "not now" };
    const seen = reading({
      ...{ "c1+3:0": { type: "start", messageId: "a-t1" } },
      ...{ "c1+3:1": { type: "tool-input-available", toolCallId: "c", toolName: "save", input: {} } },
      ...{ "c1+3:2": { type: "tool-approval-request", approvalId: "apr_1", toolCallId: "c" } },
      ...{ "c1+3:3": { type: "tool-output-denied", toolCallId: "c" }, "c1+3:4": { type: "finish" } },
    });
    const holding = (stored: object) =>
      remainsOf({
        sessions,
        turns: [turn("t1", { continuationId: "c1" })],
        transcripts: new Map([["s", [user("u1"), answer("a-t1", stored)]]]),
      });
    const history = historyOf(
      { op: "t1", message: user("u1") },
      { kind: "join", turnId: "t1", reading: seen as never },
    );
    expect(await checkTranscripts(history, holding({ ...call, approval: decision }))).toEqual([]);
    const other = [
      { ...call, approval: { ...decision, id: "apr_2" } },
      { ...call, state: "output-available", output: 1, approval: { id: "apr_1", approved: true } },
    ];
    for (const stored of other) expect(await checkTranscripts(history, holding(stored))).toHaveLength(1);
    // As JSON all of it is said.
    const asJson = (approval: object) =>
      historyOf({
        op: "t1",
        turnId: "c1",
        message: user("u1"),
        body: { message: answer("a-t1", { ...call, approval }) },
      });
    const stored = holding({ ...call, approval: decision });
    expect(await checkTranscripts(asJson(decision), stored)).toEqual([]);
    expect(await checkTranscripts(asJson({ id: "apr_1" }), stored)).toHaveLength(1);
  });

  test("a client tool's call with two results, or with another one than was taken", () => {
    const toolCall = { toolCallId: "c", assistantMessageId: "a-t1" };
    const taken = { kind: "answer", status: 202, body: { toolCall }, result: { output: 1 } };
    const stored = (output: number) =>
      remainsOf({ transcripts: new Map([["s", [answer("a-t1", { type: "tool-pick", toolCallId: "c", output })]]]) });
    expect(checkClientTools(historyOf(taken), stored(1))).toEqual([]);
    expect(checkClientTools(historyOf(taken), stored(2))).toHaveLength(1);
    expect(checkClientTools(historyOf(taken, taken), stored(1))).toHaveLength(1);
  });
});
