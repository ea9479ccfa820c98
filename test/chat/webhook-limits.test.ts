import { expect, test } from "bun:test";
import { chatTextCharactersMax, webhookBytesMax, webhooksPerSecondMax } from "../../src/chat/schema.ts";
import { plainText } from "../../src/chat/slack/format.ts";
import { readTelegram } from "../../src/chat/telegram/receive.ts";
import { type Connected, useChat } from "../harness/chat-fixture.ts";
import { eventually } from "../harness/eventually.ts";
import { type SlackBot, slackEvent, slackRequest } from "../servers/slack.ts";
import { telegramRequest, telegramUpdate } from "../servers/telegram.ts";

const fixture = await useChat();
const { t, agentId } = await fixture.tenant();

/** Texts that a pattern which reads past a `<` reads again from each `<` on. */
const worstTexts = [
  "<http:a",
  "<mailto:a|",
  "<@U",
  "<@U|a",
  "<#C",
  "<#C|a",
  "<!a",
  "<!a^",
  "<!subteam^S",
  "<!subteam^S|@",
];

/** The text of a connection's first message in a thread, as its turn sees it. */
const textOfTurn = (connectionId: string, thread: string): Promise<string> =>
  eventually(async () => {
    const [row] = await fixture.h.sql`
      select (select content from messages m where m.session_id = th.session_id order by seq limit 1) as first
      from chat_threads th where th.connection_id = ${connectionId} and th.key = ${thread}`;
    return row?.first?.parts[0].text ?? null;
  });

/** The seconds that a work takes at best: a busy machine puts a process aside for longer than one takes. */
const secondsOf = (work: () => void): number => {
  const times = Array.from({ length: 5 }, () => {
    const start = performance.now();
    work();
    return (performance.now() - start) / 1000;
  });
  return Math.min(...times);
};

const directMessage = ({ bot }: Connected<SlackBot>, channel: string, text: string) =>
  slackEvent(bot, { type: "message", channel_type: "im", user: "UP", channel, ts: fixture.slack.ts(), text });

test("reading Slack's marks takes no longer for the worst texts than for others", () => {
  const units = 256 * 1024;
  const textOf = (piece: string) => piece.repeat(units / piece.length);
  const ordinary = Math.max(
    0.001,
    ...["<@U1> ", "hello ", "<http:a|b> "].map((piece) => secondsOf(() => plainText(textOf(piece), "UBOT"))),
  );
  for (const piece of [...worstTexts, "<@UBOT|"]) {
    const worst = secondsOf(() => plainText(textOf(piece), "UBOT"));
    expect([piece, worst < 100 * ordinary]).toEqual([piece, true]);
  }
});

test("a signed body of 1 MiB with the worst texts is answered, and its turn has the first 40,000 characters", async () => {
  const connection = await fixture.connectSlack(t, agentId);
  const units = webhookBytesMax - 2_000;
  for (const [place, piece] of worstTexts.entries()) {
    const channel = `D${place}`;
    const text = piece.repeat(units / piece.length);
    const payload = directMessage(connection, channel, text);
    expect((await fixture.h.app(slackRequest(connection.bot, connection.webhookUrl, payload))).status).toBe(200);
    expect((await textOfTurn(connection.id, channel)) === text.slice(0, chatTextCharactersMax)).toBe(true);
  }
});

test("40,000 characters of a message are kept whole, one more is cut off", async () => {
  const connection = await fixture.connectSlack(t, agentId);
  const whole = "😀".repeat(chatTextCharactersMax);
  for (const [channel, text] of [
    ["D1", whole],
    ["D2", `${whole}b`],
  ] as const) {
    const payload = directMessage(connection, channel, text);
    expect((await fixture.h.app(slackRequest(connection.bot, connection.webhookUrl, payload))).status).toBe(200);
    expect((await textOfTurn(connection.id, channel)) === whole).toBe(true);
  }
});

test("a text and a caption of Telegram's are cut to 40,000 characters, without half a character", async () => {
  const connection = await fixture.connectTelegram(t, agentId);
  const text = `a${"😀".repeat(50_000)}`;
  for (const [chat, written] of [
    [501, { text }],
    [502, { caption: text }],
  ] as const) {
    const person = { id: chat, is_bot: false };
    const message = { message_id: chat, date: 1, from: person, chat: { id: chat, type: "private" }, ...written };
    const request = telegramRequest(connection.bot, connection.webhookUrl, telegramUpdate({ message }));
    expect((await fixture.h.app(request)).status).toBe(200);
    const read = await textOfTurn(connection.id, String(chat));
    expect(read === `a${"😀".repeat(chatTextCharactersMax - 1)}`).toBe(true);
  }
});

