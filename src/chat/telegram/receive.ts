import { idAt, type SentFields, sentFields, sentItems, textAt, wholeAt } from "../../kernel/outbound/sent-fields.ts";
import { sameText } from "../../kernel/seal.ts";
import { isBlank } from "../../messages/blank.ts";
import { type Incoming, personOf, type ReadWebhook, type ReceivingBot } from "../platform.ts";
import type { ChatCredentials } from "../schema.ts";
import { withinLimit } from "../text-limit.ts";

/** Returns whether a request carries the secret that the webhook was registered with. */
export function isFromTelegram(credentials: ChatCredentials, headers: Headers): boolean {
  const given = headers.get("x-telegram-bot-api-secret-token");
  return given !== null && credentials.webhookSecret !== undefined && sameText(given, credentials.webhookSecret);
}

/** Reads a verified update. Throws `SyntaxError`. */
export function readTelegram(bot: ReceivingBot, body: Uint8Array): ReadWebhook {
  const update = JSON.parse(new TextDecoder().decode(body)) as unknown;
  if (typeof update !== "object" || update === null) throw new SyntaxError("Not an update of Telegram's.");
  return { incoming: incomingOf(bot, sentFields(update) ?? {}), responseBody: null };
}

function incomingOf(bot: ReceivingBot, update: SentFields): Incoming | null {
  const query = sentFields(update.callback_query);
  if (query !== null) return pressOf(bot, query);
  const ofBusiness = sentFields(update.business_message);
  if (ofBusiness !== null && bot.configuration.businessMode !== true) return null;
  const message = ofBusiness ?? sentFields(update.message);
  if (message === null) return null;
  return moveOf(bot, message) ?? messageOf(bot, message, wholeAt(update.update_id) ?? 0, ofBusiness !== null);
}

/** Returns the move of a group that became a supergroup, which the old and the new one tell. */
function moveOf(bot: ReceivingBot, message: SentFields): Incoming | null {
  const chat = wholeAt(sentFields(message.chat)?.id);
  const [from, to] = [wholeAt(message.migrate_from_chat_id) ?? chat, wholeAt(message.migrate_to_chat_id) ?? chat];
  if (from === null || to === null || from === to || !isAllowed(bot, from)) return null;
  return { kind: "moved", from: String(from), to: String(to) };
}

/**
 * What a person sends instead of words. A message with none of these and without a text
 * is one of Telegram's own, such as that somebody joined.
 */
const contents = [
  ...["animation", "audio", "checklist", "contact", "dice", "document", "game", "location", "paid_media", "photo"],
  ...["poll", "sticker", "story", "venue", "video", "video_note", "voice", "invoice"],
];
/** Where a person's words stand. */
const wordFields = ["text", "caption"];

/** Whether a person sent something, also where it cannot be read: a blank text, or one that is none. */
function hasContent(message: SentFields): boolean {
  const isThere = (name: string) => message[name] !== undefined && message[name] !== null;
  return contents.some((name) => typeof message[name] === "object" && isThere(name)) || wordFields.some(isThere);
}

/** Returns a private message, or in a group a mention of the bot or a reply to it; null for everything else. */
function messageOf(bot: ReceivingBot, message: SentFields, updateId: number, business: boolean): Incoming | null {
  const chat = sentFields(message.chat);
  const chatId = wholeAt(chat?.id);
  const messageId = wholeAt(message.message_id);
  const sender = senderOf(message);
  if (chat === null || chatId === null || messageId === null || sender === null) return null;
  if (String(sender) === bot.identity.botUserId) return null;
  if (business && (sentFields(message.sender_business_bot) !== null || sender !== chatId)) return null;
  const isPrivate = chat.type === "private";
  const isGroup = chat.type === "group" || chat.type === "supergroup";
  if (!isPrivate && !(isGroup && isAddressed(bot, message))) return null;
  if (!isAllowed(bot, chatId)) return null;
  const written = withoutMention(bot, message).trim();
  const text = isBlank(written) ? "" : written;
  if (text === "" && !(isPrivate && hasContent(message))) return null;
  const channel = String(chatId);
  const topic = message.is_topic_message === true ? wholeAt(message.message_thread_id) : null;
  const businessId = business ? idAt(message.business_connection_id) : null;
  const place = topic === null ? channel : `${channel}:${topic}`;
  return {
    kind: "message",
    keys: [`update:${updateId}`, `message:${businessId ?? ""}:${channel}:${messageId}`],
    threadKey: businessId === null ? place : `${businessId}:${place}`,
    address: { channel, thread: topic === null ? null : String(topic), business: businessId },
    place: messageId,
    owner: isPrivate ? String(sender) : channel,
    author: isPrivate ? null : String(sender),
    text,
  };
}

