import { afterAll } from "bun:test";
import type { AgentCreate } from "parley/client";
import { type SlackBot, SlackServer, slackEvent, slackPress, slackRequest } from "../servers/slack.ts";
import {
  type TelegramBot,
  type TelegramMessage,
  TelegramServer,
  telegramRequest,
  telegramUpdate,
} from "../servers/telegram.ts";
import { eventually, type Harness, startHarness, type TestTenant } from "./harness.ts";
import { makeAgent } from "./seed.ts";

/** A connection of a test's tenant, with the bot behind it. */
export interface Connected<Bot> {
  readonly id: string;
  readonly webhookUrl: string;
  readonly bot: Bot;
}

/** The service with a worker, beside stand-ins for both platforms. */
export class ChatFixture {
  readonly h: Harness;
  readonly slack: SlackServer;
  readonly telegram: TelegramServer;

  private constructor(h: Harness, slack: SlackServer, telegram: TelegramServer) {
    this.h = h;
    this.slack = slack;
    this.telegram = telegram;
  }

  static async start(variables: Readonly<Record<string, string>> = {}): Promise<ChatFixture> {
    const slack = new SlackServer();
    const telegram = new TelegramServer();
    await Promise.all([slack.start(), telegram.start()]);
    const env = { CHAT_A_API_URL: slack.apiUrl, CHAT_B_API_URL: telegram.url, ...variables };
    return new ChatFixture(await startHarness({ worker: true, env }), slack, telegram);
  }

  /** The same on a service that was started with both stand-ins elsewhere; its starter stops it. */
  static beside(h: Harness, slack: SlackServer, telegram: TelegramServer): ChatFixture {
    return new ChatFixture(h, slack, telegram);
  }

  async stop(): Promise<void> {
    await this.h.stop();
    await Promise.all([this.slack.stop(), this.telegram.stop()]);
  }

  /** A tenant with an agent that asks before it saves a memory. */
  async tenant(fields: Partial<AgentCreate> = {}): Promise<{ t: TestTenant; agentId: string }> {
    const t = await this.h.tenant();
    const agentId = await makeAgent(this.h, t, { tools: ["memory"], approvalInChat: { default: "manual" }, ...fields });
    return { t, agentId };
  }

  async connectSlack(
    t: TestTenant,
    agentId: string,
    bot: SlackBot = this.slack.install(),
  ): Promise<Connected<SlackBot>> {
    const credentials = { botToken: bot.token, signingSecret: bot.signingSecret };
    const body = { name: "S", agentId, platform: "slack" as const, credentials };
    const { id, webhookUrl } = await t.parley.chatConnections.create(body);
    return { id, webhookUrl, bot };
  }

  async connectTelegram(
    t: TestTenant,
    agentId: string,
    bot: TelegramBot = this.telegram.make(),
  ): Promise<Connected<TelegramBot>> {
    const credentials = { botToken: bot.token };
    const body = { name: "T", agentId, platform: "telegram" as const, credentials };
    const { id, webhookUrl } = await t.parley.chatConnections.create(body);
    return { id, webhookUrl, bot };
  }

  /** Somebody mentions the bot in a channel; returns the message's ts, which names the thread. */
  async mention(
    { bot, webhookUrl }: Connected<SlackBot>,
    text: string,
    { channel = "C1", thread }: { channel?: string; thread?: string } = {},
  ): Promise<string> {
    const ts = this.slack.ts();
    const event = { type: "app_mention", user: "UPERSON", channel, ts, text: `<@${bot.userId}> ${slackEscaped(text)}` };
    const payload = slackEvent(bot, { ...event, ...(thread === undefined ? {} : { thread_ts: thread }) });
    const response = await this.h.app(slackRequest(bot, webhookUrl, payload));
    if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
    return ts;
  }

  /** Somebody writes to the bot in private. */
  async write({ bot, webhookUrl }: Connected<TelegramBot>, text: string, chat = 77): Promise<void> {
    const message = {
      message_id: this.telegram.nextId(),
      date: 1,
      from: { id: chat, is_bot: false },
      chat: { id: chat, type: "private" },
      text,
    };
    const response = await this.h.app(telegramRequest(bot, webhookUrl, telegramUpdate({ message })));
    if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
  }

  /** Somebody presses a button of a Slack card. */
  async pressSlack(
    { bot, webhookUrl }: Connected<SlackBot>,
    message: SlackServer["messages"][number],
    action: "approve" | "deny",
    user?: { readonly id: string; readonly username: string; readonly name: string },
  ): Promise<number> {
    const press = slackPress(bot, message, action, user);
    return (await this.h.app(slackRequest(bot, webhookUrl, press, { form: true }))).status;
  }

  /** Somebody presses a button of a Telegram card. */
  async pressTelegram(
    { bot, webhookUrl }: Connected<TelegramBot>,
    message: TelegramMessage,
    label: string,
    id = "cb1",
    from = 77,
  ): Promise<number> {
    const data = message.buttons.find((button) => button.text === label)?.callback_data;
    const callback_query = {
      id,
      from: { id: from, is_bot: false, first_name: "Ann", last_name: "Lee" },
      data,
      message: { message_id: message.id, chat: { id: Number(message.chat) } },
    };
    return (await this.h.app(telegramRequest(bot, webhookUrl, telegramUpdate({ callback_query })))).status;
  }

  /** Waits until a Slack thread has so many messages of the bot, and returns them. */
  inThread(thread: string, count: number, limitMs?: number) {
    return eventually(() => {
      const found = this.slack.messages.filter((message) => message.thread === thread);
      return found.length >= count ? found : null;
    }, limitMs);
  }

  /** The same for a Telegram chat. */
  inChat(chat: number, count: number, limitMs?: number) {
    return eventually(() => {
      const found = this.telegram.messages.filter((message) => message.chat === String(chat));
      return found.length >= count ? found : null;
    }, limitMs);
  }

  /** Waits until the newest delivery in a thread (Slack: its ts; Telegram: the chat) has this status, and returns it. */
  delivery(t: TestTenant, connectionId: string, thread: string | number, status: string, limitMs?: number) {
    return eventually(async () => {
      const { data } = await t.parley.chatDeliveries.list(connectionId);
      const newest = data.find(({ threadId }) => threadId.split(":").at(-1) === String(thread));
      return newest?.status === status ? newest : null;
    }, limitMs);
  }

  /** How many turns a tenant has had. */
  async turns(t: TestTenant): Promise<number> {
    const [row] = await this.h.sql`select count(*)::int as turns from turns where tenant_id = ${t.id}`;
    return row?.turns;
  }
}

/** The same for the tests of a file. */
export async function useChat(variables: Readonly<Record<string, string>> = {}): Promise<ChatFixture> {
  const fixture = await ChatFixture.start(variables);
  afterAll(() => fixture.stop());
  return fixture;
}

function slackEscaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
