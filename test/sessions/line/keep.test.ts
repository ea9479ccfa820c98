import { describe, expect, test } from "bun:test";
import { useAgent } from "../../harness/fixture.ts";
import { busySession, lineIs, saidText, textOfMessage } from "../../harness/line.ts";
import { makeAgent, userMessage } from "../../harness/seed.ts";
import { statusAndCode } from "../../harness/status-and-code.ts";
import {
  conversationOf,
  idle,
  type LiveStream,
  messagesOf,
  open,
  play,
  script,
  sessionPath,
  usageOf,
} from "../../harness/turns.ts";

const { h, t, agentId } = await useAgent({ worker: true });
const asking = await makeAgent(h, t, { tools: ["memory"], approvalInChat: { default: "manual" } });
const asks = '[[sim: text="Let me see." tool=memory_save args={"text":"likes tea"} ; text="Done."]]';
const endOf = async (stream: LiveStream | undefined) =>
  ((await stream?.rest()) ?? []).map(({ data }) => (data === "[DONE]" ? data : data.type)).slice(-2);

/** A session whose second turn waits for a person. */
async function waitingSession(): Promise<string> {
  const { sessionId } = await play(t, asking, null, { message: userMessage("hi"), stream: false });
  const asked = await play(t, asking, sessionId, { message: userMessage(asks) });
  expect(asked.status).toBe(200);
  return sessionId;
}

const statesOf = (message: { parts: { type: string; state?: string }[] }) =>
  message.parts.filter(({ type }) => type !== "step-start").map(({ type, state }) => `${type} ${state}`);

