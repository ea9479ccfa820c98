import { describe, expect, test } from "bun:test";
import type postgres from "postgres";
import { eventually } from "../../harness/eventually.ts";
import { useAgent } from "../../harness/fixture.ts";
import { heldMark, holdModel } from "../../harness/held-model.ts";
import { withPatientClient } from "../../harness/patient-client.ts";
import { makeAgent, makeProvider, userMessage } from "../../harness/seed.ts";
import { statusAndCode } from "../../harness/status-and-code.ts";
import { conversationOf, messagesOf, open, play, script, sessionPath } from "../../harness/turns.ts";

const { h, t, agentId } = await useAgent({
  worker: true,
  agent: { tools: ["memory"], approvalInChat: { default: "manual" } },
});

const fork = (
  sessionId: string,
  body: object = {},
  options: { form?: "a" | "b"; headers?: Record<string, string> } = {},
) => t.call("POST", sessionPath(agentId, sessionId, "/fork"), { body, ...options });
const asks = () => script('tool=memory_save args={"text":"likes tea"} ; text="All done."');
const say = (sessionId: string | null, message: object, more: object = {}) =>
  play(t, agentId, sessionId, { message, stream: false, ...more });

describe("POST /v1/agents/:agentId/sessions/:sessionId/fork", () => {
  test("201 makes a session with the whole transcript, which goes on by itself, in both forms", async () => {
    const { sessionId } = await say(null, script('text="one"'), { userId: "ada", metadata: { plan: "x" }, version: 1 });
    await say(sessionId, script('text="two"'));
    const before = await messagesOf(t, agentId, sessionId);
    for (const form of ["a", "b"] as const) {
      const made = await fork(sessionId, {}, { form });
      expect(made.status).toBe(201);
      expect(made.headers.get("location")).toBe(sessionPath(agentId, made.body.id));
      const summary = {
        agentVersion: 1,
        messageCount: 4,
        lastMessagePreview: "two",
        userId: "ada",
        metadata: { plan: "x" },
      };
      expect(made.body).toMatchObject(summary);
      expect(made.body.id).not.toBe(sessionId);
      const listed = (await t.call("GET", sessionPath(agentId, null), { form })).body.data;
      expect(listed.find(({ id }: { id: string }) => id === made.body.id)).toEqual(made.body);
      expect(await messagesOf(t, agentId, made.body.id)).toEqual(before);
      const question = script('text="three"');
      expect((await say(made.body.id, question)).status).toBe(200);
      expect(conversationOf(h, question).map(({ role }) => role)).toEqual([
        "user",
        "assistant",
        "user",
        "assistant",
        "user",
      ]);
      expect(await messagesOf(t, agentId, made.body.id)).toHaveLength(6);
      expect(await messagesOf(t, agentId, sessionId)).toEqual(before);
    }
    expect((await t.call("GET", "/v1/audit-events?action=session.fork")).body.data).toHaveLength(2);
  });

  test("201 ends with the named message, an answer or a question, for another user", async () => {
    const { sessionId } = await say(null, script('text="one"'));
    await say(sessionId, script('text="two"'));
    const [question, answer, second] = await messagesOf(t, agentId, sessionId);
    const made = await fork(sessionId, { throughMessageId: answer.id, userId: "bob", metadata: { k: 1 } });
    expect(made.body).toMatchObject({ messageCount: 2, lastMessagePreview: "one", userId: "bob", metadata: { k: 1 } });
    expect(await messagesOf(t, agentId, made.body.id)).toEqual([question, answer]);
    const asked = await fork(sessionId, { throughMessageId: second.id, userId: "" });
    expect(asked.body).toMatchObject({ messageCount: 3, userId: "" });
    const again = { trigger: "regenerate-message", messageId: second.id, stream: false };
    expect((await play(t, agentId, asked.body.id, again)).body.message.parts.at(-1).text).toBe("two");
  });

  test("404 message_not_found, not_found: a message, a session or an agent that is not there, and one that form A does not show yet", async () => {
    const { sessionId } = await say(null, script('text="one"'));
    const missing = { throughMessageId: "nothing" };
    expect(statusAndCode(await fork(sessionId, missing))).toEqual([404, "message_not_found"]);
    expect(statusAndCode(await fork(sessionId, missing, { form: "a" }))).toEqual([404, "message_not_found"]);
    const elsewhere = await makeAgent(h, t);
    const foreign = await t.call("POST", sessionPath(elsewhere, sessionId, "/fork"), { body: {} });
    expect(statusAndCode(foreign)).toEqual([404, "not_found"]);
    const live = await open(h, t, "POST", sessionPath(agentId, null), {
      form: "a",
      body: { message: script('text="a b" hangAfterChunks=1') },
    });
    await live.until("text-delta");
    expect(statusAndCode(await fork(live.sessionId))).toEqual([404, "not_found"]);
    await t.call("POST", sessionPath(agentId, live.sessionId, "/cancel"));
    expect((await live.rest()).at(-1)?.data).toBe("[DONE]");
  });

  test("400 validation_failed: an id that no message can have", async () => {
    const { sessionId } = await say(null, script('text="one"'));
    const through = async (length: number) =>
      statusAndCode(await fork(sessionId, { throughMessageId: "x".repeat(length) }));
    expect(await through(256)).toEqual([404, "message_not_found"]);
    expect(await through(257)).toEqual([400, "validation_failed"]);
    expect(await through(0)).toEqual([400, "validation_failed"]);
    expect(statusAndCode(await fork(sessionId, { through: "m1" }))).toEqual([400, "validation_failed"]);
  });

  test("a tenant's third fork at once waits for one before it", async () => {
    const { sessionId } = await say(null, script('text="one"'));
    let forks: Promise<{ status: number }[]> | undefined;
    await h.sql.begin(async (inner) => {
      // The deletion of an agent excludes the forks of its sessions.
      await inner`select 1 from agents where id = ${agentId} for update`;
      forks = Promise.all([1, 2, 3].map(() => fork(sessionId)));
      const begun = () => h.sql`
        select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%for key share%'`;
      await eventually(async () => (await begun()).length >= 2);
      expect(await begun()).toHaveLength(2);
    });
    expect((await forks)?.map(({ status }) => status)).toEqual([201, 201, 201]);
  });

  test("a fork while a turn runs has what is stored, and its own turn waits for nobody", async () => {
    await using held = holdModel(h.model);
    const provider = await makeProvider(h, t, { baseUrl: held.url });
    const agent = await makeAgent(h, t, { providerId: provider.id });
    const first = await play(t, agent, null, { message: userMessage("hello"), stream: false });
    const live = await open(h, t, "POST", sessionPath(agent, first.sessionId), {
      body: { message: userMessage(heldMark) },
    });
    const made = await t.call("POST", sessionPath(agent, first.sessionId, "/fork"));
    expect([made.status, made.body.messageCount]).toEqual([201, 2]);
    const next = await play(t, agent, made.body.id, { message: userMessage("and now"), stream: false });
    expect(next.status).toBe(200);
    held.release();
    expect((await live.rest()).at(-1)?.data).toBe("[DONE]");
    expect(await messagesOf(t, agent, first.sessionId)).toHaveLength(4);
    expect(await messagesOf(t, agent, made.body.id)).toHaveLength(4);
  });

  test("a fork while a turn waits for a person waits for nobody: the call is closed, the source still waits", async () => {
    const { sessionId } = await say(null, asks());
    const made = await fork(sessionId);
    expect([made.status, made.body.messageCount]).toEqual([201, 2]);
    const [, answer] = await messagesOf(t, agentId, made.body.id);
    const call = answer.parts.find((part: { toolCallId?: string }) => part.toolCallId !== undefined);
    expect(call).toMatchObject({ state: "output-error", errorText: expect.stringContaining("forked") });
    expect(call.approval).toBeUndefined();
    expect((await t.call("GET", sessionPath(agentId, made.body.id, "/tool-approvals"))).body).toEqual({
      approvals: [],
      continuation: null,
    });
    const question = script('text="fine"');
    expect((await say(made.body.id, question)).status).toBe(200);
    // A server of which nothing is known is sent words of the assistant between results and a user's message.
    expect(conversationOf(h, question).map(({ role }) => role)).toEqual([
      "user",
      "assistant",
      "tool",
      "assistant",
      "user",
    ]);
    const { approvals } = (await t.call("GET", sessionPath(agentId, sessionId, "/tool-approvals"))).body;
    expect(approvals[0].status).toBe("pending");
    const decided = await t.call("POST", sessionPath(agentId, sessionId, `/tool-approvals/${approvals[0].id}`), {
      body: { approved: true },
    });
    expect(decided.status).toBe(202);
    await eventually(async () => (await messagesOf(t, agentId, sessionId))[1].parts.at(-1).text === "All done.");
  });

  test("422 idempotency_key_reused: another body; one Idempotency-Key makes one fork, however often it is sent", async () => {
    const { sessionId } = await say(null, script('text="one"'));
    const headers = { "idempotency-key": crypto.randomUUID() };
    const made = await Promise.all([1, 2, 3].map(() => fork(sessionId, {}, { headers })));
    const done = made.filter(({ status }) => status === 201);
    expect(new Set(done.map(({ body }) => body.id)).size).toBe(1);
    expect((await fork(sessionId, {}, { headers })).body.id).toBe(done[0]?.body.id);
    const reused = await fork(sessionId, { userId: "x" }, { headers });
    expect(statusAndCode(reused)).toEqual([422, "idempotency_key_reused"]);
  });

  test("a summary of the older part comes along where the fork holds all that it stands for", async () => {
    const { sessionId } = await say(null, script('text="one"'));
    await say(sessionId, script('text="two"'));
    await h.sql`insert into session_summaries (session_id, upto_seq, text) values (${sessionId}, 2, 'They said one.')`;
    const [, first, , last] = await messagesOf(t, agentId, sessionId);
    const question = script('text="after the summary"');
    const whole = await fork(sessionId, { throughMessageId: last.id });
    await say(whole.body.id, question);
    expect(JSON.stringify(conversationOf(h, question))).toContain("They said one.");
    for (const [through, kept] of [
      [first.id, 1],
      [(await messagesOf(t, agentId, sessionId))[0].id, 0],
    ]) {
      const made = await fork(sessionId, { throughMessageId: through });
      const rows = await h.sql`select 1 from session_summaries where session_id = ${made.body.id}`;
      expect(rows).toHaveLength(kept);
    }
  });

  test("a fork outlives its source, and is deleted like any other session", async () => {
    const { sessionId } = await say(null, script('text="one"'));
    const made = await fork(sessionId);
    expect((await t.call("DELETE", sessionPath(agentId, sessionId, "?deleteArtifacts=false"))).status).toBe(204);
    await eventually(async () => (await h.sql`select 1 from messages where session_id = ${sessionId}`).length === 0);
    expect(await messagesOf(t, agentId, made.body.id)).toHaveLength(2);
    expect((await t.call("DELETE", sessionPath(agentId, made.body.id, "?deleteArtifacts=false"))).status).toBe(204);
    await eventually(async () => {
      const left = await h.sql`
        select id from sessions where id = ${made.body.id} union all select id from messages where session_id = ${made.body.id}`;
      return left.length === 0;
    });
  });

  test("20,000 messages are copied in steps, by a fork and for a response, and hold up no turn of the source", async () => {
    const { sessionId, turnId } = await say(null, script('text="one"'));
    const seed = (sql: postgres.Sql) => sql`
      insert into messages (session_id, seq, id, role, turn_id, content)
      select session_id, n, 'm' || n, case when n % 2 = 1 then 'user' else 'assistant' end, turn_id,
        json_build_object('id', 'm' || n, 'role', case when n % 2 = 1 then 'user' else 'assistant' end, 'parts',
          json_build_array(json_build_object('type', 'text', 'text', 'word ' || repeat(md5(n::text), 8))))
      from messages cross join generate_series(3, 20000) as n where session_id = ${sessionId} and seq = 1`;
    await withPatientClient(h.databaseUrl, seed);
    await h.sql`update sessions set message_count = 20000 where id = ${sessionId}`;
    const branch = {
      model: agentId,
      input: '[[sim: text="three"]]',
      previous_response_id: turnId.replace("turn_", "resp_"),
    };
    const [made, turn] = await Promise.all([fork(sessionId), say(sessionId, script('text="two"'))]);
    expect([made.status, turn.status]).toEqual([201, 200]);
    expect(made.body.messageCount).toBeGreaterThanOrEqual(20_000);
    const branched = await t.call("POST", "/v1/responses", { body: branch });
    expect([branched.status, branched.body.status]).toEqual([200, "completed"]);
    const [row] = await h.sql`
      select message_count, (select count(*)::int from messages m where m.session_id = s.id) as rows from sessions s
      where id = (select session_id from turns where id = ${branched.body.id.replace("resp_", "turn_")})`;
    expect(row).toEqual({ messageCount: 20_002, rows: 20_002 });
    // Nothing is left to erase of what was used.
    const jobs =
      await h.sql`select 1 from graphile_worker._private_jobs where payload ->> 'sessionId' = ${made.body.id}`;
    expect(jobs.length).toBe(0);
  }, 60_000);
});
