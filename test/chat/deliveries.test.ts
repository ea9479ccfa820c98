import { describe, expect, test } from "bun:test";
import { useChat } from "../harness/chat-fixture.ts";
import { eventually } from "../harness/harness.ts";
import { heldMark, holdModel } from "../harness/held-model.ts";
import { makeAgent } from "../harness/seed.ts";
import { slackEvent, slackRequest } from "../servers/slack.ts";

const fixture = await useChat();
const { t, agentId } = await fixture.tenant();
const slack = await fixture.connectSlack(t, agentId);
const telegram = await fixture.connectTelegram(t, agentId);

const post = "/api/chat.postMessage";
const says = (text: string) => `[[sim: text=${JSON.stringify(text)}]]`;
const repair = (connectionId: string, deliveryId: string, expectedAttempt: number, fields: object = {}) =>
  t.call("POST", `/v1/chat-connections/${connectionId}/deliveries/${deliveryId}/repair`, {
    body: { expectedAttempt, previousSenderStopped: true, acceptDuplicateRisk: true, ...fields },
  });
let chats = 9_000;
const newChat = () => {
  chats += 1;
  return chats;
};

describe("long replies", () => {
  test("Telegram: one delivery, one receipt a message, no message over 4,096 units, nothing lost, code blocks stay whole", async () => {
    const chat = newChat();
    const code = Array.from({ length: 300 }, (_, n) => `line ${n} <&>`).join("\n");
    const words = Array.from({ length: 900 }, (_, n) => `wörd${n}😀`).join(" ");
    await fixture.write(telegram, says(`${words}\n\n\`\`\`js\n${code}\n\`\`\`\n\nThe **end**.`), chat);
    const delivery = await fixture.delivery(t, telegram.id, chat, "confirmed");
    const messages = await fixture.inChat(chat, 4);
    expect(delivery.receipts).toEqual(messages.map(({ id }) => ({ attempt: 0, messageId: String(id) })));
    expect(delivery.representation).toBe("native");
    const text = messages.map((message) => message.text).join(" ");
    for (let n = 0; n < 900; n += 1) expect(text).toContain(`wörd${n}😀`);
    for (let n = 0; n < 300; n += 1) expect(text).toContain(`line ${n} <&>`);
    expect(messages.filter(({ source }) => source.includes("<pre>")).length).toBeGreaterThan(1);
    expect(messages.at(-1)?.source).toContain("<b>end</b>");
  });

  test("a word without an end is cut between characters", async () => {
    const chat = newChat();
    await fixture.write(telegram, says(`a${"😀".repeat(4_500)}`), chat);
    const messages = await fixture.inChat(chat, 3);
    expect(messages.map(({ text }) => text).join("")).toBe(`a${"😀".repeat(4_500)}`);
    for (const { text } of messages) expect(text.isWellFormed()).toBe(true);
  });

  test("Slack: at most 40,000 characters a message, also when they are written as more", async () => {
    const { bot, webhookUrl } = slack;
    const thread = fixture.slack.ts();
    // Not escaped, as Slack would: with 150,000 characters the question would be cut.
    const text = `<@${bot.userId}> ${says("&".repeat(30_000))}`;
    const event = { type: "app_mention", user: "UPERSON", channel: "C1", ts: thread, text };
    expect((await fixture.h.app(slackRequest(bot, webhookUrl, slackEvent(bot, event)))).status).toBe(200);
    await fixture.delivery(t, slack.id, thread, "confirmed");
    const messages = fixture.slack.messages.filter((message) => message.thread === thread);
    expect(messages.length).toBeGreaterThan(3);
    expect(messages.map(({ text }) => text).join("")).toBe("&amp;".repeat(30_000));
  });

  test("formatting that the platform does not take is sent as plain text", async () => {
    const chat = newChat();
    const refusal = { ok: false, error_code: 400, description: "Bad Request: can't parse entities: odd tag" };
    fixture.telegram.injectFault(fixture.telegram.path(telegram.bot, "sendMessage"), { status: 400, body: refusal });
    await fixture.write(telegram, says("A **bold** word"), chat);
    const [message] = await fixture.inChat(chat, 1);
    expect([message?.source, message?.html]).toEqual(["A **bold** word", false]);
    expect(await fixture.delivery(t, telegram.id, chat, "confirmed")).toMatchObject({
      representation: "text",
      attempt: 0,
    });
  });
});

