import { describe, expect, test } from "bun:test";
import { json } from "../../../src/kernel/database/client.ts";
import { eventually } from "../../harness/eventually.ts";
import { useAgent } from "../../harness/fixture.ts";
import { statusAndCode } from "../../harness/status-and-code.ts";
import { conversationOf, messagesOf, open, play, script, sessionPath, textOf } from "../../harness/turns.ts";

const { h, t, agentId } = await useAgent({ worker: true });

const idsOf = (messages: { id: string }[]) => messages.map(({ id }) => id);

/** A session of so many exchanges. The model answers each message with a text of its own. */
async function conversation(exchanges: number) {
  const asked = Array.from({ length: exchanges }, (_, index) => script(`text="answer ${index + 1}"`));
  let sessionId: string | null = null;
  for (const message of asked) {
    const played: Awaited<ReturnType<typeof play>> = await play(t, agentId, sessionId, { message, stream: false });
    sessionId = played.sessionId;
  }
  const messages = await messagesOf(t, agentId, sessionId ?? "");
  return { asked, sessionId: sessionId ?? "", messages };
}

const regenerate = (sessionId: string, body: object = {}, form: "a" | "b" = "b") =>
  play(t, agentId, sessionId, { trigger: "regenerate-message", stream: false, ...body }, { form });

