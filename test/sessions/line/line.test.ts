import { describe, expect, test } from "bun:test";
import { lineTurnsMax } from "../../../src/kernel/limits.ts";
import { useAgent } from "../../harness/fixture.ts";
import { busySession, lineIs, saidText } from "../../harness/line.ts";
import { userMessage } from "../../harness/seed.ts";
import { statusAndCode } from "../../harness/status-and-code.ts";
import { idle, messagesOf, open, play, script, sessionPath } from "../../harness/turns.ts";

const { h, t, agentId } = await useAgent({ worker: true });
const typesOf = (events: { data: { type: string } | "[DONE]" }[]) =>
  events.map(({ data }) => (data === "[DONE]" ? data : data.type));
const lastOf = (events: { data: { type: string } | "[DONE]" }[]) => typesOf(events).slice(-2);

describe("onBusy: enqueue", () => {
  for (const form of ["a", "b"] as const) {
    test(`turns are accepted at once and run in the order of their acceptance, whatever the end of the one before (form ${form})`, async () => {
      const s = await busySession(h, t, agentId);
      const queued = [];
      for (const text of ["first", "second", "third"]) queued.push(await s.send(text, { form }));
      for (const { response, turnId } of queued) {
        expect(response.status).toBe(200);
        expect(turnId).toMatch(/^turn_/);
      }
      await lineIs(h, s.sessionId, 3);
      expect(statusAndCode(await play(t, agentId, s.sessionId, { message: userMessage("x") }, { form }))).toEqual(
        form === "a" ? [409, "SESSION_BUSY"] : [409, "session_busy"],
      );
      const canceled = await s.cancel();
      expect([canceled.status, canceled.body]).toEqual([202, { canceled: 1 }]);
      expect(lastOf(await s.running.rest())).toEqual(["abort", "[DONE]"]);
      for (const stream of queued) expect(lastOf(await stream.rest())).toEqual(["finish", "[DONE]"]);
      await lineIs(h, s.sessionId, 0);
      const asked = (await messagesOf(t, agentId, s.sessionId)).filter(({ role }: { role: string }) => role === "user");
      expect(asked.map(({ parts }: { parts: { text: string }[] }) => parts[0]?.text)).toEqual([
        "hi",
        "first",
        "second",
        "third",
      ]);
    });
  }

  test("an idle session runs the turn at once, and a new one has no line", async () => {
    const { sessionId } = await play(t, agentId, null, { message: userMessage("hi"), stream: false });
    for (const onBusy of ["enqueue", "interrupt"]) {
      const played = await play(t, agentId, sessionId, { message: userMessage("on"), onBusy, stream: false });
      expect(played.status).toBe(200);
    }
    const created = await play(t, agentId, null, { message: userMessage("hi"), onBusy: "enqueue" });
    expect(statusAndCode(created)[0]).toBe(400);
    const wrong = await play(t, agentId, sessionId, { message: userMessage("hi"), onBusy: "wait" });
    expect(wrong.status).toBe(400);
    expect(JSON.stringify(wrong.body)).toContain("onBusy");
  });

  test("stream: false waits for its turn as well, and a caller that leaves ends nothing", async () => {
    const s = await busySession(h, t, agentId);
    const gone = await s.send("first");
    const waiting = play(t, agentId, s.sessionId, { message: userMessage("second"), onBusy: "enqueue", stream: false });
    await lineIs(h, s.sessionId, 2);
    await gone.leave();
    await s.cancel();
    const { status, body } = await waiting;
    expect(status).toBe(200);
    expect(body.message.role).toBe("assistant");
    expect((await s.texts()).filter((text) => ["first", "second"].includes(text))).toEqual(["first", "second"]);
  });

  test("a turn that waits answers by its schema", async () => {
    const s = await busySession(h, t, agentId);
    const schema = { type: "integer" };
    const waiting = play(t, agentId, s.sessionId, {
      message: script("text=7"),
      onBusy: "enqueue",
      stream: false,
      responseFormat: { type: "json_schema", schema },
    });
    await lineIs(h, s.sessionId, 1);
    await s.cancel();
    expect((await waiting).body).toMatchObject({ output: 7 });
  });

  test(`at most ${lineTurnsMax} wait, also when more come at once`, async () => {
    const s = await busySession(h, t, agentId);
    const streams = [];
    // A process takes 64 requests of a tenant at once.
    for (let n = 0; n < lineTurnsMax + 20; n += 40)
      streams.push(...(await Promise.all(Array.from({ length: 40 }, (_, at) => s.send(`turn ${n + at}`)))));
    const statuses = streams.map(({ response }) => response.status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(lineTurnsMax);
    expect(statuses.filter((status) => status === 409)).toHaveLength(20);
    await lineIs(h, s.sessionId, lineTurnsMax);
    const canceled = await s.cancel({ queued: true });
    expect([canceled.status, canceled.body]).toEqual([202, { canceled: lineTurnsMax + 1 }]);
    await lineIs(h, s.sessionId, 0);
    for (const stream of streams.filter(({ response }) => response.status === 200)) {
      expect(typesOf(await stream.rest())).toEqual(["start", "abort", "[DONE]"]);
    }
    await idle(h, s.sessionId);
    expect(await s.texts()).toHaveLength(2);
    const again = await play(t, agentId, s.sessionId, { message: userMessage("on"), stream: false });
    expect(again.status).toBe(200);
  });

  test("422 idempotency_key_reused: another body; an Idempotency-Key joins the turn that waits", async () => {
    const s = await busySession(h, t, agentId);
    const body = { message: userMessage("first"), onBusy: "enqueue" };
    const headers = { "idempotency-key": crypto.randomUUID() };
    const path = sessionPath(agentId, s.sessionId);
    const [one, two] = await Promise.all([1, 2].map(() => open(h, t, "POST", path, { body, headers })));
    expect(two?.turnId).toBe(one?.turnId ?? "");
    await lineIs(h, s.sessionId, 1);
    const other = await t.call("POST", path, { body: { ...body, message: userMessage("other") }, headers });
    expect(statusAndCode(other)).toEqual([422, "idempotency_key_reused"]);
    await s.cancel();
    for (const stream of [one, two]) expect(lastOf((await stream?.rest()) ?? [])).toEqual(["finish", "[DONE]"]);
    expect(await s.texts()).toHaveLength(4);
  });
});

describe("onBusy: interrupt", () => {
  test("the running turn ends with what it said, and the new one starts before those that wait", async () => {
    const s = await busySession(h, t, agentId);
    const queued = await s.send("queued");
    const urgent = await s.send("urgent", { onBusy: "interrupt" });
    expect(lastOf(await s.running.rest())).toEqual(["abort", "[DONE]"]);
    expect(lastOf(await urgent.rest())).toEqual(["finish", "[DONE]"]);
    expect(lastOf(await queued.rest())).toEqual(["finish", "[DONE]"]);
    const texts = await s.texts();
    expect(texts.slice(3, 5)).toEqual([saidText, "urgent"]);
    expect(texts.indexOf("queued")).toBe(6);
    expect(texts).toHaveLength(8);
  });

  test("many at once: each is accepted, and all of them run", async () => {
    const s = await busySession(h, t, agentId);
    const streams = await Promise.all(
      Array.from({ length: 8 }, (_, n) => s.send(`urgent ${n}`, { onBusy: "interrupt" })),
    );
    for (const { response } of streams) expect(response.status).toBe(200);
    const ends = await Promise.all(streams.map(async (stream) => lastOf(await stream.rest())[0]));
    for (const end of ends) expect(["finish", "abort"]).toContain(end ?? "");
    expect(ends).toContain("finish");
    await idle(h, s.sessionId);
    await lineIs(h, s.sessionId, 0);
    const texts = await s.texts();
    for (let n = 0; n < 8; n++) expect(texts).toContain(`urgent ${n}`);
  });
});
