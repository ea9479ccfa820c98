import type { Api } from "grammy/web";
import { type ChatPlatform, type Endpoint, type KnownBot, type OutgoingMessage, PlatformError } from "../platform.ts";
import type { BotIdentity, ChatAddress, ChatCredentials, CheckStatus } from "../schema.ts";
import { callTelegram } from "./client.ts";
import { fitsTelegram, telegramText, telegramTextUnitsMax } from "./format.ts";
import { isFromTelegram, readTelegram } from "./receive.ts";

/** `chat_b`: a Telegram bot. */
export const telegram: ChatPlatform = {
  registersWebhook: true,
  messageUnitsMax: telegramTextUnitsMax,
  identify,
  register,
  unregister: async (endpoint, { botToken }) => {
    await callTelegram(endpoint, botToken, (api) => api.deleteWebhook());
  },
  webhookStatus: async (endpoint, { botToken }, url) => {
    const info = await callTelegram(endpoint, botToken, (api) => api.getWebhookInfo());
    return info.url === url ? "pass" : "fail";
  },
  membership,
  verify: isFromTelegram,
  read: readTelegram,
  fits: fitsTelegram,
  post,
  edit,
  acknowledge: async (endpoint, { botToken }, pressId) => {
    await callTelegram(endpoint, botToken, (api) => api.answerCallbackQuery(pressId));
  },
};

async function identify(endpoint: Endpoint, { botToken }: ChatCredentials): Promise<KnownBot> {
  const bot = await callTelegram(endpoint, botToken, (api) => api.getMe());
  const id = String(bot.id);
  return { installation: id, botId: id, botUserId: id, teamId: null, appId: null, botName: bot.username ?? null };
}

async function register(
  endpoint: Endpoint,
  { botToken, webhookSecret }: ChatCredentials,
  url: string,
  businessMode: boolean,
): Promise<void> {
  const asked = ["message", "callback_query"] as const;
  const ofBusiness = ["business_connection", "business_message"] as const;
  await callTelegram(endpoint, botToken, (api) =>
    api.setWebhook(url, {
      secret_token: webhookSecret ?? "",
      allowed_updates: businessMode ? [...asked, ...ofBusiness] : asked,
    }),
  );
}

async function membership(
  endpoint: Endpoint,
  { botToken }: ChatCredentials,
  bot: BotIdentity,
  chat: string,
): Promise<CheckStatus> {
  try {
    const member = await callTelegram(endpoint, botToken, (api) => api.getChatMember(chat, Number(bot.botUserId)));
    return member.status === "left" || member.status === "kicked" ? "fail" : "pass";
  } catch (error) {
    return error instanceof PlatformError && error.kind === "refused" ? "fail" : "unknown";
  }
}

/** What a sent and an edited message have in common. */
function formatOf(message: OutgoingMessage) {
  const { approvalId, representation } = message;
  const button = (action: string, text: string) => ({ text, callback_data: `${action}:${approvalId}` });
  return {
    ...(representation === "native" ? { parse_mode: "HTML" as const } : {}),
    ...(approvalId === null
      ? {}
      : { reply_markup: { inline_keyboard: [[button("approve", "Approve"), button("deny", "Deny")]] } }),
    link_preview_options: { is_disabled: true },
  };
}

async function post(endpoint: Endpoint, credentials: ChatCredentials, to: ChatAddress, message: OutgoingMessage) {
  const sent = await callTelegram(endpoint, credentials.botToken, (api: Api) =>
    api.sendMessage(to.channel, telegramText(message), {
      ...formatOf(message),
      ...(to.thread === null ? {} : { message_thread_id: Number(to.thread) }),
      ...(to.business === null ? {} : { business_connection_id: to.business }),
    }),
  );
  return String(sent.message_id);
}

async function edit(
  endpoint: Endpoint,
  credentials: ChatCredentials,
  to: ChatAddress,
  messageId: string,
  message: OutgoingMessage,
): Promise<void> {
  await callTelegram(endpoint, credentials.botToken, (api: Api) =>
    api.editMessageText(to.channel, Number(messageId), telegramText(message), {
      ...formatOf(message),
      ...(to.business === null ? {} : { business_connection_id: to.business }),
    }),
  );
}