describe("a platform that does not do as asked", () => {
  test("a platform's 429 waits as told and sends again, by itself and once; what comes later waits behind it", async () => {
    fixture.slack.injectFault(post, {
      status: 429,
      body: { ok: false, error: "ratelimited" },
      // Long enough that all of what is looked at meanwhile comes before it is over.
      headers: { "retry-after": "5" },
    });
    const startedAt = Date.now();
    const asked = fixture.slack.asked(post).length;
    const thread = await fixture.mention(slack, says("patient"));
    await eventually(() => fixture.slack.asked(post).length > asked);
    await fixture.mention(slack, says("behind"), { thread });
    expect(await fixture.delivery(t, slack.id, thread, "pending")).toMatchObject({ attempt: 0, receipts: [] });
    const messages = await fixture.inThread(thread, 2);
    expect(Date.now() - startedAt).toBeGreaterThanOrEqual(5_000);
    expect(messages.map(({ text }) => text)).toEqual(["patient", "behind"]);
    expect(await fixture.delivery(t, slack.id, thread, "confirmed")).toMatchObject({ attempt: 0, diagnostic: null });

    const chat = newChat();
    const body = {
      ok: false,
      error_code: 429,
      description: "Too Many Requests: retry after 1",
      parameters: { retry_after: 1 },
    };
    fixture.telegram.injectFault(fixture.telegram.path(telegram.bot, "sendMessage"), { status: 429, body });
    await fixture.write(telegram, says("patient"), chat);
    expect(await fixture.inChat(chat, 1)).toHaveLength(1);
  });

  test("a refusal fails the delivery; nothing is sent again by itself", async () => {
    fixture.slack.injectFault(post, { status: 200, body: { ok: false, error: "is_archived" } });
    const thread = await fixture.mention(slack, says("refused"));
    expect(await fixture.delivery(t, slack.id, thread, "failed")).toMatchObject({
      diagnostic: "is_archived",
      receipts: [],
    });
    const blocked = { ok: false, error_code: 403, description: "Forbidden: bot was blocked by the user" };
    fixture.telegram.injectFault(fixture.telegram.path(telegram.bot, "sendMessage"), { status: 403, body: blocked });
    const chat = newChat();
    await fixture.write(telegram, says("refused"), chat);
    expect(await fixture.delivery(t, telegram.id, chat, "failed")).toMatchObject({
      diagnostic: "bot_was_blocked_by_the_user",
    });
    // What follows in the thread is posted.
    await fixture.mention(slack, says("next"), { thread });
    expect((await fixture.inThread(thread, 1)).map(({ text }) => text)).toEqual(["next"]);
  });

  test("a connection cut after sending, half a response and a 5xx are ambiguous, and never resent by themselves", async () => {
    for (const fault of ["cut after", "half", { status: 502, body: {} }] as const) {
      const asked = fixture.slack.asked(post).length;
      fixture.slack.injectFault(post, fault);
      const thread = await fixture.mention(slack, says("who knows"));
      expect((await fixture.delivery(t, slack.id, thread, "ambiguous")).receipts).toEqual([]);
      await fixture.inThread(await fixture.mention(slack, says("later")), 1);
      expect(fixture.slack.asked(post).length).toBe(asked + 2);
      expect(fixture.slack.messages.filter((message) => message.thread === thread).length).toBeLessThanOrEqual(1);
    }
    const chat = newChat();
    fixture.telegram.injectFault(fixture.telegram.path(telegram.bot, "sendMessage"), "cut after");
    await fixture.write(telegram, says("who knows"), chat);
    await fixture.delivery(t, telegram.id, chat, "ambiguous");
    expect(await fixture.inChat(chat, 1)).toHaveLength(1);
  });

  test("a platform that cannot be reached is tried again: nothing was sent", async () => {
    const own = await fixture.tenant();
    const connection = await fixture.connectTelegram(own.t, own.agentId);
    const chat = newChat();
    await fixture.telegram.stop();
    await fixture.write(connection, says("at last"), chat);
    await eventually(
      async () =>
        (await fixture.h.sql`select 1 from chat_deliveries where tenant_id = ${own.t.id} and tries > 0`).length > 0,
    );
    await fixture.telegram.start();
    expect((await fixture.inChat(chat, 1)).map(({ text }) => text)).toEqual(["at last"]);
  });

  test("a reply that ends while its connection is disabled fails, and is posted by a repair once it is enabled", async () => {
    await using model = holdModel(fixture.h.model);
    const connection = await fixture.connectSlack(t, await makeAgent({ model }, t));
    const turns = await fixture.turns(t);
    const thread = await fixture.mention(connection, `${heldMark} ${says("late")}`);
    await eventually(async () => (await fixture.turns(t)) > turns);
    await t.call("POST", `/v1/chat-connections/${connection.id}/disable`);
    model.release();
    const failed = await fixture.delivery(t, connection.id, thread, "failed");
    expect(failed.diagnostic).toBe("connection_disabled");
    expect((await repair(connection.id, failed.id, 0)).body.error.code).toBe("invalid_request");
    await t.call("POST", `/v1/chat-connections/${connection.id}/enable`);
    expect((await repair(connection.id, failed.id, 0)).status).toBe(200);
    expect((await fixture.inThread(thread, 1))[0]?.text).toBe("late");
  });
});

