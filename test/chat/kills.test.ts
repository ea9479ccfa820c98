import { describe, expect, test } from "bun:test";
import { eventually } from "../harness/harness.ts";
import { type Client, type Installation, sharedRedisUrl, startInstallation } from "../harness/processes.ts";
import { type SlackBot, SlackServer, slackEvent, slackRequest } from "../servers/slack.ts";

/** What a lost worker leaves is noticed within this (docs/workers.md, "Dead and frozen workers"). */
const limitMs = 10_000;
const post = "/api/chat.postMessage";

/** Processes of the service, a stand-in for Slack, and a bot that is connected. */
interface Chat extends AsyncDisposable {
  readonly installation: Installation;
  readonly slack: SlackServer;
  readonly client: Client;
  readonly connectionId: string;
  /** The settings of a process that talks to this Slack. */
  readonly env: Record<string, string>;
  /** Somebody mentions the bot; returns the message's ts. */
  mention(text: string, thread?: string): Promise<string>;
  /** What the bot has said in a thread. */
  said(thread: string): string[];
  deliveries(): Promise<{ id: string; status: string; diagnostic: string | null; attempt: number }[]>;
}

async function openChat(): Promise<Chat> {
  const slack = new SlackServer();
  await slack.start();
  const env = { CHAT_A_API_URL: slack.apiUrl };
  const installation = await startInstallation();
  const { url } = await installation.serve(env);
  const client = await installation.client(url);
  const bot: SlackBot = slack.install();
  const made = await client.request("POST", "/v1/chat-connections", {
    name: "S",
    agentId: client.agentId,
    platform: "chat_a",
    credentials: { botToken: bot.token, signingSecret: bot.signingSecret },
  });
  const connection = (await made.json()) as { id: string; webhookUrl: string };
  return {
    installation,
    slack,
    client,
    env,
    connectionId: connection.id,
    mention: async (text, thread) => {
      const ts = slack.ts();
      const event = { type: "app_mention", user: "UP", channel: "C1", ts, text: `<@${bot.userId}> ${text}` };
      const payload = slackEvent(bot, { ...event, ...(thread === undefined ? {} : { thread_ts: thread }) });
      expect((await fetch(slackRequest(bot, connection.webhookUrl, payload))).status).toBe(200);
      return ts;
    },
    said: (thread) => slack.messages.filter((message) => message.thread === thread).map(({ text }) => text),
    deliveries: async () => {
      const response = await client.request("GET", `/v1/chat-connections/${connection.id}/deliveries`);
      return ((await response.json()) as { data: [] }).data;
    },
    [Symbol.asyncDispose]: async () => {
      await installation[Symbol.asyncDispose]();
      await slack.stop();
    },
  };
}

describe.skipIf(sharedRedisUrl === null)("kill -9 of a worker", () => {
  test.concurrent("between sending and receipt: ambiguous within 10 s, never resent by itself, posted again by a repair", async () => {
    await using chat = await openChat();
    // Both before the message: a request is given up after 15 s, and a process may take as long to start.
    const workers = [await chat.installation.work(chat.env), await chat.installation.work(chat.env)];
    const hanging = Promise.withResolvers<void>();
    chat.slack.injectFault(post, hanging.promise);
    const thread = await chat.mention('[[sim: text="perhaps"]]');
    await eventually(() => chat.slack.asked(post).length === 1);
    await chat.mention('[[sim: text="behind it"]]', thread);
    const [sent] = await chat.installation.sql`select claim_worker from chat_deliveries where claim is not null`;
    const killedAt = Date.now();
    await workers.find(({ workerId }) => workerId === sent?.claimWorker)?.kill();
    hanging.resolve();
    const [, lost] = await eventually(async () => {
      const found = await chat.deliveries();
      return found.length === 2 && found[0]?.status === "confirmed" ? found : null;
    }, limitMs);
    expect(Date.now() - killedAt).toBeLessThan(limitMs);
    expect(lost).toMatchObject({ status: "ambiguous", diagnostic: "sender_lost", attempt: 0 });
    expect(chat.said(thread)).toEqual(["perhaps", "behind it"]);

    const repair = `/v1/chat-connections/${chat.connectionId}/deliveries/${lost?.id}/repair`;
    const body = { expectedAttempt: 0, previousSenderStopped: true, acceptDuplicateRisk: true };
    expect((await chat.client.request("POST", repair, body)).status).toBe(200);
    await eventually(async () => (await chat.deliveries())[1]?.status === "confirmed");
    expect(chat.said(thread)).toEqual(["perhaps", "behind it", "perhaps"]);
  }, 120_000);

  test.concurrent("between ledger and sending: another worker posts it, once", async () => {
    await using chat = await openChat();
    const doomed = await chat.installation.work(chat.env);
    chat.slack.injectFault(post, {
      status: 429,
      body: { ok: false, error: "ratelimited" },
      headers: { "retry-after": "2" },
    });
    const thread = await chat.mention('[[sim: text="once"]]');
    await eventually(async () => {
      const [row] = await chat.installation
        .sql`select 1 from chat_deliveries where not_before is not null and claim is null`;
      return row !== undefined;
    });
    await doomed.kill();
    await chat.installation.work(chat.env);
    await eventually(async () => (await chat.deliveries())[0]?.status === "confirmed");
    expect(chat.said(thread)).toEqual(["once"]);
  }, 120_000);

  test.concurrent("while messages wait: none is lost, none is answered twice, and their order stays", async () => {
    await using chat = await openChat();
    const doomed = await chat.installation.work(chat.env);
    const thread = await chat.mention('[[sim: firstDelayMs=1500 text="one"]]');
    await eventually(() => chat.installation.model.requests().length === 1);
    for (const word of ["two", "three", "four"]) await chat.mention(`[[sim: text="${word}"]]`, thread);
    await doomed.kill();
    await chat.installation.work(chat.env);
    await eventually(() => chat.said(thread).length >= 4, 2 * limitMs);
    expect(chat.said(thread)).toEqual(["one", "two", "three", "four"]);
    const [sessions] = await chat.installation.sql`select count(*)::int as rows from sessions`;
    expect(sessions?.rows).toBe(1);
  }, 120_000);
});
