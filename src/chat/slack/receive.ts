import { createHmac, timingSafeEqual } from "node:crypto";
import { idAt, type SentFields, sentFields, sentItems, textAt } from "../../kernel/outbound/sent-fields.ts";
import { isBlank } from "../../messages/blank.ts";
import { type Incoming, personOf, type ReadWebhook, type ReceivingBot } from "../platform.ts";
import type { ChatCredentials } from "../schema.ts";
import { withinLimit } from "../text-limit.ts";
import { textBesides } from "./blocks.ts";
import { plainText } from "./format.ts";

/** A request whose signature is older, or further in the future, is refused. */
const skewSecondsMax = 5 * 60;

/** Returns whether Slack signed exactly these bytes, within five minutes: HMAC-SHA-256 over `v0:timestamp:body`. */
export function isSignedBySlack(credentials: ChatCredentials, headers: Headers, body: Uint8Array): boolean {
  const timestamp = headers.get("x-slack-request-timestamp") ?? "";
  if (!/^\d{1,12}$/.test(timestamp)) return false;
  if (Math.abs(Date.now() / 1000 - Number(timestamp)) > skewSecondsMax) return false;
  const made = createHmac("sha256", credentials.signingSecret ?? "")
    .update(`v0:${timestamp}:`)
    .update(body)
    .digest();
  const given = /^v0=([0-9a-f]{64})$/.exec(headers.get("x-slack-signature") ?? "")?.[1];
  return (
    credentials.signingSecret !== undefined && given !== undefined && timingSafeEqual(made, Buffer.from(given, "hex"))
  );
}

/** Reads a verified request: an event, or a press on a button, which is sent as a form. Throws `SyntaxError`. */
export function readSlack(bot: ReceivingBot, body: Uint8Array, mediaType: string): ReadWebhook {
  const text = new TextDecoder().decode(body);
  const isForm = mediaType === "application/x-www-form-urlencoded";
  const sent = JSON.parse((isForm ? new URLSearchParams(text).get("payload") : text) ?? "") as unknown;
  if (typeof sent !== "object" || sent === null) throw new SyntaxError("Not a payload of Slack's.");
  const payload = sentFields(sent) ?? {};
  if (payload.type === "url_verification") return { incoming: null, responseBody: { challenge: payload.challenge } };
  return { incoming: isOurs(bot, payload) ? incomingOf(bot, payload) : null, responseBody: null };
}

/** Whether a payload is for this installation: one app, with one signing secret, may be installed in many workspaces. */
function isOurs({ identity }: ReceivingBot, payload: SentFields): boolean {
  const named = [payload, ...sentItems(payload.authorizations)]
    .flatMap(({ team_id, enterprise_id }) => [idAt(team_id), idAt(enterprise_id)])
    .concat(idAt(sentFields(payload.team)?.id))
    .filter((id) => id !== null);
  return named.length === 0 || identity.teamId === null || named.includes(identity.teamId);
}

function incomingOf(bot: ReceivingBot, payload: SentFields): Incoming | null {
  if (payload.type === "block_actions") return pressOf(bot, payload);
  const event = sentFields(payload.event);
  if (payload.type !== "event_callback" || event === null) return null;
  if (event.type === "channel_id_changed") return moveOf(bot, event);
  return messageOf(bot, event, idAt(payload.event_id));
}

/** Returns the move of a channel that has another id now, as after it was shared or made private. */
function moveOf({ configuration }: ReceivingBot, event: SentFields): Incoming | null {
  const from = idAt(event.old_channel_id);
  const to = idAt(event.new_channel_id);
  return from === null || to === null || !isAllowed(configuration.channelIds, from)
    ? null
    : { kind: "moved", from, to };
}

/** Subtypes of messages that people write; all others are edits, deletions, joins and messages of other bots. */
const writtenSubtypes: ReadonlySet<unknown> = new Set(["file_share", "thread_broadcast", "me_message"]);
/** Seconds since 1970 with microseconds; it orders a thread. */
const timestamp = /^\d{1,10}(\.\d{1,6})?$/;

/** Returns a mention or a direct message; null for everything else, also for the bot's own messages and for edits. */
function messageOf(
  { identity, configuration }: ReceivingBot,
  event: SentFields,
  eventId: string | null,
): Incoming | null {
  const channel = idAt(event.channel);
  const user = idAt(event.user);
  const ts = textAt(event.ts);
  if (channel === null || user === null || ts === null || !timestamp.test(ts)) return null;
  if (textAt(event.subtype) !== null && !writtenSubtypes.has(event.subtype)) return null;
  if (sentFields(event.edited) !== null || event.hidden === true) return null;
  if (textAt(event.bot_id) !== null || user === identity.botUserId) return null;
  const said = textAt(event.text) ?? "";
  const written = withinLimit(isBlank(said) ? textBesides(event) : said);
  const direct = event.channel_type === "im" || channel.startsWith("D");
  const mentioned = identity.botUserId !== null && mentions(written, identity.botUserId);
  if (event.type !== "app_mention" && !(event.type === "message" && (direct || mentioned))) return null;
  if (!isAllowed(configuration.channelIds, channel)) return null;
  const plain = plainText(written, identity.botUserId);
  const text = isBlank(plain) ? "" : plain;
  // Where others talk too, nothing is said to a message of which nothing can be read.
  if (text === "" && !direct) return null;
  // A direct conversation is one thread; in a channel each message begins a thread.
  const thread = idAt(event.thread_ts) ?? (direct ? null : ts);
  return {
    kind: "message",
    keys: [`event:${eventId ?? `${channel}:${ts}:${event.type}`}`, `message:${channel}:${ts}`],
    threadKey: thread === null ? channel : `${channel}:${thread}`,
    address: { channel, thread, business: null },
    place: Math.round(Number(ts) * 1_000_000) || 0,
    owner: direct ? user : channel,
    author: direct ? null : user,
    text,
  };
}

/** Whether a text mentions a user. Another user's id may begin with the same characters. */
function mentions(text: string, userId: string): boolean {
  return text.includes(`<@${userId}>`) || text.includes(`<@${userId}|`);
}

function pressOf({ configuration }: ReceivingBot, payload: SentFields): Incoming | null {
  const action = sentItems(payload.actions).find(({ action_id }) => action_id === "approve" || action_id === "deny");
  const approvalId = idAt(action?.value);
  const channel = idAt(sentFields(payload.channel)?.id);
  if (action === undefined || approvalId === null || channel === null) return null;
  if (!isAllowed(configuration.channelIds, channel)) return null;
  const approved = action.action_id === "approve";
  const { id, name, username } = sentFields(payload.user) ?? {};
  const person = personOf(id, name ?? username);
  return { kind: "press", approvalId, approved, channel, pressId: null, person };
}

function isAllowed(list: readonly string[] | undefined, channel: string): boolean {
  return list === undefined || list.length === 0 || list.includes(channel);
}
