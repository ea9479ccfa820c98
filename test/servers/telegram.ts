import { randomBytes } from "node:crypto";
import { type StandInRequest, type StandInResponse, StandInServer } from "./stand-in.ts";

/** A message as Telegram keeps it: its text without formatting. */
export interface TelegramMessage {
  readonly chat: string;
  readonly id: number;
  readonly topic: number | null;
  readonly business: string | null;
  /** As it was sent. */
  source: string;
  text: string;
  html: boolean;
  buttons: { text: string; callback_data: string }[];
  edits: number;
}

export interface TelegramBot {
  readonly token: string;
  readonly id: number;
  readonly username: string;
  webhook: { url: string; secret: string; updates: string[] } | null;
}

const textUnitsMax = 4_096;
const callbackBytesMax = 64;

/** A stand-in for Telegram: its Bot API as it looks on the wire, and the updates it sends. */
export class TelegramServer extends StandInServer {
  readonly bots = new Map<string, TelegramBot>();
  readonly messages: TelegramMessage[] = [];
  /** What people were told who pressed a button. */
  readonly alerts: string[] = [];
  /** The signs that an answer is under way. */
  readonly actions: Record<string, string>[] = [];
  readonly acknowledged: string[] = [];
  /** The bot's standing in chats; any other is not found. */
  readonly members = new Map<string, string>();
  #ids = 100;

  constructor() {
    super((request) => this.#reply(request));
  }

  /** Makes a new bot. */
  make(): TelegramBot {
    const id = 1_000_000 + Number.parseInt(randomBytes(4).toString("hex"), 16);
    const token = `${id}:${randomBytes(18).toString("base64url").slice(0, 30)}`;
    const bot: TelegramBot = { token, id, username: `parley_${id}_bot`, webhook: null };
    this.bots.set(token, bot);
    return bot;
  }

  nextId(): number {
    this.#ids += 1;
    return this.#ids;
  }

  /** The path of one of a bot's methods, for faults. */
  path(bot: TelegramBot, method: string): string {
    return `/bot${bot.token}/${method}`;
  }

  #reply(request: StandInRequest): StandInResponse {
    const [, token = "", method] = /^\/bot([^/]+)\/(\w+)$/.exec(request.path) ?? [];
    const bot = this.bots.get(token);
    if (bot === undefined) return no(401, "Unauthorized");
    // biome-ignore lint/suspicious/noExplicitAny: what a client sends may be anything.
    const fields: any = request.text === "" ? {} : JSON.parse(request.text);
    switch (method) {
      case "getMe":
        return yes({ id: bot.id, is_bot: true, first_name: "Parley", username: bot.username });
      case "setWebhook":
        if (!/^https?:\/\//.test(fields.url))
          return no(400, "Bad Request: bad webhook: An HTTPS URL must be provided for webhook");
        bot.webhook = { url: fields.url, secret: fields.secret_token, updates: fields.allowed_updates };
        return yes(true);
      case "deleteWebhook":
        bot.webhook = null;
        return yes(true);
      case "getWebhookInfo":
        return yes({ url: bot.webhook?.url ?? "", has_custom_certificate: false, pending_update_count: 0 });
      case "getChatMember": {
        const status = this.members.get(String(fields.chat_id));
        return status === undefined ? no(400, "Bad Request: chat not found") : yes({ status, user: { id: bot.id } });
      }
      case "sendMessage":
        return this.#send(fields);
      case "editMessageText":
        return this.#edit(fields);
      case "answerCallbackQuery":
        this.acknowledged.push(fields.callback_query_id);
        if (fields.text !== undefined) this.alerts.push(fields.text);
        return yes(true);
      case "sendChatAction":
        this.actions.push(fields);
        return yes(true);
      default:
        return no(404, "Not Found");
    }
  }

  // biome-ignore lint/suspicious/noExplicitAny: what a client sends may be anything.
  #send(fields: any): StandInResponse {
    const read = readText(fields);
    if (typeof read === "string") return no(400, read);
    const message = {
      chat: String(fields.chat_id),
      id: this.nextId(),
      topic: fields.message_thread_id ?? null,
      business: fields.business_connection_id ?? null,
      edits: 0,
      ...read,
    };
    this.messages.push(message);
    return yes({ message_id: message.id, date: 1, chat: { id: fields.chat_id }, text: message.text });
  }

  // biome-ignore lint/suspicious/noExplicitAny: what a client sends may be anything.
  #edit(fields: any): StandInResponse {
    const message = this.messages.find(({ id }) => id === fields.message_id);
    if (message === undefined) return no(400, "Bad Request: message to edit not found");
    const read = readText(fields);
    if (typeof read === "string") return no(400, read);
    Object.assign(message, read, { edits: message.edits + 1 });
    return yes({ message_id: message.id });
  }
}

// biome-ignore lint/suspicious/noExplicitAny: what a client sends may be anything.
function readText(fields: any) {
  const source = String(fields.text ?? "");
  const html = fields.parse_mode === "HTML";
  if (html && !isBalanced(source)) return "Bad Request: can't parse entities: Unmatched end tag at byte offset 1";
  const text = html ? unformatted(source) : source;
  if (text.trim() === "") return "Bad Request: message text is empty";
  if (text.length > textUnitsMax) return "Bad Request: message is too long";
  const buttons = (fields.reply_markup?.inline_keyboard ?? []).flat();
  if (buttons.some((button: { callback_data: string }) => Buffer.byteLength(button.callback_data) > callbackBytesMax))
    return "Bad Request: BUTTON_DATA_INVALID";
  return { source, text, html, buttons };
}

function isBalanced(html: string): boolean {
  const open: string[] = [];
  for (const [, slash, tag = ""] of html.matchAll(/<(\/?)([a-z]+)[^>]*>/g)) {
    if (!["b", "i", "s", "u", "code", "pre", "a", "blockquote"].includes(tag)) return false;
    if (slash === "") open.push(tag);
    else if (open.pop() !== tag) return false;
  }
  return open.length === 0 && !/<(?!\/?(b|i|s|u|code|pre|a|blockquote)\b)/.test(html);
}

function unformatted(html: string): string {
  const text = html.replaceAll(/<[^>]*>/g, "");
  return text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&quot;", '"').replaceAll("&amp;", "&");
}

const yes = (result: unknown): StandInResponse => ({ status: 200, body: { ok: true, result } });
const no = (status: number, description: string): StandInResponse => ({
  status,
  body: { ok: false, error_code: status, description },
});

/** What Telegram sends; another `secret` makes it a forgery. */
export function telegramRequest(
  bot: TelegramBot,
  url: string,
  update: object,
  secret: string | null = bot.webhook?.secret ?? null,
): Request {
  return new Request(url, {
    method: "POST",
    body: JSON.stringify(update),
    headers: {
      "content-type": "application/json",
      ...(secret === null ? {} : { "x-telegram-bot-api-secret-token": secret }),
    },
  });
}

let updates = 500;

/** An update with a number of its own. */
export function telegramUpdate(fields: object): object & { update_id: number } {
  updates += 1;
  return { update_id: updates, ...fields };
}
