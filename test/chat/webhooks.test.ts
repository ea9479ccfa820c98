import { beforeAll, describe, expect, test } from "bun:test";
import { type Connected, useChat } from "../harness/chat-fixture.ts";
import { type SlackBot, slackEvent, slackRequest } from "../servers/slack.ts";
import { type TelegramBot, telegramRequest, telegramUpdate } from "../servers/telegram.ts";

const fixture = await useChat();
const { t, agentId } = await fixture.tenant();

const countEvents = async () => (await fixture.h.sql`select count(*)::int as rows from chat_events`)[0]?.rows;
const countTaken = async ({ id }: { id: string }) => {
  const [row] = await fixture.h.sql`select count(*)::int as rows from chat_threads where connection_id = ${id}`;
  return row?.rows;
};

describe("POST /v1/chat/webhooks/chat_a/:connectionId", () => {
  let connection: Connected<SlackBot>;
  beforeAll(async () => {
    connection = await fixture.connectSlack(t, agentId);
  });
  const send = async (payload: object, options?: Parameters<typeof slackRequest>[3]) =>
    fixture.h.app(slackRequest(connection.bot, connection.webhookUrl, payload, options));
  const message = (fields: object) => ({
    type: "message",
    user: "UP",
    channel: "C9",
    ts: fixture.slack.ts(),
    text: "hi",
    ...fields,
  });

  test("401 unauthorized: a forged, an old and an unsigned request, which leave no trace and use up no event id", async () => {
    const { bot, webhookUrl } = connection;
    const payload = slackEvent(bot, message({ type: "app_mention", text: '[[sim: text="real"]]' }), "EvFORGED");
    const before = await countEvents();
    const unsigned = new Request(webhookUrl, { method: "POST", body: JSON.stringify(payload) });
    const unknown = webhookUrl.replace(connection.id, `cc_${"0".repeat(24)}`);
    const responses = await Promise.all([
      send(payload, { secret: "wrong" }),
      send(payload, { ageSeconds: 301 }),
      send(payload, { ageSeconds: -303 }),
      fixture.h.app(unsigned),
      fixture.h.app(slackRequest(bot, unknown, payload)),
      fixture.h.app(slackRequest(bot, webhookUrl.replace("chat_a", "chat_b"), payload)),
      fixture.h.app(slackRequest(bot, webhookUrl.replace("chat_a", "slack"), payload)),
      fixture.h.app(slackRequest(bot, webhookUrl.replace(connection.id, "nope"), payload)),
    ]);
    for (const response of responses) {
      expect(response.status).toBe(401);
      expect((await response.json()).error.code).toBe("unauthorized");
    }
    expect([await countEvents(), await countTaken(connection)]).toEqual([before, 0]);
    expect((await send(payload, { ageSeconds: 290 })).status).toBe(200);
    await fixture.inThread((payload as { event: { ts: string } }).event.ts, 1);
  });

  test("401 unauthorized: bytes that were changed on the way; 413 above 1 MiB; 400 for what is no payload", async () => {
    const { bot, webhookUrl } = connection;
    const signed = slackRequest(bot, webhookUrl, slackEvent(bot, message({})));
    const changed = new Request(webhookUrl, {
      method: "POST",
      headers: signed.headers,
      body: `${await signed.text()} `,
    });
    expect((await fixture.h.app(changed)).status).toBe(401);
    expect((await send({ type: "event_callback", padding: "x".repeat(1024 * 1024) })).status).toBe(413);
    expect((await send(null as never)).status).toBe(400);
  });

  test("200 with the challenge", async () => {
    const response = await send({ type: "url_verification", challenge: "c-123", token: "t" });
    expect([response.status, await response.json()]).toEqual([200, { challenge: "c-123" }]);
    expect((await send({ type: "url_verification", challenge: "c-123" }, { secret: "x" })).status).toBe(401);
  });

  test("200 for an odd body, which runs nothing", async () => {
    const before = [await countEvents(), await countTaken(connection)];
    const mention = (fields: object) => slackEvent(connection.bot, message({ type: "app_mention", ...fields }));
    const press = { type: "block_actions", channel: { id: "C9" } };
    for (const payload of [
      { ...mention({}), event: null },
      { ...mention({}), event: 5 },
      mention({ text: 5 }),
      mention({ text: {} }),
      mention({ user: {} }),
      mention({ channel: "C\0" }),
      mention({ channel: "C".repeat(10_000) }),
      mention({ ts: "1e300" }),
      { ...press, actions: null },
      { ...press, actions: [null] },
      { ...press, actions: [{ action_id: "approve", value: 5 }] },
      { ...press, actions: [{ action_id: "approve", value: "\0" }] },
      [],
    ])
      expect([payload, (await send(payload)).status]).toEqual([payload, 200]);
    expect([await countEvents(), await countTaken(connection)]).toEqual(before);
  });

  test("a mention of somebody whose id begins with the bot's runs nothing", async () => {
    const before = await countTaken(connection);
    const { userId } = connection.bot;
    for (const text of [`<@${userId}9> hi`, `<@${userId}9|other> hi`])
      expect((await send(slackEvent(connection.bot, message({ text })))).status).toBe(200);
    expect(await countTaken(connection)).toBe(before);
    const ts = fixture.slack.ts();
    await send(slackEvent(connection.bot, message({ ts, text: `<@${userId}|bot> [[sim: text="me"]]` })));
    await fixture.inThread(ts, 1);
  });

  test("a repeated event, and two events for one message, run one turn", async () => {
    const { bot } = connection;
    const ts = fixture.slack.ts();
    const before = await fixture.turns(t);
    const text = `<@${bot.userId}> [[sim: text="once"]]`;
    const mention = slackEvent(bot, message({ type: "app_mention", ts, text }), "EvONE");
    const plain = slackEvent(bot, message({ ts, text, channel_type: "channel" }), "EvTWO");
    const responses = await Promise.all([mention, plain, mention, plain, mention].map((payload) => send(payload)));
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    await fixture.inThread(ts, 1);
    expect((await send(mention)).status).toBe(200);
    await fixture.inThread(await fixture.mention(connection, '[[sim: text="later"]]'), 1);
    expect(await fixture.turns(t)).toBe(before + 2);
    expect(fixture.slack.messages.filter(({ thread }) => thread === ts)).toHaveLength(1);
  });

  test("direct messages are answered where they are; what people mean is read without Slack's marks", async () => {
    const { bot } = connection;
    const text = "see <https://x.example/a?b=1|the page> &amp; ask <@U2|ann> in <#C3|ops> &lt;now&gt;";
    await send(slackEvent(bot, message({ channel: "D42", channel_type: "im", text })));
    await send(slackEvent(bot, message({ channel: "D42", channel_type: "im", text: '[[sim: text="same session"]]' })));
    const reply = await eventuallyIn("D42", 2);
    expect(reply.map(({ thread }) => thread)).toEqual([null, null]);
    const [row] = await fixture.h.sql`
      select s.user_id, (select content from messages m where m.session_id = s.id order by seq limit 1) as first
      from sessions s join chat_threads th on th.session_id = s.id where th.key = 'D42'`;
    expect(row?.first.parts[0].text).toBe("see the page (https://x.example/a?b=1) & ask @ann in #ops <now>");
    expect(row?.userId).toBe("chat_a:UP");
  });

  const eventuallyIn = async (channel: string, count: number) => {
    const { eventually } = await import("../harness/harness.ts");
    return eventually(() => {
      const found = fixture.slack.messages.filter((posted) => posted.channel === channel);
      return found.length >= count ? found : null;
    });
  };

  test("the bot's own messages, edits, other bots, other workspaces and unaddressed talk run nothing", async () => {
    const { bot } = connection;
    const mention = `<@${bot.userId}> hi`;
    const before = await countTaken(connection);
    const ignored = [
      message({ type: "app_mention", user: bot.userId, text: mention }),
      message({ type: "app_mention", bot_id: bot.botId, text: mention }),
      message({ type: "app_mention", bot_id: "BOTHER", text: mention }),
      message({ subtype: "message_changed", message: { text: mention }, text: mention }),
      message({ subtype: "message_deleted", text: mention }),
      message({ subtype: "bot_message", channel_type: "im", text: mention }),
      message({ type: "app_mention", edited: { user: "UP", ts: "1.1" }, text: mention }),
      message({ text: "just talk", channel_type: "channel" }),
      message({ type: "reaction_added", text: mention }),
      message({ type: "app_mention", text: `<@${bot.userId}>` }),
    ];
    for (const event of ignored) expect((await send(slackEvent(bot, event))).status).toBe(200);
    const elsewhere = {
      ...slackEvent(bot, message({ type: "app_mention", text: mention })),
      team_id: "TOTHER",
      authorizations: [],
    };
    expect((await send(elsewhere)).status).toBe(200);
    expect(await countTaken(connection)).toBe(before);
  });

  test("channelIds are an allow-list; a disabled connection takes nothing", async () => {
    const own = await fixture.connectSlack(t, agentId);
    const set = (channelIds: string[]) =>
      t.call("PATCH", `/v1/chat-connections/${own.id}`, { body: { configuration: { channelIds } } });
    await set(["CALLOWED"]);
    await fixture.mention(own, "hi", { channel: "COTHER" });
    expect(await countTaken(own)).toBe(0);
    await fixture.inThread(await fixture.mention(own, '[[sim: text="in"]]', { channel: "CALLOWED" }), 1);
    await t.call("POST", `/v1/chat-connections/${own.id}/disable`);
    await fixture.mention(own, "hi", { channel: "CALLOWED" });
    expect(await countTaken(own)).toBe(1);
  });
});

