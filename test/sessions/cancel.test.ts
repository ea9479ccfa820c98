import { afterAll, describe, expect, test } from "bun:test";
import { json } from "../../src/kernel/database/client.ts";
import { newId } from "../../src/kernel/ids.ts";
import { listen } from "../../src/kernel/runtime.ts";
import { useAgent } from "../harness/fixture.ts";
import { eventually, startHarness } from "../harness/harness.ts";
import { heldMark, holdModel } from "../harness/held-model.ts";
import { makeAgent, userMessage } from "../harness/seed.ts";
import { statusAndCode } from "../harness/status-and-code.ts";
import { idle, messagesOf, open, play, requestsOf, script, sessionPath, usageOf } from "../harness/turns.ts";

const muted: { isAborted: boolean }[] = [];
const { h, t, agentId } = await useAgent({ worker: true });
/** A provider that takes a request and never responds, not even with headers. */
const mute = listen({
  hostname: "127.0.0.1",
  port: 0,
  fetch: (request) => {
    const seen: (typeof muted)[number] = { isAborted: false };
    muted.push(seen);
    return new Promise((resolve) => {
      request.signal.addEventListener("abort", () => {
        seen.isAborted = true;
        resolve(new Response(null));
      });
    });
  },
});
afterAll(() => mute.stop(true));

const forms = ["a", "b"] as const;
const cancel = (sessionId: string, form: "a" | "b" = "b", agent: string = agentId) =>
  t.call("POST", sessionPath(agent, sessionId, "/cancel"), { form });
const types = (events: { data: { type: string } | "[DONE]" }[]) =>
  events.map(({ data }) => (data === "[DONE]" ? data : data.type));

async function muteAgent(): Promise<string> {
  const provider = await t.call("POST", "/v1/providers", {
    body: {
      name: crypto.randomUUID(),
      providerType: "custom",
      baseUrl: `http://127.0.0.1:${mute.port}/v1`,
      apiKey: "sk-test-0123456789",
    },
  });
  return makeAgent(h, t, { providerId: provider.body.id });
}

