import { sameText } from "../../seal.ts";
import type { Heard, Incoming, Listener } from "../platform.ts";
import type { ChatCredentials } from "../schema.ts";

/** Whether a request carries the secret that the webhook was registered with. */
export function isFromTelegram(credentials: ChatCredentials, headers: Headers): boolean {
  const given = headers.get("x-telegram-bot-api-secret-token");
  return given !== null && credentials.webhookSecret !== undefined && sameText(given, credentials.webhookSecret);
}

/** The parts of Telegram's updates that are read here. */
interface Update {
  update_id?: number;
  message?: Message;
  business_message?: Message;
  callback_query?: { id?: string; data?: string; message?: { chat?: { id?: number } } };
}

interface Person {
  id?: number;
  is_bot?: boolean;
}

interface Entity {
  type?: string;
  offset?: number;
  length?: number;
  user?: Person;
}

interface Message {
  message_id?: number;
  message_thread_id?: number;
  is_topic_message?: boolean;
  business_connection_id?: string;
  sender_business_bot?: Person;
  from?: Person;
  chat?: { id?: number; type?: string };
  reply_to_message?: { from?: Person };
  text?: string;
  caption?: string;
  entities?: Entity[];
  caption_entities?: Entity[];
}

/** Reads a verified update. Throws `SyntaxError`. */
export function readTelegram(listener: Listener, body: Uint8Array): Heard {
  const update = JSON.parse(new TextDecoder().decode(body)) as Update | null;
  if (typeof update !== "object" || update === null) throw new SyntaxError("Not an update of Telegram's.");
  return { incoming: incomingOf(listener, update), answer: null };
}

function incomingOf(listener: Listener, update: Update): Incoming | null {
  if (update.callback_query !== undefined) return pressOf(listener, update.callback_query);
  const business = update.business_message !== undefined;
  if (business && listener.configuration.businessMode !== true) return null;
  const message = update.business_message ?? update.message;
  return message === undefined ? null : messageOf(listener, message, update.update_id ?? 0, business);
}

/** A private message, or a mention of the bot or a reply to it in a group; null for all else. */
function messageOf(listener: Listener, message: Message, updateId: number, business: boolean): Incoming | null {
  const { from, chat, message_id } = message;
  if (from?.id === undefined || chat?.id === undefined || message_id === undefined) return null;
  if (from.is_bot === true || String(from.id) === listener.identity.botUserId) return null;
  if (business && (message.sender_business_bot !== undefined || from.id !== chat.id)) return null;
  const isPrivate = chat.type === "private";
  const isGroup = chat.type === "group" || chat.type === "supergroup";
  if (!isPrivate && !(isGroup && isAddressed(listener, message))) return null;
  if (!isAllowed(listener, chat.id)) return null;
  const text = withoutMention(listener, message).trim();
  if (text === "") return null;
  const channel = String(chat.id);
  const topic = message.is_topic_message === true ? (message.message_thread_id ?? null) : null;
  const businessId = business ? (message.business_connection_id ?? null) : null;
  const place = topic === null ? channel : `${channel}:${topic}`;
  return {
    kind: "message",
    keys: [`update:${updateId}`, `message:${businessId ?? ""}:${channel}:${message_id}`],
    threadKey: businessId === null ? place : `${businessId}:${place}`,
    address: { channel, thread: topic === null ? null : String(topic), business: businessId },
    place: message_id,
    owner: isPrivate ? String(from.id) : channel,
    text,
  };
}

function pressOf(listener: Listener, query: NonNullable<Update["callback_query"]>): Incoming | null {
  const [, action, approvalId] = /^(approve|deny):(\S+)$/.exec(query.data ?? "") ?? [];
  const chat = query.message?.chat?.id;
  if (approvalId === undefined || chat === undefined || !isAllowed(listener, chat)) return null;
  const pressId = query.id ?? null;
  return { kind: "press", approvalId, approved: action === "approve", channel: String(chat), pressId };
}

function isAddressed(listener: Listener, message: Message): boolean {
  if (String(message.reply_to_message?.from?.id) === listener.identity.botUserId) return true;
  return mentionsOf(listener, message).length > 0;
}

/** Where a message names the bot. Offsets and lengths count UTF-16 units. */
function mentionsOf({ identity, botName }: Listener, message: Message): { start: number; end: number }[] {
  const text = message.text ?? message.caption ?? "";
  const name = botName === null ? null : `@${botName.toLowerCase()}`;
  return (message.entities ?? message.caption_entities ?? []).flatMap(({ type, offset = 0, length = 0, user }) => {
    const span = { start: offset, end: offset + length };
    const shown = text.slice(span.start, span.end).toLowerCase();
    if (type === "text_mention") return String(user?.id) === identity.botUserId ? [span] : [];
    if (name === null || (type !== "mention" && type !== "bot_command") || !shown.endsWith(name)) return [];
    // Of `/command@bot` the command stays.
    return [{ start: span.end - name.length, end: span.end }];
  });
}

function withoutMention(listener: Listener, message: Message): string {
  const text = message.text ?? message.caption ?? "";
  const spans = mentionsOf(listener, message).sort((left, right) => right.start - left.start);
  return spans.reduce((shown, { start, end }) => shown.slice(0, start) + shown.slice(end), text);
}

function isAllowed({ configuration: { chatIds } }: Listener, chat: number): boolean {
  return chatIds === undefined || chatIds.length === 0 || chatIds.includes(String(chat));
}