describe("POST /v1/chat/webhooks/chat_b/:connectionId", () => {
  let connection: Connected<TelegramBot>;
  beforeAll(async () => {
    connection = await fixture.connectTelegram(t, agentId);
  });
  const send = (fields: object, secret?: string | null) =>
    fixture.h.app(telegramRequest(connection.bot, connection.webhookUrl, telegramUpdate(fields), secret));
  const message = (fields: object) => ({
    message_id: fixture.telegram.nextId(),
    date: 1,
    from: { id: 7, is_bot: false },
    chat: { id: 7, type: "private" },
    text: "hi",
    ...fields,
  });
  const group = { id: -100, type: "supergroup" };

  test("401 unauthorized: without the secret, with another, and with none registered", async () => {
    const before = await countEvents();
    for (const secret of [null, "wrong", ""]) expect((await send({ message: message({}) }, secret)).status).toBe(401);
    expect([await countEvents(), await countTaken(connection)]).toEqual([before, 0]);
  });

  test("200 for an odd body, which runs nothing", async () => {
    const before = [await countEvents(), await countTaken(connection)];
    for (const fields of [
      { text: null },
      { message_id: "x" },
      { message_id: 1e300 },
      { from: null },
      { chat: { id: "7", type: "private" } },
    ])
      expect([fields, (await send({ message: message(fields) })).status]).toEqual([fields, 200]);
    for (const fields of [{ message: null }, { callback_query: null }, { callback_query: { data: 5 } }])
      expect([fields, (await send(fields)).status]).toEqual([fields, 200]);
    expect([await countEvents(), await countTaken(connection)]).toEqual(before);
  });

  test("a repeated update runs one turn", async () => {
    const update = telegramUpdate({
      message: message({ chat: { id: 21, type: "private" }, from: { id: 21 }, text: '[[sim: text="once"]]' }),
    });
    const before = await fixture.turns(t);
    for (let times = 0; times < 3; times += 1)
      expect((await fixture.h.app(telegramRequest(connection.bot, connection.webhookUrl, update))).status).toBe(200);
    await fixture.inChat(21, 1);
    expect(await fixture.turns(t)).toBe(before + 1);
  });

  test("in groups, mentions and replies to the bot are answered; all else, bots and edits run nothing", async () => {
    const name = `@${connection.bot.username}`;
    const before = await countTaken(connection);
    const bot = { id: connection.bot.id, is_bot: true };
    for (const fields of [
      { message: message({ chat: group }) },
      { message: message({ chat: group, reply_to_message: { from: { id: 5 } } }) },
      { message: message({ chat: group, text: "@someone hi", entities: [{ type: "mention", offset: 0, length: 8 }] }) },
      { message: message({ from: bot }) },
      { message: message({ from: { id: 99, is_bot: true } }) },
      { message: message({ chat: { id: -5, type: "channel" } }) },
      { message: message({ text: undefined, pinned_message: {} }) },
      { edited_message: message({ text: "changed" }) },
      { business_message: message({ business_connection_id: "bc1" }) },
    ])
      expect((await send(fields)).status).toBe(200);
    expect(await countTaken(connection)).toBe(before);
    const entities = [{ type: "mention", offset: 0, length: name.length }];
    await send({ message: message({ chat: group, text: `${name} [[sim: text="to a mention"]]`, entities }) });
    await fixture.inChat(-100, 1);
    await send({
      message: message({ chat: group, text: '[[sim: text="to a reply"]]', reply_to_message: { from: bot } }),
    });
    const responses = await fixture.inChat(-100, 2);
    expect(responses.map(({ text }) => text)).toEqual(["to a mention", "to a reply"]);
  });

  test("a topic of a forum is answered in the topic; chatIds are an allow-list", async () => {
    const own = await fixture.connectTelegram(t, agentId);
    await t.call("PATCH", `/v1/chat-connections/${own.id}`, { body: { configuration: { chatIds: ["-300"] } } });
    await fixture.write(own, "hi", 31);
    expect(await countTaken(own)).toBe(0);
    const bot = { id: own.bot.id, is_bot: true };
    const asked = message({
      chat: { id: -300, type: "supergroup" },
      is_topic_message: true,
      message_thread_id: 4,
      text: '[[sim: text="here"]]',
      reply_to_message: { from: bot },
    });
    await fixture.h.app(telegramRequest(own.bot, own.webhookUrl, telegramUpdate({ message: asked })));
    const [response] = await fixture.inChat(-300, 1);
    expect([response?.text, response?.topic]).toEqual(["here", 4]);
  });

  test("businessMode answers the customers of a business account, and not the account's own messages", async () => {
    const own = await fixture.connectTelegram(t, agentId);
    const business = (fields: object) =>
      fixture.h.app(
        telegramRequest(
          own.bot,
          own.webhookUrl,
          telegramUpdate({ business_message: message({ business_connection_id: "bc7", ...fields }) }),
        ),
      );
    const customer = { from: { id: 41 }, chat: { id: 41, type: "private" }, text: '[[sim: text="served"]]' };
    await business(customer);
    expect(await countTaken(own)).toBe(0);
    await t.call("PATCH", `/v1/chat-connections/${own.id}`, { body: { configuration: { businessMode: true } } });
    await business({ ...customer, from: { id: 1 } });
    expect(await countTaken(own)).toBe(0);
    await business(customer);
    const [response] = await fixture.inChat(41, 1);
    expect([response?.text, response?.business]).toEqual(["served", "bc7"]);
  });
});