describe("POST /v1/chat-connections/:id/deliveries/:deliveryId/repair", () => {
  test("200 sends the same again without a turn, one attempt later; what was accepted before is not sent again", async () => {
    const turns = await fixture.turns(t);
    const chat = newChat();
    const path = fixture.telegram.path(telegram.bot, "sendMessage");
    const text = ["a", "b", "c"].map((letter) => letter.repeat(4_000)).join(" ");
    const befell = fixture.telegram.asked(path).length;
    // The second message of the reply is the one that is cut.
    fixture.telegram.injectFault(path, new Promise<void>((resolve) => setImmediate(resolve)));
    fixture.telegram.injectFault(path, "cut before");
    await fixture.write(telegram, says(text), chat);
    const ambiguous = await fixture.delivery(t, telegram.id, chat, "ambiguous");
    expect([ambiguous.attempt, ambiguous.receipts.length]).toEqual([0, 1]);
    expect(fixture.telegram.asked(path).length).toBe(befell + 2);
    const response = await repair(telegram.id, ambiguous.id, 0);
    expect([response.status, response.body]).toEqual([
      200,
      {
        id: ambiguous.id,
        sessionId: ambiguous.sessionId,
        threadId: String(chat),
        connectionId: telegram.id,
        kind: "reply",
        status: "pending",
        attempt: 1,
      },
    ]);
    const confirmed = await fixture.delivery(t, telegram.id, chat, "confirmed");
    expect(confirmed.receipts.map(({ attempt }: { attempt: number }) => attempt)).toEqual([0, 1, 1]);
    expect((await fixture.inChat(chat, 3)).map((message) => message.text[0])).toEqual(["a", "b", "c"]);
    expect(await fixture.turns(t)).toBe(turns + 1);
    expect((await repair(telegram.id, confirmed.id, 1)).body.error.code).toBe("invalid_request");
  });

  test("400 validation_failed: another attempt, unaccepted risks and numbers out of range; 404 for what is missing or foreign", async () => {
    fixture.slack.injectFault(post, { status: 200, body: { ok: false, error: "is_archived" } });
    const thread = await fixture.mention(slack, says("broken"));
    const failed = await fixture.delivery(t, slack.id, thread, "failed");
    for (const fields of [
      { expectedAttempt: 1 },
      { expectedAttempt: -1 },
      { expectedAttempt: 100 },
      { expectedAttempt: "0" },
      { previousSenderStopped: false },
      { acceptDuplicateRisk: false },
      { acceptDuplicateRisk: undefined },
      { extra: 1 },
    ]) {
      const { status, body } = await repair(slack.id, failed.id, 0, fields);
      expect([status, body.error.code]).toEqual([400, "validation_failed"]);
    }
    expect((await repair(slack.id, `cd_${"0".repeat(24)}`, 0)).status).toBe(404);
    expect((await repair(telegram.id, failed.id, 0)).status).toBe(404);
    const both = await Promise.all([repair(slack.id, failed.id, 0), repair(slack.id, failed.id, 0)]);
    expect(both.map(({ status }) => status).sort()).toEqual([200, 400]);
    expect(await fixture.delivery(t, slack.id, thread, "confirmed")).toMatchObject({ id: failed.id, attempt: 1 });
  });
});

