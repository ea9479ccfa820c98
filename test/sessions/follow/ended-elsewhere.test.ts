import { describe, expect, test } from "bun:test";
import type { UIMessageChunk } from "ai";
import { closingChunks } from "../../../src/messages/close-parts.ts";
import { endIdleTurn } from "../../../src/sessions/end/idle-turn.ts";
import { assembledAnswer } from "../../../src/sessions/end/reached.ts";
import { findOrphans, type OrphanRow, recoverOrphan } from "../../../src/sessions/recover/orphans.ts";
import { workerLost } from "../../../src/sessions/state/turn-end.ts";
import { useAgent } from "../../harness/fixture.ts";
import { type HandedBackTurn, handedBackTurn } from "../../harness/handed-back.ts";
import { type LiveEvent, open, script, sessionPath } from "../../harness/turns.ts";

const { h, t, agentId } = await useAgent({ agent: { tools: ["write_todos"] } });

const resume = (sessionId: string, lastEventId: string) =>
  open(h, t, "GET", sessionPath(agentId, sessionId, "/stream"), { headers: { "last-event-id": lastEventId } });
async function join(sessionId: string, lastEventId: string): Promise<LiveEvent[]> {
  const stream = await resume(sessionId, lastEventId);
  expect(stream.response.status).toBe(200);
  return stream.rest();
}
const cancel = (sessionId: string, body: object = {}) =>
  t.call("POST", sessionPath(agentId, sessionId, "/cancel"), { body });
/** What is in the stream after the events that were seen. */
const chunksAfter = ({ turnId, seen }: HandedBackTurn, chunks: readonly object[]) => [
  ...chunks.map((data, index) => ({ id: `${turnId}:${seen.length + index}`, data })),
  { id: null, data: "[DONE]" },
];
const chunkAfter = (turn: HandedBackTurn, data: object) => chunksAfter(turn, [data]);
/** What readers have open is closed first. */
const abortAfter = (turn: HandedBackTurn) => {
  const closing = closingChunks(
    turn.seen.map(({ data }) => data as UIMessageChunk),
    null,
    "",
  );
  expect(closing.map(({ type }) => type)).toEqual(["text-end", "finish-step"]);
  return chunksAfter(turn, [...closing, { type: "abort" }]);
};

