import { type Static, Type } from "@sinclair/typebox";
import { TypeCompiler } from "@sinclair/typebox/compiler";
import { sameText } from "../../kernel/seal.ts";
import { type Incoming, personOf, type ReadWebhook, type ReceivingBot } from "../platform.ts";
import { type ChatCredentials, ChatId } from "../schema.ts";
import { withinLimit } from "../text-limit.ts";

/** Returns whether a request carries the secret that the webhook was registered with. */
export function isFromTelegram(credentials: ChatCredentials, headers: Headers): boolean {
  const given = headers.get("x-telegram-bot-api-secret-token");
  return given !== null && credentials.webhookSecret !== undefined && sameText(given, credentials.webhookSecret);
}

const Text = Type.Optional(Type.String());
const Whole = Type.Optional(Type.Integer({ minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER }));
const Flag = Type.Optional(Type.Boolean());
const Person = Type.Optional(Type.Object({ id: Whole, is_bot: Flag }));
const Entities = Type.Optional(Type.Array(Type.Object({ type: Text, offset: Whole, length: Whole, user: Person })));

const Message = Type.Object({
  message_id: Whole,
  message_thread_id: Whole,
  is_topic_message: Flag,
  business_connection_id: Type.Optional(ChatId),
  sender_business_bot: Person,
  from: Person,
  chat: Type.Optional(Type.Object({ id: Whole, type: Text })),
  reply_to_message: Type.Optional(Type.Object({ from: Person })),
  text: Text,
  caption: Text,
  entities: Entities,
  caption_entities: Entities,
});
type Message = Static<typeof Message>;

const Press = Type.Object({
  id: Type.Optional(ChatId),
  data: Text,
  from: Type.Optional(Type.Unknown()),
  message: Type.Optional(Type.Object({ chat: Type.Optional(Type.Object({ id: Whole })) })),
});

/** The parts of Telegram's updates that are read. An update that does not match is neither a message nor a press. */
const Update = Type.Object({
  update_id: Whole,
  message: Type.Optional(Message),
  business_message: Type.Optional(Message),
  callback_query: Type.Optional(Press),
});
type Update = Static<typeof Update>;
const updates = TypeCompiler.Compile(Update);

/** Reads a verified update. Throws `SyntaxError`. */
export function readTelegram(bot: ReceivingBot, body: Uint8Array): ReadWebhook {
  const update = JSON.parse(new TextDecoder().decode(body)) as unknown;
  if (typeof update !== "object" || update === null) throw new SyntaxError("Not an update of Telegram's.");
  return { incoming: updates.Check(update) ? incomingOf(bot, update) : null, responseBody: null };
}

function incomingOf(bot: ReceivingBot, update: Update): Incoming | null {
  if (update.callback_query !== undefined) return pressOf(bot, update.callback_query);
  const business = update.business_message !== undefined;
  if (business && bot.configuration.businessMode !== true) return null;
  const message = update.business_message ?? update.message;
  return message === undefined ? null : messageOf(bot, message, update.update_id ?? 0, business);
}

/** Returns a private message, or in a group a mention of the bot or a reply to it; null for everything else. */
function messageOf(bot: ReceivingBot, message: Message, updateId: number, business: boolean): Incoming | null {
  const { from, chat, message_id } = message;
  if (from?.id === undefined || chat?.id === undefined || message_id === undefined) return null;
  if (from.is_bot === true || String(from.id) === bot.identity.botUserId) return null;
  if (business && (message.sender_business_bot !== undefined || from.id !== chat.id)) return null;
  const isPrivate = chat.type === "private";
  const isGroup = chat.type === "group" || chat.type === "supergroup";
  if (!isPrivate && !(isGroup && isAddressed(bot, message))) return null;
  if (!isAllowed(bot, chat.id)) return null;
  const text = withoutMention(bot, message).trim();
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
    author: isPrivate ? null : String(from.id),
    text,
  };
}

function pressOf(bot: ReceivingBot, query: Static<typeof Press>): Incoming | null {
  const [, action, approvalId] = /^(approve|deny):([\x21-\x7e]+)$/.exec(query.data ?? "") ?? [];
  const chat = query.message?.chat?.id;
  if (approvalId === undefined || chat === undefined || !isAllowed(bot, chat)) return null;
  const pressId = query.id ?? null;
  const { id, first_name, last_name } = (query.from ?? {}) as Partial<
    Record<"id" | "first_name" | "last_name", unknown>
  >;
  const person = personOf(id, first_name, last_name);
  return { kind: "press", approvalId, approved: action === "approve", channel: String(chat), pressId, person };
}

function isAddressed(bot: ReceivingBot, message: Message): boolean {
  if (String(message.reply_to_message?.from?.id) === bot.identity.botUserId) return true;
  return mentionsOf(bot, message).length > 0;
}

/** Returns what a person wrote, as text or below a picture, cut to the limit. */
function writtenIn({ text, caption }: Message): string {
  return withinLimit(text ?? caption ?? "");
}

/** The places where a message mentions the bot. Offsets and lengths count UTF-16 units. */
function mentionsOf({ identity, botName }: ReceivingBot, message: Message): { start: number; end: number }[] {
  const text = writtenIn(message);
  const name = botName === null ? null : `@${botName.toLowerCase()}`;
  return (message.entities ?? message.caption_entities ?? []).flatMap(({ type, offset = 0, length = 0, user }) => {
    const end = offset + length;
    if (type === "text_mention") return String(user?.id) === identity.botUserId ? [{ start: offset, end }] : [];
    if (name === null || (type !== "mention" && type !== "bot_command") || length < name.length) return [];
    // Only the mention is removed from `/command@bot`. A body has room for 20,000 entities, so no more of the text than the name is read for each.
    const start = end - name.length;
    return start >= 0 && text.slice(start, end).toLowerCase() === name ? [{ start, end }] : [];
  });
}

function withoutMention(bot: ReceivingBot, message: Message): string {
  const text = writtenIn(message);
  const kept: string[] = [];
  let at = 0;
  for (const { start, end } of mentionsOf(bot, message).sort((left, right) => left.start - right.start)) {
    if (start > at) kept.push(text.slice(at, start));
    at = Math.max(at, end);
  }
  return kept.join("") + text.slice(at);
}

function isAllowed({ configuration: { chatIds } }: ReceivingBot, chat: number): boolean {
  return chatIds === undefined || chatIds.length === 0 || chatIds.includes(String(chat));
}