describe("GET /v1/chat-deliveries", () => {
  test("200: failed and ambiguous ones of the tenant, newest first, paged, filtered, without what they say", async () => {
    const own = await fixture.tenant();
    const connection = await fixture.connectSlack(own.t, own.agentId);
    const get = (query: string, form: "a" | "b" = "b") => own.t.call("GET", `/v1/chat-deliveries${query}`, { form });
    for (const [n, fault] of (
      ["cut after", { status: 200, body: { ok: false, error: "is_archived" } }, "cut after"] as const
    ).entries()) {
      fixture.slack.injectFault(post, fault);
      const thread = await fixture.mention(connection, says(`secret words ${n}`));
      await fixture.delivery(own.t, connection.id, thread, n === 1 ? "failed" : "ambiguous");
    }
    await fixture.inThread(await fixture.mention(connection, says("fine")), 1);
    const { status, body } = await get("");
    expect([status, body.nextCursor]).toEqual([200, null]);
    expect(body.data.map((row: { status: string }) => row.status)).toEqual(["ambiguous", "failed", "ambiguous"]);
    expect(body.data[0]).toMatchObject({
      connectionId: connection.id,
      agentId: own.agentId,
      platform: "chat_a",
      kind: "reply",
    });
    expect(JSON.stringify(body)).not.toContain("secret words");
    expect((await get("?status=failed")).body.data).toHaveLength(1);
    expect((await get("?status=ambiguous,failed")).body.data).toHaveLength(3);
    const since = encodeURIComponent(body.data[1].createdAt);
    expect((await get(`?since=${since}`)).body.data).toHaveLength(2);
    const first = (await get("?limit=2")).body;
    const rest = (await get(`?limit=2&cursor=${first.nextCursor}`)).body;
    expect([...first.data, ...rest.data]).toEqual(body.data);
    for (const query of [
      "?status=confirmed",
      "?status=",
      "?status=failed&status=failed",
      "?since=yesterday",
      "?since=2026-01-01T00:00:00",
      "?since=2026-02-30T00:00:00Z",
      "?since=2026-04-31T00:00:00Z",
      "?since=2026-01-01T24:00:00Z",
      "?since=0000-01-01T00:00:00Z",
      "?since=0001-01-01T00:00:00%2B01:00",
      "?since=9999-12-31T23:59:59-01:00",
      "?since=%ff",
      "?limit=101",
      "?limit=0",
      "?x=1",
    ])
      expect([query, (await get(query)).body.error?.code]).toEqual([query, "validation_failed"]);
    expect((await get("?cursor=nope")).body.error.code).toBe("invalid_cursor");
    expect((await get("?cursor=nope", "a")).body.error.code).toBe("invalid_request");
    expect(
      (await t.call("GET", "/v1/chat-deliveries")).body.data.every(
        (row: { connectionId: string }) => row.connectionId !== connection.id,
      ),
    ).toBe(true);
    const page = await own.t.call("GET", `/v1/chat-connections/${connection.id}/deliveries?limit=3`);
    expect([page.body.data.length, typeof page.body.nextCursor]).toEqual([3, "string"]);
    const second = await own.t.call(
      "GET",
      `/v1/chat-connections/${connection.id}/deliveries?limit=3&cursor=${page.body.nextCursor}`,
    );
    expect(second.body.data).toHaveLength(1);
  });
});