describe("a turn that had shown something, and ended while no worker had it", () => {
  test.each([
    ["a cancel", {}],
    ["a cancel that keeps something", { keep: "partial" }],
  ])("by %s: its readers get the rest and the abort, whatever they have seen", async (_by, body) => {
    const turn = await handedBackTurn(h, t, agentId);
    const { sessionId, turnId, seen } = turn;
    expect((await cancel(sessionId, body)).status).toBe(202);
    const ending = abortAfter(turn);
    expect(await turn.rest()).toEqual(ending as never);
    const whole = [...seen, ...ending];
    for (const [index, { id }] of whole.slice(0, -1).entries())
      expect(await join(sessionId, id as string)).toEqual(whole.slice(index + 1) as never);
    expect(await join(sessionId, `${turnId}:400`)).toEqual(whole as never);
  });

  test("by a cancellation of many: the same, though nobody has ended its log", async () => {
    const turn = await handedBackTurn(h, t, agentId);
    const { sessionId, seen } = turn;
    expect((await t.call("POST", "/v1/turns/cancel", { body: { sessionId } })).body).toEqual({ canceled: 1 });
    const whole = [...seen, ...abortAfter(turn)];
    const joined = await Promise.all(whole.slice(0, -1).map(({ id }) => join(sessionId, id as string)));
    for (const [index, events] of joined.entries()) expect(events).toEqual(whole.slice(index + 1) as never);
    expect(await turn.rest()).toEqual(abortAfter(turn) as never);
  });

  test.each([
    ["canceled", { why: "canceled" }, { type: "abort" }],
    ["failed", { why: "lost", error: workerLost }, { type: "error", errorText: workerLost.message }],
  ] as const)("as %s, and its log was sealed: the same, but nothing can be closed", async (_status, end, last) => {
    const turn = await handedBackTurn(h, t, agentId);
    const { sessionId, turnId, seen } = turn;
    await h.ctx.relay.seal({ logId: turnId, attempt: 1 });
    await endIdleTurn(h.sql, { turnId, attempt: 1, statuses: ["queued"] }, end);
    const whole = [...seen, ...chunkAfter(turn, last)];
    for (const index of [0, 1, seen.length - 2, seen.length - 1, seen.length])
      expect(await join(sessionId, whole[index]?.id as string)).toEqual(whole.slice(index + 1) as never);
    expect(await join(sessionId, `${turnId}:400`)).toEqual(whole as never);
    expect(await turn.rest()).toEqual(chunkAfter(turn, last) as never);
  });

  test.each([
    ["cancelled with what it had said kept", { cancel_keep: "partial", steps_done: 0 }],
    ["failed after a completed step", { cancel_keep: null, steps_done: 1 }],
  ])("by the reaper, %s: its stream is closed as the stored message is", async (_how, row) => {
    const turn = await handedBackTurn(h, t, agentId);
    const { sessionId, turnId, seen } = turn;
    const isCanceled = row.cancel_keep !== null;
    await h.sql`delete from graphile_worker._private_jobs where payload ->> 'turnId' = ${turnId}`;
    if (row.steps_done === 0) await h.sql`delete from turn_checkpoints where turn_id = ${turnId}`;
    await h.sql`
      update turns set status = 'running', attempt = 1, shown_at = now(), stopped_worker_at = ${isCanceled ? null : new Date()},
        cancel_requested_at = ${isCanceled ? new Date() : null}, cancel_keep = ${row.cancel_keep}, steps_done = ${row.steps_done},
        step_events = case when ${isCanceled} then 0 else step_events end where id = ${turnId}`;
    const [orphan] = (await findOrphans(h.sql)).filter(({ id }) => id === turnId);
    await recoverOrphan(h.ctx, orphan as OrphanRow, Date.now());
    const rest = await turn.rest();
    const types = rest.map(({ data }) => (data === "[DONE]" ? data : data.type));
    expect(types).toEqual(["text-end", "finish-step", isCanceled ? "abort" : "error", "[DONE]"]);
    const chunks = [...seen, ...rest].flatMap(({ data }) => (data === "[DONE]" || data.type === "start" ? [] : [data]));
    const [, stored] = (await t.call("GET", sessionPath(agentId, sessionId, "/messages"))).body.data;
    const read = await assembledAnswer(stored.id, null, chunks as UIMessageChunk[]);
    expect(JSON.parse(JSON.stringify(read.parts))).toEqual(stored.parts);
  });

  test("whose log is gone: a reader gets the chunk that ended it, or what is stored", async () => {
    for (const body of [{}, { keep: "partial" }]) {
      const { sessionId, turnId, seen } = await handedBackTurn(h, t, agentId);
      await h.ctx.relay.erase([{ logId: turnId, attempt: 1 }]);
      await cancel(sessionId, body);
      const rest = await join(sessionId, seen.at(-2)?.id as string);
      const types = rest.map(({ data }) => (data === "[DONE]" ? data : data.type));
      expect(types.slice(-2)).toEqual(["abort", "[DONE]"]);
      expect(types[0]).toBe("keep" in body ? "start" : "abort");
    }
  });

  test("before it ran: a reader that has its start gets the abort alone", async () => {
    const live = await open(h, t, "POST", sessionPath(agentId, null), { body: { message: script("text=never") } });
    const { sessionId, turnId } = live;
    expect((await t.call("POST", "/v1/turns/cancel", { body: { sessionId } })).body).toEqual({ canceled: 1 });
    const events = await live.rest();
    expect(events.map(({ id }) => id)).toEqual([`${turnId}:0`, `${turnId}:1`, null]);
    expect(await join(sessionId, `${turnId}:0`)).toEqual(events.slice(1));
  });
});

test("a reader that comes with the very last event of a log that was sealed gets nothing twice", async () => {
  const turn = await handedBackTurn(h, t, agentId);
  const { sessionId, turnId, seen } = turn;
  await h.ctx.relay.seal({ logId: turnId, attempt: 1 });
  const streams = await Promise.all(seen.slice(-2).map(({ id }) => resume(sessionId, id as string)));
  await endIdleTurn(h.sql, { turnId, attempt: 1, statuses: ["queued"] }, { why: "canceled" });
  const [before, last] = await Promise.all(streams.map((stream) => stream.rest()));
  expect(last).toEqual(chunkAfter(turn, { type: "abort" }) as never);
  expect(before).toEqual([seen.at(-1), ...chunkAfter(turn, { type: "abort" })] as never);
});
