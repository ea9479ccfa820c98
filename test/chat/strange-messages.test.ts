import { describe, expect, test } from "bun:test";
import { useChat } from "../harness/chat-fixture.ts";
import { eventually } from "../harness/harness.ts";
import { slackEvent, slackRequest } from "../servers/slack.ts";
import { telegramRequest, telegramUpdate } from "../servers/telegram.ts";

const fixture = await useChat();
const { t, agentId } = await fixture.tenant();
const says = (text: string) => `[[sim: text=${JSON.stringify(text)}]]`;
const slackEscaped = (text: string) => text.replaceAll("&", "&amp;");
const unreadable = "Sorry, I can only read text.";

describe("Telegram", async () => {
  const connection = await fixture.connectTelegram(t, agentId);
  const send = async (fields: object) => {
    const update = telegramUpdate({
      message: { message_id: fixture.telegram.nextId(), date: 1, from: { id: 7, is_bot: false }, ...fields },
    });
    expect((await fixture.h.app(telegramRequest(connection.bot, connection.webhookUrl, update))).status).toBe(200);
  };
  const inPrivate = (id: number, fields: object) => send({ from: { id }, chat: { id, type: "private" }, ...fields });
  const mention = `@${connection.bot.username}`;
  const entities = [{ type: "mention", offset: 0, length: mention.length }];

  test("odd fields beside a readable text cost themselves", async () => {
    for (const [n, odd] of [
      { entities: null, caption: null, reply_to_message: null, sender_chat: null },
      { entities: "x", message_thread_id: "7", is_topic_message: null },
      { entities: [null, { type: 5 }, { type: "mention", offset: "x" }], sticker: null },
      { from: { id: 3003, is_bot: null, first_name: null }, via_bot: 5 },
    ].entries()) {
      await inPrivate(3_000 + n, { text: says(`read ${n}`), ...odd });
      expect((await fixture.inChat(3_000 + n, 1))[0]?.text).toBe(`read ${n}`);
    }
  });

  test("a caption, a poll and a place are read; what has no words gets one sentence in a private chat", async () => {
    await inPrivate(3_010, { caption: says("seen"), photo: [{ file_id: "x" }] });
    expect((await fixture.inChat(3_010, 1))[0]?.text).toBe("seen");
    await inPrivate(3_011, { poll: { question: says("asked"), options: [{ text: "yes" }, null] } });
    expect((await fixture.inChat(3_011, 1))[0]?.text).toBe("asked");
    const before = await fixture.turns(t);
    for (const [n, fields] of [
      { voice: { file_id: "x" } },
      { sticker: { emoji: "👍" } },
      { photo: [{ file_id: "x" }], text: null, caption: " " },
      ...["\u00a0", "\u200b", "\u3164", "", 5, ["x"]].map((text) => ({ text })),
    ].entries()) {
      await inPrivate(3_020 + n, fields);
      expect((await fixture.inChat(3_020 + n, 1))[0]?.text).toBe(unreadable);
    }
    for (const [n, [fields, word]] of (
      [
        [{ contact: { first_name: says("a person"), phone_number: null } }, "a person"],
        [{ game: { title: says("a game"), description: null } }, "a game"],
        [{ venue: { title: says("a place") }, location: { latitude: 1, longitude: 2 } }, "a place"],
        [{ location: { latitude: 52.5, longitude: 13.4 } }, null],
      ] as const
    ).entries()) {
      await inPrivate(3_070 + n, fields);
      const told = (await fixture.inChat(3_070 + n, 1))[0]?.text ?? "";
      if (word === null) expect(told).not.toBe(unreadable);
      else expect(told).toBe(word);
    }
    const answered = await fixture.turns(t);
    // Telegram's own messages, and what is not addressed to the bot in a group, get none.
    await inPrivate(3_034, { pinned_message: { message_id: 1 } });
    await send({ chat: { id: -3_025, type: "group" }, voice: { file_id: "x" } });
    expect(answered).toBe(before + 4);
    expect(await fixture.turns(t)).toBe(answered);
    expect(fixture.telegram.messages.filter(({ chat }) => ["3034", "-3025"].includes(chat))).toEqual([]);
  });

  test("a mention that stands in the text counts where the list of them cannot be read", async () => {
    const group = { id: -3_080, type: "supergroup" };
    for (const [n, list] of [null, undefined, {}, [null], [{ type: "mention", offset: null }]].entries()) {
      await send({ chat: group, entities: list, text: `${mention.toUpperCase()} ${says(`read ${n}`)}` });
      expect((await fixture.inChat(-3_080, n + 1))[n]?.text).toBe(`read ${n}`);
    }
    const before = await fixture.turns(t);
    const code = [{ type: "code", offset: 0, length: mention.length }];
    for (const [list, text] of [
      [code, `${mention} ${says("as code")}`],
      [null, `x${mention} ${says("mail")}`],
      [null, `${mention}x ${says("other")}`],
      [null, `${mention} \u200b`],
    ])
      await send({ chat: group, entities: list, text });
    expect(await fixture.turns(t)).toBe(before);
  });

  test("an anonymous admin and somebody who writes as a channel are answered; no person decides by that", async () => {
    const group = { id: -3_030, type: "supergroup" };
    const anonymous = { id: 1_087_968_824, is_bot: true, username: "GroupAnonymousBot" };
    await send({ chat: group, from: anonymous, sender_chat: group, entities, text: `${mention} ${says("admin")}` });
    expect((await fixture.inChat(-3_030, 1))[0]?.text).toBe("admin");
    const channel = { id: 136_817_688, is_bot: true, username: "Channel_Bot" };
    await send({
      ...{ chat: group, from: channel, sender_chat: { id: -3_031, type: "channel" } },
      ...{ entities, text: `${mention} ${says("channel")}` },
    });
    expect((await fixture.inChat(-3_030, 2))[1]?.text).toBe("channel");
    const rows = await fixture.h.sql<{ author: string }[]>`
      select metadata ->> 'chatUserId' as author from turns
      where metadata ->> 'chatThreadId' = '-3030' order by accepted_at`;
    expect(rows.map(({ author }) => author)).toEqual(["-3030", "-3031"]);
    // Another bot is none of these.
    await send({ chat: group, from: { id: 9, is_bot: true }, entities, text: `${mention} hi` });
    expect(await fixture.turns(t)).toBeGreaterThan(0);
  });

  test("a group that became a supergroup is followed: its session, the allow-list, what waits", async () => {
    await t.parley.chatConnections.update(connection.id, {
      configuration: { platform: "telegram", chatIds: ["-3040"] },
    });
    const ask = (id: number, text: string) =>
      send({ chat: { id, type: id < -1_000 ? "supergroup" : "group" }, entities, text: `${mention} ${says(text)}` });
    await ask(-3_040, "before");
    await fixture.inChat(-3_040, 1);
    await send({ chat: { id: -3_040, type: "group" }, migrate_to_chat_id: -1_003_040 });
    await send({ chat: { id: -1_003_040, type: "supergroup" }, migrate_from_chat_id: -3_040 });
    await ask(-1_003_040, "after");
    expect((await fixture.inChat(-1_003_040, 1))[0]?.text).toBe("after");
    const { configuration } = await t.parley.chatConnections.get(connection.id);
    expect(configuration).toMatchObject({ chatIds: ["-1003040"] });
    const threads = await fixture.h.sql<{ key: string; turns: number }[]>`
      select key, (select count(*)::int from turns where session_id = th.session_id) as turns
      from chat_threads th where key in ('-3040', '-1003040')`;
    expect([...threads]).toEqual([{ key: "-1003040", turns: 2 }]);
    await t.parley.chatConnections.update(connection.id, { configuration: { platform: "telegram", chatIds: [] } });
  });

  test("a group of which only the refused answer says that it moved is followed, also where both have a thread", async () => {
    const ask = (id: number, text: string) =>
      send({ chat: { id, type: "supergroup" }, entities, text: `${mention} ${says(text)}` });
    await ask(-1_003_051, "new");
    await fixture.inChat(-1_003_051, 1);
    fixture.telegram.injectFault(fixture.telegram.path(connection.bot, "sendMessage"), {
      status: 400,
      body: {
        ok: false,
        error_code: 400,
        description: "Bad Request: group chat was upgraded to a supergroup chat",
        parameters: { migrate_to_chat_id: -1_003_051 },
      },
    });
    await ask(-3_050, "old");
    expect((await fixture.inChat(-1_003_051, 2))[1]?.text).toBe("old");
    expect(fixture.telegram.messages.filter(({ chat }) => chat === "-3050")).toEqual([]);
    await eventually(async () => {
      const [row] = await fixture.h.sql`select count(*)::int as count from chat_threads where key = '-3050'`;
      return row?.count === 0;
    });
  });

  test("an odd answer of Telegram's ends the delivery as ambiguous", async () => {
    for (const [n, body] of [{ ok: true, result: null }, { ok: true, result: {} }, { ok: true }].entries()) {
      fixture.telegram.injectFault(fixture.telegram.path(connection.bot, "sendMessage"), { status: 200, body });
      await inPrivate(3_060 + n, { text: says("x") });
      const { diagnostic } = await fixture.delivery(t, connection.id, 3_060 + n, "ambiguous");
      expect(diagnostic).toBe("unreadable_answer");
    }
  });
});

