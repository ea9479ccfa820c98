import { describe, expect, test } from "bun:test";
import { lineTurnsMax } from "../../src/kernel/limits.ts";
import { addJob } from "../../src/kernel/queue/add-job.ts";
import { jobKey } from "../../src/kernel/queue/catalogue.ts";
import { useChat } from "../harness/chat-fixture.ts";
import { eventually } from "../harness/harness.ts";
import { lineIs } from "../harness/line.ts";
import { userMessage } from "../harness/seed.ts";
import { open } from "../harness/turns.ts";
import { telegramRequest, telegramUpdate } from "../servers/telegram.ts";

const fixture = await useChat();

const asks = '[[sim: text="Let me note that." tool=memory_save args={"text":"likes tea"} ; text="All **done**."]]';

describe("a conversation in Slack", () => {
  test("from the first mention to an approved tool call: one session, a card, its outcome, the reply", async () => {
    const { t, agentId } = await fixture.tenant();
    const connection = await fixture.connectSlack(t, agentId);
    const thread = await fixture.mention(connection, '[[sim: text="Hello & <welcome>"]]');
    const [hello] = await fixture.inThread(thread, 1);
    expect([hello?.text, hello?.channel]).toEqual(["Hello &amp; &lt;welcome&gt;", "C1"]);

    await fixture.mention(connection, asks, { thread });
    const [, note, card] = await fixture.inThread(thread, 3);
    expect(note?.text).toBe("Let me note that.");
    expect(card?.text).toContain("memory_save");
    expect(card?.text).toContain("likes tea");
    const buttons = card?.blocks.find(({ type }) => type === "actions").elements;
    expect(buttons.map((button: { text: { text: string } }) => button.text.text)).toEqual(["Approve", "Deny"]);

    expect(await fixture.pressSlack(connection, card as never, "approve")).toBe(200);
    const messages = await fixture.inThread(thread, 4);
    expect(messages[3]?.text).toBe("All *done*.");
    await eventually(() => (card?.edits ?? 0) > 0);
    expect(card?.text).toContain("*Approved* by `ann.lee`: `memory_save`");
    const asked = `/v1/agents/${agentId}/sessions/${(await t.call("GET", `/v1/agents/${agentId}/sessions`)).body.data[0].id}`;
    const { approvals } = (await t.call("GET", `${asked}/tool-approvals`)).body;
    const actor = { type: "chat_user", id: "UPERSON" };
    expect(approvals[0].decidedBy).toEqual(actor);
    const events = async () => (await t.call("GET", `/v1/audit-events?resourceId=${approvals[0].id}`)).body.data;
    expect(await events()).toEqual([
      expect.objectContaining({ action: "approval.decide", actor, changes: ["status"] }),
    ]);
    expect(card?.blocks.some(({ type }) => type === "actions")).toBe(false);
    // A second press decides nothing more.
    expect(
      await fixture.pressSlack(
        connection,
        { ...card, blocks: [{ type: "actions", elements: buttons }] } as never,
        "deny",
      ),
    ).toBe(200);

    const sessions = await t.call("GET", `/v1/agents/${agentId}/sessions`);
    expect(sessions.body.data).toHaveLength(1);
    const memories = await t.call("GET", `/v1/agents/${agentId}/memories`);
    expect(memories.body.data.map(({ text }: { text: string }) => text)).toEqual(["likes tea"]);
    // A message is shown before its receipt is written.
    await fixture.delivery(t, connection.id, thread, "confirmed");
    const { body } = await t.call("GET", `/v1/chat-connections/${connection.id}/deliveries`);
    expect(body.data.map(({ kind, status }: { kind: string; status: string }) => [kind, status])).toEqual([
      ["reply", "confirmed"],
      ["approval_card", "confirmed"],
      ["reply", "confirmed"],
      ["reply", "confirmed"],
    ]);
    expect(body.data[1]).toEqual({
      id: expect.stringMatching(/^cd_[0-9a-z]{24}$/),
      kind: "approval_card",
      status: "confirmed",
      attempt: 0,
      credentialVersion: 1,
      representation: "native",
      diagnostic: null,
      receipts: [{ attempt: 0, messageId: card?.ts }],
      sessionId: sessions.body.data[0].id,
      messageId: expect.stringMatching(/^msg_/),
      approvalId: expect.stringMatching(/^apr_/),
      threadId: `C1:${thread}`,
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
    });
  });

  test("what a person asks in a channel that person decides, or somebody who is named for it; anybody else is told so alone", async () => {
    const { t, agentId } = await fixture.tenant();
    const connection = await fixture.connectSlack(t, agentId);
    const thread = await fixture.mention(connection, asks);
    const [, card] = await fixture.inThread(thread, 2);
    const bob = { id: "UBOB", username: "bob", name: "bob" };
    expect(await fixture.pressSlack(connection, card as never, "approve", bob)).toBe(200);
    const told = await eventually(() => fixture.slack.whispers.find(({ user }) => user === "UBOB"));
    expect(told).toMatchObject({ channel: "C1", thread_ts: thread, text: expect.stringContaining("Only the person") });
    const [waiting] = await fixture.h.sql`select status from approvals where tenant_id = ${t.id}`;
    expect([waiting?.status, card?.edits]).toEqual(["pending", 0]);

    const body = { configuration: { approverIds: ["UBOB"] } };
    const changed = await t.call("PATCH", `/v1/chat-connections/${connection.id}`, { body });
    expect([changed.status, changed.body.configuration.approverIds]).toEqual([200, ["UBOB"]]);
    await fixture.pressSlack(connection, card as never, "approve", bob);
    await fixture.inThread(thread, 3);
    await eventually(() => (card?.edits ?? 0) > 0);
    expect(card?.text).toContain("*Approved* by `bob`");
    expect(fixture.slack.whispers.filter(({ user }) => user === "UBOB")).toHaveLength(1);
  });

  test("shows that an answer is under way, and reads bold words as such", async () => {
    const { t, agentId } = await fixture.tenant();
    const connection = await fixture.connectSlack(t, agentId);
    const thread = await fixture.mention(connection, '[[sim: text="ok"]] *really* ~not~ `*code*`');
    await fixture.inThread(thread, 1);
    // It is sent beside the turn, which may be over before it comes.
    await eventually(() =>
      fixture.slack.statuses.some((shown) => shown.channel_id === "C1" && shown.thread_ts === thread),
    );
    const [session] = (await t.call("GET", `/v1/agents/${agentId}/sessions`)).body.data;
    const { data } = (await t.call("GET", `/v1/agents/${agentId}/sessions/${session.id}/messages`)).body;
    expect(data[0].parts[0].text).toBe('[[sim: text="ok"]] **really** ~~not~~ `*code*`');
  });

  test("messages that come while a turn runs wait and run in order, as turns of the same session", async () => {
    const { t, agentId } = await fixture.tenant();
    const connection = await fixture.connectSlack(t, agentId);
    const thread = await fixture.mention(connection, asks);
    const [, card] = await fixture.inThread(thread, 2);
    for (const word of ["one", "two", "three"])
      await fixture.mention(connection, `[[sim: text="${word}"]]`, { thread });
    const [session] = (await t.call("GET", `/v1/agents/${agentId}/sessions`)).body.data;
    await lineIs(fixture.h, session.id, 3);
    const [waiting] = await fixture.h.sql`select count(*)::int as rows from chat_inbox`;
    expect(waiting?.rows).toBe(0);
    await fixture.pressSlack(connection, card as never, "deny");
    const messages = await fixture.inThread(thread, 6);
    expect(messages.slice(3).map(({ text }) => text)).toEqual(["one", "two", "three"]);
    expect((await t.call("GET", `/v1/agents/${agentId}/sessions`)).body.data).toHaveLength(1);
  });

  test("answers come in the order of the questions, also where the one before is not handed over yet", async () => {
    const { t, agentId } = await fixture.tenant();
    const connection = await fixture.connectSlack(t, agentId);
    const thread = await fixture.mention(connection, '[[sim: text="one"]]');
    await fixture.inThread(thread, 1);
    await fixture.mention(connection, '[[sim: text="two"]]', { thread });
    await fixture.inThread(thread, 2);
    const { sql } = fixture.h;
    const turns = await sql<{ id: string }[]>`select id from turns where tenant_id = ${t.id} order by accepted_at`;
    const [one, two] = turns.map(({ id }) => id) as [string, string];
    await eventually(async () => {
      const keys = [one, two].map((id) => jobKey("turn.after", id));
      const jobs = await sql`select 1 from graphile_worker._private_jobs where key = any(${keys})`;
      const open =
        await sql`select 1 from chat_deliveries where connection_id = ${connection.id} and status = 'pending'`;
      return jobs.length + open.length === 0;
    });
    // As if neither had been handed over: the first one's job comes in an hour, the second one's now.
    await sql`delete from chat_deliveries where connection_id = ${connection.id}`;
    const inAnHour = { runAt: new Date(Date.now() + 3_600_000) };
    await addJob(sql, "turn.after", { stopId: one, turnId: one, tenantId: t.id }, inAnHour);
    await addJob(sql, "turn.after", { stopId: two, turnId: two, tenantId: t.id });
    const messages = await fixture.inThread(thread, 4);
    expect(messages.slice(2).map(({ text }) => text)).toEqual(["one", "two"]);
  });

  test("messages that wait in a line meet the agent as it is when their turns start, and a disabled connection gets no answer", async () => {
    const { t, agentId } = await fixture.tenant();
    const connection = await fixture.connectSlack(t, agentId);
    const waiting = async () => {
      const thread = await fixture.mention(connection, asks);
      const [, card] = await fixture.inThread(thread, 2);
      await fixture.mention(connection, "Are you there?", { thread });
      const [session] = (await t.call("GET", `/v1/agents/${agentId}/sessions`)).body.data;
      await lineIs(fixture.h, session.id, 1);
      return { thread, card, sessionId: session.id };
    };
    const silent = await waiting();
    await fixture.h.sql`update chat_connections set enabled = false where id = ${connection.id}`;
    await t.call("POST", `/v1/agents/${agentId}/sessions/${silent.sessionId}/cancel`);
    await lineIs(fixture.h, silent.sessionId, 0);
    // What tells of the turn that was stopped has found the connection disabled.
    await fixture.delivery(t, connection.id, silent.thread, "failed");
    await fixture.h.sql`update chat_connections set enabled = true where id = ${connection.id}`;
    const refused = await waiting();
    await fixture.h.sql`update agents set status = 'disabled' where id = ${agentId}`;
    await fixture.pressSlack(connection, refused.card as never, "deny");
    const messages = await fixture.inThread(refused.thread, 4);
    expect(messages.at(-1)?.text).toBe("Sorry, I cannot answer right now.");
    const said = fixture.slack.messages.filter(({ thread }) => thread === silent.thread);
    expect(said.map(({ text }) => text)).toEqual(["Let me note that.", silent.card?.text as string]);
  });

  test("a message that finds the line of its session full waits in the inbox, and is answered later", async () => {
    const { t, agentId } = await fixture.tenant();
    const connection = await fixture.connectSlack(t, agentId);
    const thread = await fixture.mention(connection, asks);
    await fixture.inThread(thread, 2);
    const [session] = (await t.call("GET", `/v1/agents/${agentId}/sessions`)).body.data;
    const path = `/v1/agents/${agentId}/sessions/${session.id}`;
    const body = (n: number) => ({ message: userMessage(`turn ${n}`), onBusy: "enqueue" });
    for (let n = 0; n < lineTurnsMax; n++) await (await open(fixture.h, t, "POST", path, { body: body(n) })).leave();
    await lineIs(fixture.h, session.id, lineTurnsMax);
    await fixture.mention(connection, '[[sim: text="I waited"]]', { thread });
    await eventually(async () => {
      const [job] = await fixture.h.sql`
        select 1 from graphile_worker.jobs where task_identifier = 'chat.inbox' and run_at > now() and locked_at is null`;
      return job;
    });
    const [waiting] = await fixture.h.sql`select count(*)::int as rows from chat_inbox`;
    expect(waiting?.rows).toBe(1);
    expect((await t.call("POST", `${path}/cancel`, { body: { queued: true } })).body).toEqual({
      canceled: lineTurnsMax + 1,
    });
    const messages = await fixture.inThread(thread, 4);
    expect(messages.at(-1)?.text).toBe("I waited");
  });

  test("a message whose tenant has too many queued turns waits, and is answered later", async () => {
    const { t, agentId } = await fixture.tenant();
    await fixture.h.sql`update tenants set queued_turns = 0 where id = ${t.id}`;
    const connection = await fixture.connectSlack(t, agentId);
    const thread = await fixture.mention(connection, "[[sim: text=later]]");
    await eventually(async () => {
      const [job] = await fixture.h.sql`
        select 1 from graphile_worker.jobs where task_identifier = 'chat.inbox' and run_at > now() and locked_at is null`;
      return job;
    });
    expect(fixture.slack.messages.filter((message) => message.thread === thread)).toEqual([]);
    await fixture.h.sql`update tenants set queued_turns = 1 where id = ${t.id}`;
    const [reply] = await fixture.inThread(thread, 1);
    expect(reply?.text).toContain("later");
  });

  test("an approval that nobody decides expires: the card says so, and the messages that waited are answered", async () => {
    const { t, agentId } = await fixture.tenant();
    const connection = await fixture.connectSlack(t, agentId);
    const thread = await fixture.mention(connection, asks);
    const [, card] = await fixture.inThread(thread, 2);
    await fixture.mention(connection, '[[sim: text="I waited"]]', { thread });
    await fixture.h.sql`update approvals set created_at = now() - interval '169 hours' where tenant_id = ${t.id}`;
    await fixture.h.sql`select graphile_worker.add_job('pauses.sweep')`;
    const messages = await fixture.inThread(thread, 4);
    expect(messages.at(-1)?.text).toBe("I waited");
    await eventually(() => (card?.edits ?? 0) > 0);
    expect(card?.text).toContain("*Denied* (expired): `memory_save`");
    expect(card?.blocks.some(({ type }) => type === "actions")).toBe(false);
  });

  test("a turn that fails, and a turn that cannot begin, tell the chat so in one sentence", async () => {
    const { t, agentId } = await fixture.tenant();
    const connection = await fixture.connectSlack(t, agentId);
    const failed = await fixture.mention(connection, '[[sim: error="boom"]]');
    const [sorry] = await fixture.inThread(failed, 1);
    expect(sorry?.text).toMatch(/^Sorry, [^.]+\.$/);
    await t.call("PATCH", `/v1/agents/${agentId}/status`, { body: { status: "disabled" } });
    await fixture.h.sql`update agents set status = 'disabled' where id = ${agentId}`;
    const refused = await fixture.mention(connection, "Are you there?");
    const [no] = await fixture.inThread(refused, 1);
    expect(no?.text).toMatch(/^Sorry, [^.]+\.$/);
    expect(await fixture.turns(t)).toBe(1);
  });

  test("a session that was deleted is followed by a new one", async () => {
    const { t, agentId } = await fixture.tenant();
    const connection = await fixture.connectSlack(t, agentId);
    const thread = await fixture.mention(connection, '[[sim: text="first"]]');
    await fixture.inThread(thread, 1);
    const before = (await t.call("GET", `/v1/agents/${agentId}/sessions`)).body.data[0].id;
    expect((await t.call("DELETE", `/v1/agents/${agentId}/sessions/${before}?deleteArtifacts=false`)).status).toBe(204);
    await fixture.mention(connection, '[[sim: text="second"]]', { thread });
    const messages = await fixture.inThread(thread, 2);
    expect(messages[1]?.text).toBe("second");
    const after = (await t.call("GET", `/v1/agents/${agentId}/sessions`)).body.data;
    expect(after.map(({ id }: { id: string }) => id)).not.toContain(before);
  });
});