describe("POST /v1/agents/:agentId/sessions/:sessionId/cancel", () => {
  test("202 ends the turn that begins while the cancellation waits for the session", async () => {
    const { sessionId } = await play(t, agentId, null, { message: userMessage("hi"), stream: false });
    let canceling: ReturnType<typeof cancel> | undefined;
    await h.sql.begin(async (inner) => {
      await inner`select 1 from sessions where id = ${sessionId} for no key update`;
      canceling = cancel(sessionId);
      const waits = () => h.sql`
        select 1 from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock' and query like '%/* turn.cancel */%'`;
      await eventually(async () => (await waits()).length === 1);
      await inner`
        insert into turns (id, tenant_id, agent_id, session_id, kind, agent_version, assistant_message_id)
        values (${newId("turn")}, ${t.id}, ${agentId}, ${sessionId}, 'session', 1, ${newId("message")})`;
    });
    const canceled = await canceling;
    expect([canceled?.status, canceled?.body]).toEqual([202, { canceled: 1 }]);
    await idle(h, sessionId);
  });

  for (const form of forms) {
    test(`202 ends a running turn with abort, closes the model's request, and meters it (form ${form})`, async () => {
      const { sessionId } = await play(t, agentId, null, { message: userMessage("hi"), stream: false }, { form });
      const before = await messagesOf(t, agentId, sessionId);
      const message = script('text="one two three" hangAfterChunks=2');
      const live = await open(h, t, "POST", sessionPath(agentId, sessionId), { form, body: { message } });
      await live.until("text-delta");
      const canceled = await cancel(sessionId, form);
      expect([canceled.status, canceled.body]).toEqual([202, { canceled: 1 }]);
      expect(types(await live.rest()).slice(-2)).toEqual(["abort", "[DONE]"]);
      await eventually(() => requestsOf(h, message)[0]?.aborted);
      expect(await usageOf(h, live.turnId)).toMatchObject({ sessionId });
      expect(await messagesOf(t, agentId, sessionId)).toEqual(before);
      expect((await play(t, agentId, sessionId, { message: userMessage("on"), stream: false }, { form })).status).toBe(
        200,
      );
    });

    test(`409 turn_canceled: to a caller that waits for JSON (form ${form})`, async () => {
      const { sessionId } = await play(t, agentId, null, { message: userMessage("hi"), stream: false }, { form });
      const waiting = play(
        t,
        agentId,
        sessionId,
        { message: script("hangAfterChunks=0 text=a"), stream: false },
        { form },
      );
      await eventually(async () => (await cancel(sessionId, form)).status === 202);
      const response = await waiting;
      expect(statusAndCode(response)).toEqual([409, "turn_canceled"]);
      expect(response.turnId).toMatch(/^turn_/);
      expect(await usageOf(h, response.turnId)).not.toBeNull();
    });

    test(`409 session_idle: when nothing runs (form ${form})`, async () => {
      const { sessionId } = await play(t, agentId, null, { message: userMessage("hi"), stream: false }, { form });
      expect(statusAndCode(await cancel(sessionId, form))).toEqual([409, "session_idle"]);
      const live = await open(h, t, "POST", sessionPath(agentId, sessionId), {
        body: { message: script("text=a hangAfterChunks=0") },
      });
      const both = await Promise.all([cancel(sessionId, form), cancel(sessionId, form)]);
      expect(both.some(({ status }) => status === 202)).toBeTrue();
      for (const response of both) expect([202, 409]).toContain(response.status);
      await live.rest();
      expect(statusAndCode(await cancel(sessionId, form))).toEqual([409, "session_idle"]);
    });
  }

  test("202 in form A during the first turn, by id; no session is left", async () => {
    const body = { message: script('text="one two" hangAfterChunks=1') };
    const live = await open(h, t, "POST", sessionPath(agentId, null), { form: "a", body });
    await live.until("text-delta");
    expect((await cancel(live.sessionId, "a")).status).toBe(202);
    await live.until("abort");
    expect(statusAndCode(await cancel(live.sessionId, "a"))).toEqual([404, "not_found"]);
    const resumed = await play(t, agentId, live.sessionId, { message: userMessage("x") }, { form: "a" });
    expect(statusAndCode(resumed)).toEqual([404, "not_found"]);
    expect(await usageOf(h, live.turnId)).not.toBeNull();
    await live.leave();
  });

  test("202 before the first chunk: nothing shown but start and abort", async () => {
    const message = script("text=a firstDelayMs=60000");
    const live = await open(h, t, "POST", sessionPath(agentId, null), { body: { message } });
    await eventually(() => requestsOf(h, message).length === 1);
    expect((await cancel(live.sessionId)).status).toBe(202);
    expect(types(await live.rest()).filter((type) => type !== "start-step")).toEqual(["start", "abort", "[DONE]"]);
    await eventually(() => requestsOf(h, message)[0]?.aborted);
  });

  test("202 while the provider has not even sent headers", async () => {
    const agent = await muteAgent();
    const live = await open(h, t, "POST", sessionPath(agent, null), { body: { message: userMessage("hi") } });
    await eventually(() => muted.length === 1);
    expect((await cancel(live.sessionId, "b", agent)).status).toBe(202);
    expect(types(await live.rest())).toEqual(["start", "abort", "[DONE]"]);
    await eventually(() => muted[0]?.isAborted);
  });

  test("202 closes the model's request within a second", async () => {
    const tookMs = async () => {
      const message = script('text="one two three" hangAfterChunks=2');
      const live = await open(h, t, "POST", sessionPath(agentId, null), { body: { message } });
      await live.until("text-delta");
      const canceledAt = Date.now();
      expect((await cancel(live.sessionId)).status).toBe(202);
      const finishedAt = await eventually(() => requestsOf(h, message)[0]?.finishedAt);
      await live.rest();
      return finishedAt - canceledAt;
    };
    // A machine that stood still for a moment is tried again: a worker that hears of it too late does so each time.
    await eventually(async () => (await tookMs()) < 1_000);
  });

  test("202 while the worker waits to try a failed provider again", async () => {
    const message = script("fail=503 retryAfter=30");
    const live = await open(h, t, "POST", sessionPath(agentId, null), { body: { message } });
    await eventually(() => requestsOf(h, message).length === 1);
    expect((await cancel(live.sessionId)).status).toBe(202);
    expect(types(await live.rest())).toEqual(["start", "abort", "[DONE]"]);
    // Had the worker waited for the next try, that would have been made.
    expect(requestsOf(h, message)).toHaveLength(1);
  });

  test("202 for a regeneration keeps the previous answer", async () => {
    const made = await play(t, agentId, null, { message: userMessage("hi"), stream: false });
    const before = await messagesOf(t, agentId, made.sessionId);
    const hanging = { ...script("text=regenerated hangAfterChunks=0"), id: before[0].id };
    await h.sql`update messages set content = ${json(h.sql, hanging)}
      where session_id = ${made.sessionId} and role = 'user'`;
    const body = { trigger: "regenerate-message" };
    const live = await open(h, t, "POST", sessionPath(agentId, made.sessionId), { body });
    await eventually(() => requestsOf(h, hanging).length === 1);
    expect((await cancel(made.sessionId)).status).toBe(202);
    await live.rest();
    expect(await messagesOf(t, agentId, made.sessionId)).toEqual([hanging, before[1]]);
  });

  test("a cancellation that nobody heard of wins over an answer that is about to be kept", async () => {
    await using held = holdModel(h.model);
    const agent = await makeAgent({ model: held }, t);
    const { sessionId } = await play(t, agent, null, { message: userMessage("hi"), stream: false });
    const message = userMessage(`an answer ${heldMark}`);
    const live = await open(h, t, "POST", sessionPath(agent, sessionId), { body: { message } });
    await eventually(() => requestsOf(h, message).length === 1);
    await h.sql`update turns set cancel_requested_at = now() where id = ${live.turnId}`;
    held.release();
    expect(types(await live.rest()).slice(-2)).toEqual(["abort", "[DONE]"]);
    expect(await messagesOf(t, agent, sessionId)).toHaveLength(2);
    expect(await usageOf(h, live.turnId)).not.toBeNull();
  });

  test("cancel and answer in a race: 202 and nothing kept, or 409 and the answer kept", async () => {
    const { sessionId } = await play(t, agentId, null, { message: userMessage("hi"), stream: false });
    let kept = 2;
    for (let round = 0; round < 30; round++) {
      const message = script(`text="one two ${round}" firstDelayMs=${5 + (round % 6)}`);
      const live = await open(h, t, "POST", sessionPath(agentId, sessionId), { body: { message } });
      await eventually(() => requestsOf(h, message).length === 1);
      if (round % 2 === 0) await live.until("text-start").catch(() => {});
      const canceled = await cancel(sessionId);
      const last = types(await live.rest()).at(-2);
      if (canceled.status === 409) kept += 2;
      expect([canceled.status, last]).toEqual(canceled.status === 202 ? [202, "abort"] : [409, "finish"]);
      expect(await messagesOf(t, agentId, sessionId)).toHaveLength(kept);
    }
  });
});