describe("Slack", async () => {
  const connection = await fixture.connectSlack(t, agentId);
  const send = async (fields: object, outer: object = {}) => {
    const event = { type: "message", user: "UP", ts: fixture.slack.ts(), ...fields };
    const payload = { ...slackEvent(connection.bot, event), ...outer };
    expect((await fixture.h.app(slackRequest(connection.bot, connection.webhookUrl, payload))).status).toBe(200);
  };
  const direct = (channel: string, fields: object, outer?: object) =>
    send({ channel, channel_type: "im", ...fields }, outer);
  const answers = (channel: string, count: number) =>
    eventually(() => {
      const found = fixture.slack.messages.filter((message) => message.channel === channel);
      return found.length >= count ? found.map(({ text }) => text) : null;
    });

  test("odd fields beside a readable text cost themselves", async () => {
    for (const [n, odd] of [
      { blocks: null, attachments: null, files: null, subtype: null, bot_id: null, edited: null, hidden: null },
      { blocks: [null, { type: "rich_text", elements: 5 }], files: "x", thread_ts: null },
      { subtype: "me_message", client_msg_id: 5 },
    ].entries()) {
      await direct(
        `D1${n}`,
        { text: says(`read ${n}`), ...odd },
        { authorizations: [null], team: 5, event_time: null },
      );
      expect(await answers(`D1${n}`, 1)).toEqual([`read ${n}`]);
    }
  });

  test("a message without a text is read in its blocks, attachments and files; else it gets one sentence", async () => {
    const block = (text: string) => ({ type: "rich_text_section", elements: [{ type: "text", text }] });
    for (const [n, fields] of [
      { text: null, blocks: [{ type: "rich_text", elements: [block(says("in blocks"))] }] },
      { blocks: [{ type: "section", text: { type: "mrkdwn", text: says("in a section") } }] },
      { text: "", attachments: [{ fallback: "x", text: says("shared") }] },
      { text: "\u00a0", blocks: [{ type: "table", rows: [null, [{ type: "raw_text", text: says("in a table") }]] }] },
      {
        text: "",
        blocks: [{ type: "image", title: { type: "plain_text", text: says("of an image") }, alt_text: "a" }],
      },
      { text: "", blocks: [{ type: "image", alt_text: says("beside an image") }] },
      { text: "", blocks: [{ type: "video", title: { type: "plain_text", text: says("of a video") } }] },
      { subtype: "file_share", files: [{ transcription: { preview: { content: says("said aloud") } } }] },
    ].entries()) {
      await direct(`D2${n}`, fields);
      const told = ["in blocks", "in a section", "shared", "in a table"];
      told.push("of an image", "beside an image", "of a video", "said aloud");
      expect(await answers(`D2${n}`, 1)).toEqual([told[n] ?? ""]);
    }
    for (const [n, text] of ["\u00a0", "\u200b", "\u3164"].entries()) {
      await direct(`D31${n}`, { text });
      expect(await answers(`D31${n}`, 1)).toEqual([unreadable]);
    }
    await direct("D30", { text: "", subtype: "file_share", files: [{ name: "a.png" }] });
    expect(await answers("D30", 1)).toEqual([unreadable]);
  });

  test("a channel that has another id now is followed", async () => {
    const ts = await fixture.mention(connection, says("one"), { channel: "C40" });
    await fixture.inThread(ts, 1);
    await send({ type: "channel_id_changed", old_channel_id: "C40", new_channel_id: "G40" });
    await fixture.mention(connection, says("two"), { channel: "G40", thread: ts });
    const [, second] = await fixture.inThread(ts, 2);
    expect([second?.channel, second?.text]).toEqual(["G40", "two"]);
    const threads = await fixture.h.sql<{ key: string }[]>`select key from chat_threads where key like '%40:%'`;
    expect(threads.map(({ key }) => key)).toEqual([`G40:${ts}`]);
  });

  test("bold beside letters is bold, entities are decoded once, and a card's code is closed", async () => {
    await direct("D50", { text: slackEscaped(says("これは**重要**です。 a &amp; `b`")) });
    expect(await answers("D50", 1)).toEqual(["これは\u200B*重要*\u200Bです。 a &amp; `b`"]);
    await direct("D51", { text: `[[sim: tool=memory_save args=${JSON.stringify({ text: "&amp;".repeat(900) })}]]` });
    const card = await eventually(() =>
      fixture.slack.messages.find(({ channel, blocks }) => channel === "D51" && blocks.length > 0),
    );
    const [section] = card.blocks as { text: { text: string } }[];
    expect(section?.text.text.length).toBeLessThanOrEqual(3_000);
    expect(section?.text.text.endsWith("\n```")).toBe(true);
    await direct("D52", { text: `[[sim: tool=memory_save args=${JSON.stringify({ text: "````x```" })}]]` });
    const ticks = await eventually(() =>
      fixture.slack.messages.find(({ channel, blocks }) => channel === "D52" && blocks.length > 0),
    );
    const [shown] = ticks.blocks as { text: { text: string } }[];
    expect(shown?.text.text.match(/```/g)).toHaveLength(2);
  });
});