describe("a conversation in Telegram", () => {
  test("from the first message to a tool call that is approved over HTTP: the answer comes to the chat, the buttons go", async () => {
    const { t, agentId } = await fixture.tenant();
    const connection = await fixture.connectTelegram(t, agentId);
    await fixture.write(connection, '[[sim: text="**Hello** <you> & `a<b`"]]', 1001);
    const [hello] = await fixture.inChat(1001, 1);
    expect([hello?.text, hello?.source]).toEqual([
      "Hello <you> & a<b",
      "<b>Hello</b> &lt;you&gt; &amp; <code>a&lt;b</code>",
    ]);

    await fixture.write(connection, asks, 1001);
    const [, , card] = await fixture.inChat(1001, 3);
    expect(card?.buttons.map(({ text }) => text)).toEqual(["Approve", "Deny"]);
    const [session] = (await t.call("GET", `/v1/agents/${agentId}/sessions`)).body.data;
    const path = `/v1/agents/${agentId}/sessions/${session.id}/tool-approvals`;
    const { approvals } = (await t.call("GET", path)).body;
    expect((await t.call("POST", `${path}/${approvals[0].id}`, { body: { approved: true } })).status).toBe(202);
    const messages = await fixture.inChat(1001, 4);
    expect(messages[3]?.source).toBe("All <b>done</b>.");
    await eventually(() => (card?.edits ?? 0) > 0);
    expect(card?.buttons).toEqual([]);
    expect(card?.text).toContain("Approved");
  });

  test("a press approves and is acknowledged; one through another connection, or from another chat, decides nothing", async () => {
    const { t, agentId } = await fixture.tenant();
    const connection = await fixture.connectTelegram(t, agentId);
    const other = await fixture.connectTelegram(t, agentId);
    await fixture.write(connection, asks, 1002);
    const [, card] = await fixture.inChat(1002, 2);
    if (card === undefined) throw new Error("no card");
    expect(await fixture.pressTelegram(other, card, "Approve")).toBe(200);
    expect(await fixture.pressTelegram(connection, { ...card, chat: "999" }, "Approve")).toBe(200);
    const [row] = await fixture.h.sql`select status from approvals where tenant_id = ${t.id}`;
    expect(row?.status).toBe("pending");
    expect(await fixture.pressTelegram(connection, card, "Deny", "cb-deny")).toBe(200);
    await eventually(() => card.edits > 0 && fixture.telegram.acknowledged.includes("cb-deny"));
    expect(card.text).toContain("Denied");
    expect(card.text).toContain("by Ann Lee");
    expect((await t.call("GET", `/v1/agents/${agentId}/memories`)).body.data).toEqual([]);
  });

  test("in a group, somebody else's press decides nothing and says so; a private chat has one person", async () => {
    const { t, agentId } = await fixture.tenant();
    const connection = await fixture.connectTelegram(t, agentId);
    const { bot, webhookUrl } = connection;
    const group = { id: -1003, type: "group" };
    const from = { id: 77, is_bot: false };
    const entities = [{ type: "mention", offset: 0, length: bot.username.length + 1 }];
    const text = `@${bot.username} ${asks}`;
    const message = { message_id: fixture.telegram.nextId(), date: 1, from, chat: group, text, entities };
    await fixture.h.app(telegramRequest(bot, webhookUrl, telegramUpdate({ message })));
    const [, card] = await fixture.inChat(-1003, 2);
    if (card === undefined) throw new Error("no card");
    await eventually(() =>
      fixture.telegram.actions.some(({ chat_id, action }) => chat_id === "-1003" && action === "typing"),
    );
    expect(await fixture.pressTelegram(connection, card, "Approve", "cb-78", 78)).toBe(200);
    await eventually(() => fixture.telegram.acknowledged.includes("cb-78"));
    expect(fixture.telegram.alerts.at(-1)).toContain("Only the person");
    const [row] = await fixture.h.sql`select status from approvals where tenant_id = ${t.id}`;
    expect(row?.status).toBe("pending");
    await fixture.pressTelegram(connection, card, "Approve", "cb-77");
    await fixture.inChat(-1003, 3);
  });
});