describe("cancelling a turn that waits for a worker", () => {
  for (const form of forms) {
    test(`202 ends it at once, it never reaches the model, and is metered without tokens (form ${form})`, async () => {
      const quiet = await startHarness();
      try {
        const own = await quiet.tenant({ form });
        const agent = await makeAgent(quiet, own);
        const path = sessionPath(agent, null);
        const live = await open(quiet, own, "POST", path, { body: { message: userMessage("hi") } });
        const json = own.call("POST", path, { body: { message: userMessage("hi"), stream: false } });
        await live.until("start");
        const canceled = await own.call("POST", `${path}/${live.sessionId}/cancel`);
        expect(canceled.status).toBe(202);
        expect(types(await live.rest())).toEqual(["abort", "[DONE]"]);
        expect(await usageOf(quiet, live.turnId)).toMatchObject({ inputTokens: 0, outputTokens: 0 });
        const again = await own.call("POST", `${path}/${live.sessionId}/cancel`);
        expect(statusAndCode(again)).toEqual(form === "a" ? [404, "not_found"] : [409, "session_idle"]);
        const queued = () => quiet.sql<{ sessionId: string }[]>`select session_id from turns where status = 'queued'`;
        await eventually(async () => (await queued()).length === 1);
        const [other] = await queued();
        await own.call("POST", `${path}/${other?.sessionId}/cancel`);
        expect(statusAndCode(await json)).toEqual([409, "turn_canceled"]);

        const pool = await quiet.startWorkers();
        const next = await play(own, agent, null, { message: userMessage("next"), stream: false });
        expect(next.status).toBe(201);
        expect(quiet.model.requests()).toHaveLength(1);
        await pool.drain(0);
      } finally {
        await quiet.stop();
      }
    });
  }
});

test("an agent's deletion cancels what runs", async () => {
  const agent = await makeAgent(h, t);
  const message = script("text=deleted hangAfterChunks=0");
  const live = await open(h, t, "POST", sessionPath(agent, null), { body: { message } });
  await eventually(() => requestsOf(h, message).length === 1);
  expect((await t.call("DELETE", `/v1/agents/${agent}`)).status).toBe(204);
  expect(types(await live.rest()).slice(-2)).toEqual(["abort", "[DONE]"]);
  await idle(h, live.sessionId);
  expect((await t.call("GET", sessionPath(agent, live.sessionId, "/messages"))).status).toBe(404);
});
