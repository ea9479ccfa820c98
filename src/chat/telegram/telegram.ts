import { sentFields, textAt, wholeAt } from "../../kernel/outbound/sent-fields.ts";
import {
  type ChatAccount,
  type ChatPlatform,
  type KnownBot,
  notYoursText,
  type OutgoingMessage,
  PlatformError,
} from "../platform.ts";
import type { BotIdentity, ChatAddress, ChatCredentials, CheckStatus } from "../schema.ts";
import { type CallTelegram, telegramCaller } from "./client.ts";
import { fitsTelegram, telegramText, telegramTextUnitsMax } from "./format.ts";
import { isFromTelegram, readTelegram } from "./receive.ts";

/** `chat_b`: a Telegram bot. */
export const telegram: ChatPlatform = {
  registersWebhook: true,
  messageUnitsMax: telegramTextUnitsMax,
  verify: isFromTelegram,
  read: readTelegram,
  fits: fitsTelegram,
  fitsCard: fitsTelegram,
  open: (endpoint, credentials) => openAccount(telegramCaller(endpoint, credentials.botToken), credentials),
};

function openAccount(call: CallTelegram, { webhookSecret }: ChatCredentials): ChatAccount {
  return {
    identify: () => identify(call),
    register: (url, businessMode) => register(call, url, webhookSecret ?? "", businessMode),
    unregister: async () => {
      await call((api) => api.deleteWebhook());
    },
    webhookStatus: async (url) => {
      const info = await call((api) => api.getWebhookInfo());
      return sentFields(info)?.url === url ? "pass" : "fail";
    },
    membership: (bot, chat) => membership(call, bot, chat),
    post: (to, message) => post(call, to, message),
    edit: (to, messageId, message) => edit(call, to, messageId, message),
    acknowledge: async (_to, { pressId, refusedPerson }) => {
      if (pressId === null) return;
      const said = refusedPerson === null ? {} : { text: notYoursText, show_alert: true };
      await call((api) => api.answerCallbackQuery(pressId, said));
    },
    showWork: async (to) => {
      await call((api) => api.sendChatAction(to.channel, "typing", placeOf(to)));
    },
  };
}

async function identify(call: CallTelegram): Promise<KnownBot> {
  const bot = await call((api) => api.getMe());
  const known = sentFields(bot);
  const id = wholeAt(known?.id)?.toString() ?? null;
  if (id === null) throw new PlatformError("unsure", "unreadable_answer");
  return { installation: id, botId: id, botUserId: id, teamId: null, appId: null, botName: textAt(known?.username) };
}

async function register(call: CallTelegram, url: string, secret: string, businessMode: boolean): Promise<void> {
  const always = ["message", "callback_query"] as const;
  const ofBusiness = ["business_connection", "business_message"] as const;
  const updates = businessMode ? [...always, ...ofBusiness] : always;
  await call((api) => api.setWebhook(url, { secret_token: secret, allowed_updates: updates }));
}

async function membership(call: CallTelegram, bot: BotIdentity, chat: string): Promise<CheckStatus> {
  try {
    const member = await call((api) => api.getChatMember(chat, Number(bot.botUserId)));
    const status = textAt(sentFields(member)?.status);
    if (status === null) return "unknown";
    return status === "left" || status === "kicked" ? "fail" : "pass";
  } catch (error) {
    return error instanceof PlatformError && error.kind === "refused" ? "fail" : "unknown";
  }
}

/** The fields that a posted and an edited message share. */
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

/** Where in a chat something is shown. */
function placeOf({ thread, business }: ChatAddress) {
  return {
    ...(thread === null ? {} : { message_thread_id: Number(thread) }),
    ...(business === null ? {} : { business_connection_id: business }),
  };
}

async function post(call: CallTelegram, to: ChatAddress, message: OutgoingMessage): Promise<string> {
  const text = await telegramText(message);
  const posted = await call((api) =>
    api.sendMessage(to.channel, text, {
      ...formatOf(message),
      ...placeOf(to),
    }),
  );
  const id = wholeAt(sentFields(posted)?.message_id);
  // It says that it was posted, and not as what.
  if (id === null) throw new PlatformError("unsure", "unreadable_answer");
  return String(id);
}

async function edit(call: CallTelegram, to: ChatAddress, messageId: string, message: OutgoingMessage): Promise<void> {
  const text = await telegramText(message);
  await call((api) =>
    api.editMessageText(to.channel, Number(messageId), text, {
      ...formatOf(message),
      ...(to.business === null ? {} : { business_connection_id: to.business }),
    }),
  );
}