describe("POST /v1/agents/:agentId/sessions/:sessionId with trigger regenerate-message", () => {
  test("200 replaces the last answer, streamed or not, in both forms", async () => {
    const { asked, sessionId, messages } = await conversation(2);
    for (const form of ["a", "b"] as const) {
      const before = await messagesOf(t, agentId, sessionId);
      const json = await regenerate(sessionId, {}, form);
      expect([json.status, json.headers.get("location")]).toEqual([200, null]);
      const streamed = await regenerate(sessionId, { stream: true }, form);
      expect([streamed.status, textOf(streamed.chunks)]).toEqual([200, "answer 2"]);
      const after = await messagesOf(t, agentId, sessionId);
      expect(after.slice(0, 3)).toEqual(messages.slice(0, 3));
      expect(after).toHaveLength(4);
      expect(after[3].id).toBe((streamed.chunks[0] as unknown as { messageId: string }).messageId);
      expect(idsOf(before)).not.toContain(after[3].id);
    }
    const sent = conversationOf(h, asked[1] as never);
    expect(sent.map(({ role }) => role)).toEqual(["user", "assistant", "user"]);
  });

  test("200 with the messageId of an older answer cuts there", async () => {
    const { sessionId, messages } = await conversation(3);
    const again = await regenerate(sessionId, { messageId: messages[1].id });
    expect([again.status, again.body.message.parts[1].text]).toEqual([200, "answer 1"]);
    const after = await messagesOf(t, agentId, sessionId);
    expect(after).toEqual([messages[0], again.body.message]);
    const list = await t.call("GET", sessionPath(agentId, null));
    expect(list.body.data.find((s: { id: string }) => s.id === sessionId)).toMatchObject({
      messageCount: 2,
      lastMessagePreview: "answer 1",
    });
  });

  test("200 with the messageId of a user's message keeps it and cuts after it", async () => {
    const { sessionId, messages } = await conversation(3);
    const again = await regenerate(sessionId, { messageId: messages[2].id });
    expect(again.status).toBe(200);
    expect(await messagesOf(t, agentId, sessionId)).toEqual([...messages.slice(0, 3), again.body.message]);
  });

  test("200 takes the last user message that stays, as the AI SDK sends it along, and changes nothing by it", async () => {
    const { sessionId, messages, asked } = await conversation(2);
    const changed = { ...asked[1], parts: [{ type: "text", text: "changed" }] };
    const again = await regenerate(sessionId, { message: changed, messageId: messages[3].id });
    expect(again.status).toBe(200);
    expect((await messagesOf(t, agentId, sessionId))[2]).toEqual(asked[1]);
    const older = await regenerate(sessionId, { message: asked[0], messageId: messages[1].id });
    expect(older.status).toBe(200);
    expect(await messagesOf(t, agentId, sessionId)).toHaveLength(2);
  });

  test("200 ignores any other message that the transcript holds, and an answer", async () => {
    const { sessionId, messages, asked } = await conversation(2);
    for (const body of [
      { message: asked[0] },
      { message: asked[0], messageId: messages[2].id },
      { message: asked[1], messageId: messages[2].id },
    ]) {
      expect((await regenerate(sessionId, body)).status).toBe(200);
      expect((await messagesOf(t, agentId, sessionId)).slice(0, 3)).toEqual(messages.slice(0, 3));
    }
  });

  test("200 sends a user's message that the transcript does not hold, because its turn failed or was cancelled", async () => {
    const { sessionId, messages } = await conversation(1);
    const failed = script("fail=401");
    expect((await play(t, agentId, sessionId, { message: failed, stream: false })).status).toBe(502);
    for (const [round, messageId] of [undefined, "the-answer-that-failed", messages[1].id].entries()) {
      const question = { ...script(`text="better ${round}"`), id: `${failed.id}-${round}` };
      const again = await regenerate(sessionId, {
        message: question,
        ...(messageId === undefined ? {} : { messageId }),
      });
      expect([again.status, again.body.message.parts.at(-1).text]).toEqual([200, `better ${round}`]);
      const after = await messagesOf(t, agentId, sessionId);
      expect(after.slice(0, 2)).toEqual(messages);
      expect(after.slice(-2)).toEqual([question, again.body.message]);
    }
    const hanging = script('text="a b" hangAfterChunks=1');
    const live = await open(h, t, "POST", sessionPath(agentId, sessionId), { body: { message: hanging } });
    await live.until("text-delta");
    await t.call("POST", sessionPath(agentId, sessionId, "/cancel"));
    await live.rest();
    const retried = await regenerate(sessionId, { message: { ...hanging, parts: script("text=fine").parts } });
    expect([retried.status, (await messagesOf(t, agentId, sessionId)).at(-2).id]).toEqual([200, hanging.id]);
    // Now it is held, and asked again.
    const held = (await messagesOf(t, agentId, sessionId)).length;
    expect((await regenerate(sessionId, { message: hanging })).status).toBe(200);
    expect(await messagesOf(t, agentId, sessionId)).toHaveLength(held);
  });

  test("200 sends the message of a first turn that failed, in a session that holds nothing", async () => {
    const failed = await play(t, agentId, null, { message: script("fail=401") });
    const question = script("text=fine");
    expect((await regenerate(failed.sessionId, { message: question })).status).toBe(200);
    expect((await messagesOf(t, agentId, failed.sessionId))[0]).toEqual(question);
  });

  test("409 session_busy: while a turn runs, whether the transcript will hold its message or not; with onBusy enqueue it is decided when it starts", async () => {
    const { sessionId } = await conversation(1);
    const running = script('text="one two three" chunks=3 hangAfterChunks=2');
    const live = await open(h, t, "POST", sessionPath(agentId, sessionId), { body: { message: running } });
    await live.until("text-delta");
    expect(statusAndCode(await regenerate(sessionId, { message: running }))).toEqual([409, "session_busy"]);
    const again = { ...running, parts: script("text=again").parts };
    const waiting = regenerate(sessionId, { message: again, onBusy: "enqueue" });
    await eventually(async () => (await t.call("GET", sessionPath(agentId, sessionId))).body.queuedTurns === 1);
    await t.call("POST", sessionPath(agentId, sessionId, "/cancel"), { body: { keep: "nothing" } });
    await live.rest();
    expect((await waiting).status).toBe(200);
    expect((await messagesOf(t, agentId, sessionId)).map(({ role }: { role: string }) => role)).toEqual([
      "user",
      "assistant",
      "user",
      "assistant",
    ]);
  });

  test("200 answers the last question where nobody has", async () => {
    const { sessionId, messages } = await conversation(2);
    const fork = await t.call("POST", sessionPath(agentId, sessionId, "/fork"), {
      body: { throughMessageId: messages[2].id },
    });
    expect((await regenerate(fork.body.id, { message: messages[2] })).body.message.parts.at(-1).text).toBe("answer 2");
    expect(await messagesOf(t, agentId, fork.body.id)).toHaveLength(4);
  });

  test("404 message_not_found: a message that is unknown, of another session, or cut away", async () => {
    const { sessionId, messages } = await conversation(2);
    const other = await conversation(1);
    await regenerate(sessionId, { messageId: messages[1].id });
    for (const messageId of ["nothing", other.messages[1].id, messages[3].id, messages[1].id]) {
      expect(statusAndCode(await regenerate(sessionId, { messageId }))).toEqual([404, "message_not_found"]);
      expect(statusAndCode(await regenerate(sessionId, { messageId }, "a"))).toEqual([404, "not_found"]);
    }
  });

  test("404 message_not_found: nothing to regenerate, because a first turn failed", async () => {
    const failed = await play(t, agentId, null, { message: script("fail=401") });
    expect(failed.chunks.at(-1)?.type).toBe("error");
    expect(statusAndCode(await regenerate(failed.sessionId))).toEqual([404, "message_not_found"]);
    expect((await play(t, agentId, failed.sessionId, { message: script("text=fine"), stream: false })).status).toBe(
      200,
    );
  });

  test("a failed regeneration keeps the previous answer, whatever it was to cut", async () => {
    const { sessionId, messages } = await conversation(1);
    const flaky = script("fail=401");
    // The same message answers now and fails later: the model reads the script of the last user message only.
    await h.sql`update messages set content = ${json(h.sql, { ...flaky, id: messages[0].id })}
      where session_id = ${sessionId} and role = 'user'`;
    const before = await messagesOf(t, agentId, sessionId);
    const summary = async () =>
      (await t.call("GET", sessionPath(agentId, null))).body.data.find((s: { id: string }) => s.id === sessionId);
    const shown = await summary();
    for (const body of [{}, { messageId: messages[1].id }, { messageId: messages[0].id }]) {
      expect(statusAndCode(await regenerate(sessionId, body))).toEqual([502, "provider_error"]);
      const streamed = await regenerate(sessionId, { ...body, stream: true });
      expect([streamed.status, streamed.chunks.at(-1)?.type]).toEqual([200, "error"]);
    }
    expect(await messagesOf(t, agentId, sessionId)).toEqual(before);
    expect(await summary()).toEqual(shown);
  });

  test("one turn for each regeneration is metered", async () => {
    const { sessionId } = await conversation(1);
    await regenerate(sessionId);
    await regenerate(sessionId);
    const usage = await t.call("GET", `/v1/usage?groupBy=session&sessionId=${sessionId}`);
    expect(usage.body.totals.requestCount).toBe(3);
  });

  test("an Idempotency-Key regenerates once", async () => {
    const { sessionId } = await conversation(1);
    const key = { "idempotency-key": crypto.randomUUID() };
    const body = { trigger: "regenerate-message", stream: false };
    const [one, two] = [
      await play(t, agentId, sessionId, body, { headers: key }),
      await play(t, agentId, sessionId, body, { headers: key }),
    ];
    expect([one.status, two.status, two.turnId]).toEqual([200, 200, one.turnId]);
    expect(two.body).toEqual(one.body);
  });
});