describe("cancel with keep: partial", () => {
  for (const form of ["a", "b"] as const) {
    test(`keeps the question and what was said, closed, and the next turn's model reads both (form ${form})`, async () => {
      const s = await busySession(h, t, agentId);
      const before = (await s.texts()).length;
      const path = sessionPath(agentId, s.sessionId, "/cancel");
      const canceled = await t.call("POST", path, { form, body: { keep: "partial" } });
      expect([canceled.status, canceled.body]).toEqual([202, { canceled: 1 }]);
      expect(await endOf(s.running)).toEqual(["abort", "[DONE]"]);
      const messages = await messagesOf(t, agentId, s.sessionId);
      expect(messages).toHaveLength(before + 2);
      expect(messages.at(-1)).toMatchObject({ role: "assistant" });
      expect(statesOf(messages.at(-1))).toEqual(["text done"]);
      expect(textOfMessage(messages.at(-1))).toBe(saidText);
      const on = userMessage("and then?");
      expect((await play(t, agentId, s.sessionId, { message: on, stream: false })).status).toBe(200);
      expect(JSON.stringify(conversationOf(h, on))).toContain(saidText);
      const list = await t.call("GET", `/v1/agents/${agentId}/sessions?limit=200`);
      const summary = list.body.data.find(({ id }: { id: string }) => id === s.sessionId);
      expect(summary.messageCount).toBe(before + 4);
    });
  }

  test("is metered, and by default nothing is kept", async () => {
    const s = await busySession(h, t, agentId);
    const turnId = s.running.turnId;
    const before = await s.texts();
    const wrong = await s.cancel({ keep: "all" });
    expect(wrong.status).toBe(400);
    expect((await s.cancel({})).body).toEqual({ canceled: 1 });
    await s.running.rest();
    expect(await s.texts()).toEqual(before);
    expect(await usageOf(h, turnId)).not.toBeNull();
  });

  test("of several cancels of one turn the first decides", async () => {
    const s = await busySession(h, t, agentId);
    // No worker hears of it, because the turn is asked to stop in its row alone.
    await h.sql`
      update turns set cancel_requested_at = now(), cancel_keep = 'partial' where id = ${s.running.turnId}`;
    await s.cancel({ keep: "nothing" });
    await s.running.rest();
    expect((await s.texts()).at(-1)).toBe(saidText);
  });

  test("of a turn that has said nothing, only the question is kept", async () => {
    const { sessionId } = await play(t, agentId, null, { message: userMessage("hi"), stream: false });
    const path = sessionPath(agentId, sessionId);
    const live = await open(h, t, "POST", path, { body: { message: script("text=a firstDelayMs=60000") } });
    await live.next();
    expect((await t.call("POST", `${path}/cancel`, { body: { keep: "partial" } })).status).toBe(202);
    expect(await endOf(live)).toEqual(["abort", "[DONE]"]);
    const messages = await messagesOf(t, agentId, sessionId);
    expect(messages.map(({ role }: { role: string }) => role)).toEqual(["user", "assistant", "user"]);
  });

  test("a turn that waits for a person keeps what it said, and its pending call has an error", async () => {
    const sessionId = await waitingSession();
    const path = sessionPath(asking, sessionId);
    expect((await t.call("POST", `${path}/cancel`, { body: { keep: "partial" } })).body).toEqual({ canceled: 1 });
    const messages = await messagesOf(t, asking, sessionId);
    expect(messages).toHaveLength(4);
    expect(statesOf(messages[3])).toEqual(["text done", "tool-memory_save output-error"]);
    const { approvals } = (await t.call("GET", `${path}/tool-approvals`)).body;
    expect(approvals.map(({ status }: { status: string }) => status)).toEqual(["denied"]);
    const on = userMessage("go on");
    expect((await play(t, asking, sessionId, { message: on, stream: false })).status).toBe(200);
    expect(JSON.stringify(conversationOf(h, on))).toContain("Let me see.");
  });

  test("a turn that waits for a person holds the line, and an interrupting one ends it", async () => {
    const sessionId = await waitingSession();
    const path = sessionPath(asking, sessionId);
    const queued = await open(h, t, "POST", path, { body: { message: userMessage("queued"), onBusy: "enqueue" } });
    await lineIs(h, sessionId, 1);
    const urgent = await open(h, t, "POST", path, { body: { message: userMessage("urgent"), onBusy: "interrupt" } });
    expect(await endOf(urgent)).toEqual(["finish", "[DONE]"]);
    expect(await endOf(queued)).toEqual(["finish", "[DONE]"]);
    const texts = (await messagesOf(t, asking, sessionId)).map(textOfMessage);
    expect([texts[4], texts[6]]).toEqual(["urgent", "queued"]);
  });

  test("a regeneration takes the place of the previous answer with what it said, or leaves that", async () => {
    const message = script('text="one two three" chunks=3 delayMs=0');
    const { sessionId } = await play(t, agentId, null, { message, stream: false });
    const path = sessionPath(agentId, sessionId);
    const before = await messagesOf(t, agentId, sessionId);
    const silent = await open(h, t, "POST", path, { body: { message: script("text=a firstDelayMs=60000") } });
    await t.call("POST", `${path}/cancel`, { body: { keep: "nothing" } });
    await silent.rest();
    expect(await messagesOf(t, agentId, sessionId)).toEqual(before);
    const again = await play(t, agentId, sessionId, { trigger: "regenerate-message", stream: false });
    expect(again.status).toBe(200);
    expect(await messagesOf(t, agentId, sessionId)).toHaveLength(2);
  });

  test("queued: true drops the line, and a cancel between two turns takes the next one", async () => {
    const s = await busySession(h, t, agentId);
    const streams = [await s.send("one"), await s.send("two")];
    const before = await s.texts();
    expect((await s.cancel({ queued: true, keep: "partial" })).body).toEqual({ canceled: 3 });
    for (const stream of streams) expect(await endOf(stream)).toEqual(["abort", "[DONE]"]);
    expect(await endOf(s.running)).toEqual(["abort", "[DONE]"]);
    await lineIs(h, s.sessionId, 0);
    expect((await s.texts()).slice(before.length).at(-1)).toBe(saidText);
    expect(await s.texts()).toHaveLength(before.length + 2);
    expect(statusAndCode(await s.cancel({ queued: true }))).toEqual([409, "session_idle"]);
    await idle(h, s.sessionId);
  });
});