/**
 * Returns who wrote a message; null for other bots. People who write as their group
 * (anonymous admins) or as a channel have a bot of Telegram's in `from`, and in
 * `sender_chat` what they write as: no person, so that nobody decides by it.
 */
function senderOf(message: SentFields): number | null {
  const from = sentFields(message.from);
  const writesAs = wholeAt(sentFields(message.sender_chat)?.id);
  if (writesAs !== null && (from === null || from.is_bot === true)) return writesAs;
  const id = wholeAt(from?.id);
  return from?.is_bot === true || id === null ? null : id;
}

function pressOf(bot: ReceivingBot, query: SentFields): Incoming | null {
  const [, action, approvalId] = /^(approve|deny):([\x21-\x7e]{1,100})$/.exec(textAt(query.data) ?? "") ?? [];
  const chat = wholeAt(sentFields(sentFields(query.message)?.chat)?.id);
  if (approvalId === undefined || chat === null || !isAllowed(bot, chat)) return null;
  const { id, first_name, last_name } = sentFields(query.from) ?? {};
  const person = personOf(id, first_name, last_name);
  const approved = action === "approve";
  return { kind: "press", approvalId, approved, channel: String(chat), pressId: idAt(query.id), person };
}

function isAddressed(bot: ReceivingBot, message: SentFields): boolean {
  const repliedTo = wholeAt(sentFields(sentFields(message.reply_to_message)?.from)?.id);
  return (repliedTo !== null && String(repliedTo) === bot.identity.botUserId) || mentionsOf(bot, message).length > 0;
}

/** Returns what a person wrote, as text, below a picture or as a question to all, cut to the limit. */
function writtenIn({ text, caption, poll, checklist, venue, location, contact, game, invoice }: SentFields): string {
  const [asked, listed, place] = [sentFields(poll), sentFields(checklist), sentFields(venue)];
  const [at, person, shown] = [sentFields(location), sentFields(contact), sentFields(game) ?? sentFields(invoice)];
  const words = [
    textAt(text) ?? textAt(caption),
    ...[asked?.question, listed?.title, place?.title, place?.address].map(textAt),
    ...[shown?.title, shown?.description, shown?.text].map(textAt),
    [person?.first_name, person?.last_name, person?.phone_number].map(textAt).filter(Boolean).join(" "),
    place === null && typeof at?.latitude === "number" && typeof at.longitude === "number"
      ? `Location: ${at.latitude}, ${at.longitude}`
      : null,
    ...[...sentItems(asked?.options), ...sentItems(listed?.tasks)]
      .map((item) => textAt(item.text))
      .map((item) => item && `- ${item}`),
  ];
  return withinLimit(words.filter(Boolean).join("\n"));
}

/** The places where a message mentions the bot. Offsets and lengths count UTF-16 units. */
function mentionsOf({ identity, botName }: ReceivingBot, message: SentFields): { start: number; end: number }[] {
  const text = writtenIn(message);
  const name = botName === null ? null : `@${botName.toLowerCase()}`;
  const list = textAt(message.text) === null ? (message.caption_entities ?? message.entities) : message.entities;
  const named = name === null || isEntityList(list) ? [] : namesIn(text, name);
  const marked = sentItems(list).flatMap(({ type, user, ...at }) => {
    const [start, length] = [wholeAt(at.offset) ?? 0, wholeAt(at.length) ?? 0];
    const end = start + length;
    if (type === "text_mention")
      return String(wholeAt(sentFields(user)?.id)) === identity.botUserId ? [{ start, end }] : [];
    if (name === null || (type !== "mention" && type !== "bot_command") || length < name.length) return [];
    // Only the mention is removed from `/command@bot`. A body has room for 20,000 entities, so no more of the text than the name is read for each.
    const from = end - name.length;
    return from >= 0 && text.slice(from, end).toLowerCase() === name ? [{ start: from, end }] : [];
  });
  return [...marked, ...named];
}

/** Whether a list says where a text has mentions; one that cannot be read says nothing about them. */
function isEntityList(list: unknown): boolean {
  const isEntity = (item: SentFields | null) =>
    textAt(item?.type) !== null && wholeAt(item?.offset) !== null && wholeAt(item?.length) !== null;
  return Array.isArray(list) && list.every((item) => isEntity(sentFields(item)));
}

/** The places where a name stands in a text and is not a part of another. */
function namesIn(text: string, name: string): { start: number; end: number }[] {
  const whole = new RegExp(`(?<!\\w)${name.replaceAll(/\W/g, "\\$&")}(?!\\w)`, "gi");
  return [...text.matchAll(whole)].map(({ index }) => ({ start: index, end: index + name.length }));
}

function withoutMention(bot: ReceivingBot, message: SentFields): string {
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