describe("GET …/messages over a regeneration", () => {
  test("an earlier latestCursor meets the new answer, and never an old message again", async () => {
    const { sessionId, messages } = await conversation(2);
    const read = (query: string) => t.call("GET", sessionPath(agentId, sessionId, `/messages${query}`));
    const first = await read("?limit=1");
    expect(idsOf(first.body.data)).toEqual([messages[3].id]);
    const last = await regenerate(sessionId);
    const newer = await read(`?after=${first.body.latestCursor}`);
    expect(newer.body.data).toEqual([last.body.message]);
    const cut = await regenerate(sessionId, { messageId: messages[1].id });
    const newest = await read(`?after=${newer.body.latestCursor}`);
    expect(newest.body.data).toEqual([cut.body.message]);
    expect((await read(`?after=${newest.body.latestCursor}`)).body.data).toEqual([]);
    // A walk back that was begun before the cut goes on without a hole or an error.
    const older = await read(`?cursor=${first.body.nextCursor}`);
    expect([older.status, idsOf(older.body.data)]).toEqual([200, [messages[0].id]]);
  });
});

test("a regeneration under a quota waits for the quota before it locks its session, as every turn does", async () => {
  const { sessionId } = await conversation(1);
  await h.sql`update tenants set quota_turns_per_day = 1000 where id = ${t.id}`;
  await h.sql`
    insert into turn_quota_days (tenant_id, day, turns) values (${t.id}, (now() at time zone 'UTC')::date, 1)
    on conflict do nothing`;
  let asked: ReturnType<typeof regenerate> | undefined;
  await h.sql.begin(async (inner) => {
    await inner`select 1 from turn_quota_days where tenant_id = ${t.id} for update`;
    asked = regenerate(sessionId);
    const waiting = () => h.sql`
      select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
    await eventually(async () => (await waiting()).length > 0);
    expect(await h.sql`select 1 from sessions where id = ${sessionId} for update nowait`).toHaveLength(1);
  });
  expect((await asked)?.status).toBe(200);
});
