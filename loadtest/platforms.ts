/** The two chat platforms as the stand plays them: the tests' stand-ins, and a connection to each. */
import { SlackServer } from "../test/servers/slack.ts";
import { TelegramServer } from "../test/servers/telegram.ts";
import type { Call } from "./stand.ts";

/** The stand-ins, before and after anything is connected to them. */
export interface Platforms {
  /** Where the service finds them. */
  readonly env: Readonly<Record<string, string>>;
  /** Connects an agent to both; what a sender of webhooks has to know. */
  connect(call: Call, agentId: string): Promise<object>;
  /** How often each text was posted. */
  posts(): Readonly<Record<string, number>>;
  stop(): Promise<void>;
}

/** Starts both in this process. */
export async function startPlatforms(): Promise<Platforms> {
  const slack = new SlackServer();
  const telegram = new TelegramServer();
  await Promise.all([slack.start(), telegram.start()]);
  return {
    env: { CHAT_A_API_URL: slack.apiUrl, CHAT_B_API_URL: telegram.url },
    async connect(call, agentId) {
      const slackBot = slack.install();
      const telegramBot = telegram.make();
      const make = (platform: string, credentials: object) =>
        call("POST", "/v1/chat-connections", { name: platform, agentId, platform, credentials });
      const a = await make("slack", { botToken: slackBot.token, signingSecret: slackBot.signingSecret });
      const b = await make("telegram", { botToken: telegramBot.token });
      return {
        slack: { url: `/v1/chat/webhooks/chat_a/${a.id}`, bot: slackBot },
        telegram: { url: `/v1/chat/webhooks/chat_b/${b.id}`, secret: telegramBot.webhook?.secret ?? "" },
      };
    },
    posts() {
      const counts: Record<string, number> = {};
      for (const { text } of [...slack.messages, ...telegram.messages]) counts[text] = (counts[text] ?? 0) + 1;
      return counts;
    },
    stop: async () => {
      await Promise.all([slack.stop(), telegram.stop()]);
    },
  };
}