test("reading 20,000 mentions that span a whole message of Telegram's takes no longer than reading short ones", () => {
  const bot = {
    identity: { botId: "1", botUserId: "1", teamId: null, appId: null },
    botName: "the_bot",
    configuration: {},
  };
  const bodyOf = (length: number) =>
    new TextEncoder().encode(
      JSON.stringify({
        update_id: 1,
        message: {
          message_id: 1,
          from: { id: 2 },
          chat: { id: 2, type: "private" },
          text: "Aé".repeat(chatTextCharactersMax / 2),
          entities: Array.from({ length: 20_000 }, () => ({ type: "mention", offset: 0, length })),
        },
      }),
    );
  const [ordinary, worst] = [8, chatTextCharactersMax].map((length) => {
    const body = bodyOf(length);
    return secondsOf(() => readTelegram(bot, body));
  }) as [number, number];
  expect(worst < 20 * Math.max(0.005, ordinary)).toBe(true);
});

test("mentions of the bot are taken out of a Telegram message wherever they stand", async () => {
  const connection = await fixture.connectTelegram(t, agentId);
  const name = `@${connection.bot.username}`;
  const text = `${name} one ${name} two /ask${name} three`;
  const places = [...text.matchAll(new RegExp(name, "g"))].map(({ index }) => index);
  const entities = [
    { type: "bot_command", offset: (places[2] ?? 0) - 4, length: name.length + 4 },
    { type: "mention", offset: places[0], length: name.length },
    { type: "mention", offset: places[1], length: name.length },
    { type: "mention", offset: places[1], length: name.length },
  ];
  const person = { id: 601, is_bot: false };
  const message = { message_id: 1, date: 1, from: person, chat: { id: 601, type: "private" }, text, entities };
  await fixture.h.app(telegramRequest(connection.bot, connection.webhookUrl, telegramUpdate({ message })));
  expect(await textOfTurn(connection.id, "601")).toBe("one  two /ask three");
});

test("429 rate_limited: a connection takes 50 webhooks a second; further ones are taken when they are repeated", async () => {
  const [connection, other] = [await fixture.connectSlack(t, agentId), await fixture.connectSlack(t, agentId)];
  const send = (payload: object, { bot, webhookUrl } = connection, options = {}) =>
    fixture.h.app(slackRequest(bot, webhookUrl, payload, options));
  const burst = async () => {
    const forged = Array.from({ length: webhooksPerSecondMax }, () => send([], connection, { secret: "wrong" }));
    for (const response of await Promise.all(forged)) expect(response.status).toBe(401);
    return Promise.all(Array.from({ length: webhooksPerSecondMax + 10 }, () => send([])));
  };
  // A second may begin in between, so one of several tries must see the exact number.
  const refused = await eventually(async () => {
    const responses = await burst();
    expect(responses.every(({ status }) => status === 200 || status === 429)).toBe(true);
    const found = responses.filter(({ status }) => status === 429);
    return found.length === 10 ? found : null;
  });
  for (const response of refused) {
    expect(response.headers.get("retry-after")).toMatch(/^[1-9]\d*$/);
    expect((await response.json()).error.code).toBe("rate_limited");
  }
  expect((await send([], other)).status).toBe(200);
  const event = directMessage(connection, "D77", '[[sim: text="late"]]');
  await eventually(async () => (await Promise.all([burst(), send(event)]))[1].status === 429);
  await eventually(async () => (await send(event)).status === 200);
  expect(await textOfTurn(connection.id, "D77")).toBe('[[sim: text="late"]]');
});

test("a disabled connection responds to every signed body alike: 200 without content; a forged one is 401", async () => {
  const { bot, webhookUrl, id } = await fixture.connectSlack(t, agentId);
  const bodies = [
    slackEvent(bot, {
      type: "message",
      channel_type: "im",
      user: "UP",
      channel: "D1",
      ts: fixture.slack.ts(),
      text: "hi",
    }),
    { type: "url_verification", challenge: "c" },
    null as never,
    "no payload" as never,
  ];
  const send = (payload: object, options = {}) => fixture.h.app(slackRequest(bot, webhookUrl, payload, options));
  expect((await send(null as never)).status).toBe(400);
  await t.call("POST", `/v1/chat-connections/${id}/disable`);
  for (const body of bodies) {
    const response = await send(body);
    expect([body, response.status, await response.text()]).toEqual([body, 200, ""]);
    expect((await send(body, { secret: "wrong" })).status).toBe(401);
  }
  const [row] = await fixture.h.sql`select count(*)::int as rows from chat_threads where connection_id = ${id}`;
  expect(row?.rows).toBe(0);
});
