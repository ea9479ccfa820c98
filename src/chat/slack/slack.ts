import { idAt, textAt } from "../../kernel/outbound/sent-fields.ts";
import {
  type ChatAccount,
  type ChatPlatform,
  type KnownBot,
  notYoursText,
  type OutgoingMessage,
  PlatformError,
} from "../platform.ts";
import type { ChatAddress, CheckStatus } from "../schema.ts";
import { type CallSlack, slackCaller } from "./client.ts";
import { cardBlocks, fitsSlack, slackBlockUnitsMax, slackText, slackTextUnitsMax } from "./format.ts";
import { isSignedBySlack, readSlack } from "./receive.ts";

/** `chat_a`: a Slack app that is installed in a workspace. */
export const slack: ChatPlatform = {
  registersWebhook: false,
  messageUnitsMax: slackTextUnitsMax,
  verify: isSignedBySlack,
  read: readSlack,
  fits: (text) => fitsSlack(text, slackTextUnitsMax),
  fitsCard: (text) => fitsSlack(text, slackBlockUnitsMax),
  open: (endpoint, { botToken }) => openAccount(slackCaller(endpoint, botToken)),
};

function openAccount(call: CallSlack): ChatAccount {
  return {
    identify: () => identify(call),
    // The request URL is entered in the app's settings; Slack has no call for it.
    register: async () => {},
    unregister: async () => {},
    webhookStatus: async () => "unknown",
    membership: (_bot, channel) => membership(call, channel),
    post: (to, message) => post(call, to, message),
    edit: (to, messageId, message) => edit(call, to, messageId, message),
    acknowledge: (to, { refusedPerson }) => (refusedPerson ? tell(call, to, refusedPerson) : Promise.resolve()),
    showWork: (to, place) => showWork(call, to, place),
  };
}

async function identify(call: CallSlack): Promise<KnownBot> {
  const who = await call((client) => client.auth.test());
  const teamId = who.is_enterprise_install ? who.enterprise_id : who.team_id;
  const botId = idAt(who.bot_id);
  if (botId === null || idAt(teamId) === null) throw new PlatformError("refused", "not_a_bot_token");
  return {
    installation: `${teamId}:${botId}`,
    botId,
    botUserId: idAt(who.user_id),
    teamId: idAt(teamId),
    appId: idAt(who.app_id) ?? (await appIdOf(call, botId)),
    botName: textAt(who.user),
  };
}

/** The app that a bot belongs to; null when the token may not ask. */
async function appIdOf(call: CallSlack, bot: string): Promise<string | null> {
  try {
    const info = await call((client) => client.bots.info({ bot }));
    return info.bot?.app_id ?? null;
  } catch {
    return null;
  }
}

async function membership(call: CallSlack, channel: string): Promise<CheckStatus> {
  try {
    const info = await call((client) => client.conversations.info({ channel }));
    return info.channel?.is_member === true || info.channel?.is_im === true ? "pass" : "fail";
  } catch (error) {
    return error instanceof PlatformError && error.kind === "refused" && error.code !== "missing_scope"
      ? "fail"
      : "unknown";
  }
}

async function post(call: CallSlack, to: ChatAddress, message: OutgoingMessage): Promise<string> {
  const text = await slackText(message);
  const posted = await call((client) => {
    const where = { channel: to.channel, ...(to.thread === null ? {} : { thread_ts: to.thread }) };
    const fields = { ...where, text, unfurl_links: false, unfurl_media: false };
    if (message.approvalId === null) return client.chat.postMessage(fields);
    return client.chat.postMessage({
      ...fields,
      blocks: cardBlocks(text, message.representation, message.approvalId),
    });
  });
  if (idAt(posted.ts) === null) throw new PlatformError("unsure", "unreadable_answer");
  return posted.ts as string;
}

async function edit(call: CallSlack, to: ChatAddress, messageId: string, message: OutgoingMessage): Promise<void> {
  const text = await slackText(message);
  const blocks = cardBlocks(text, message.representation, message.approvalId);
  await call((client) => client.chat.update({ channel: to.channel, ts: messageId, text, blocks }));
}

/** Tells one person of a channel that their press decided nothing. */
async function tell(call: CallSlack, { channel, thread }: ChatAddress, user: string): Promise<void> {
  const where = { channel, user, ...(thread === null ? {} : { thread_ts: thread }) };
  await call((client) => client.chat.postEphemeral({ ...where, text: notYoursText }));
}

/** Shows a status below the message, which Slack removes when the answer is posted, or after two minutes. */
async function showWork(call: CallSlack, { channel, thread }: ChatAddress, place: number): Promise<void> {
  const ts = thread ?? (place / 1_000_000).toFixed(6);
  await call((client) =>
    client.assistant.threads.setStatus({ channel_id: channel, thread_ts: ts, status: "is thinking…" }),
  );
}
