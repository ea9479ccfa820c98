import type { WebClient } from "@slack/web-api";
import { type ChatPlatform, type Endpoint, type KnownBot, type OutgoingMessage, PlatformError } from "../platform.ts";
import type { ChatAddress, ChatCredentials, CheckStatus } from "../schema.ts";
import { callSlack } from "./client.ts";
import { cardBlocks, slackText, slackTextUnitsMax } from "./format.ts";
import { isSignedBySlack, readSlack } from "./receive.ts";

/** `chat_a`: a Slack app that is installed in a workspace. */
export const slack: ChatPlatform = {
  registersWebhook: false,
  messageUnitsMax: slackTextUnitsMax,
  identify,
  // The request URL is entered in the app's settings; Slack has no call for it.
  register: async () => {},
  unregister: async () => {},
  webhookStatus: async () => "unknown",
  membership,
  verify: isSignedBySlack,
  read: readSlack,
  fits: (text) =>
    (["native", "text"] as const).every(
      (representation) => slackText({ text, representation }).length <= slackTextUnitsMax,
    ),
  post,
  edit,
  acknowledge: async () => {},
};

async function identify(endpoint: Endpoint, { botToken }: ChatCredentials): Promise<KnownBot> {
  const who = await callSlack(endpoint, botToken, (client) => client.auth.test());
  const teamId = who.is_enterprise_install ? who.enterprise_id : who.team_id;
  if (who.bot_id === undefined || teamId === undefined) throw new PlatformError("refused", "not_a_bot_token");
  return {
    installation: `${teamId}:${who.bot_id}`,
    botId: who.bot_id,
    botUserId: who.user_id ?? null,
    teamId,
    appId: who.app_id ?? (await appIdOf(endpoint, botToken, who.bot_id)),
    botName: who.user ?? null,
  };
}

/** The app behind a bot; null when the token may not ask. */
async function appIdOf(endpoint: Endpoint, botToken: string, bot: string): Promise<string | null> {
  try {
    const answer = await callSlack(endpoint, botToken, (client) => client.bots.info({ bot }));
    return answer.bot?.app_id ?? null;
  } catch {
    return null;
  }
}

async function membership(
  endpoint: Endpoint,
  { botToken }: ChatCredentials,
  _bot: unknown,
  channel: string,
): Promise<CheckStatus> {
  try {
    const answer = await callSlack(endpoint, botToken, (client) => client.conversations.info({ channel }));
    return answer.channel?.is_member === true || answer.channel?.is_im === true ? "pass" : "fail";
  } catch (error) {
    return error instanceof PlatformError && error.kind === "refused" && error.code !== "missing_scope"
      ? "fail"
      : "unknown";
  }
}

async function post(endpoint: Endpoint, credentials: ChatCredentials, to: ChatAddress, message: OutgoingMessage) {
  const text = slackText(message);
  const answer = await callSlack(endpoint, credentials.botToken, (client) => {
    const where = { channel: to.channel, ...(to.thread === null ? {} : { thread_ts: to.thread }) };
    const sent = { ...where, text, unfurl_links: false, unfurl_media: false };
    if (message.approvalId === null) return client.chat.postMessage(sent);
    return client.chat.postMessage({
      ...sent,
      blocks: cardBlocks(text, message.representation, message.approvalId),
    });
  });
  if (answer.ts === undefined) throw new PlatformError("unsure", "unreadable_answer");
  return answer.ts;
}

async function edit(
  endpoint: Endpoint,
  credentials: ChatCredentials,
  to: ChatAddress,
  messageId: string,
  message: OutgoingMessage,
): Promise<void> {
  const text = slackText(message);
  const blocks = cardBlocks(text, message.representation, message.approvalId);
  await callSlack(endpoint, credentials.botToken, (client: WebClient) =>
    client.chat.update({ channel: to.channel, ts: messageId, text, blocks }),
  );
}
