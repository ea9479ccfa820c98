import { createHmac, timingSafeEqual } from "node:crypto";
import { type Static, Type } from "@sinclair/typebox";
import { TypeCompiler } from "@sinclair/typebox/compiler";
import { Nullable } from "../../kernel/http/request-fields.ts";
import { type Incoming, personOf, type ReadWebhook, type ReceivingBot } from "../platform.ts";
import { type ChatCredentials, ChatId } from "../schema.ts";
import { withinLimit } from "../text-limit.ts";
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

const Text = Type.Optional(Type.String());
const PlainId = Type.Optional(ChatId);
const NullableId = Type.Optional(Nullable(ChatId));

const SlackEvent = Type.Object({
  type: Text,
  subtype: Text,
  channel: PlainId,
  channel_type: Text,
  user: PlainId,
  bot_id: Text,
  text: Text,
  // Seconds since 1970 with microseconds; it orders a thread.
  ts: Type.Optional(Type.String({ pattern: "^\\d{1,10}(\\.\\d{1,6})?$" })),
  thread_ts: PlainId,
  edited: Type.Optional(Type.Unknown()),
  hidden: Type.Optional(Type.Boolean()),
});
type SlackEvent = Static<typeof SlackEvent>;

/** The parts of Slack's payloads that are read. A payload that does not match is neither a message nor a press. */
const Payload = Type.Object({
  type: Text,
  event_id: PlainId,
  team_id: NullableId,
  enterprise_id: NullableId,
  authorizations: Type.Optional(Nullable(Type.Array(Type.Object({ team_id: NullableId, enterprise_id: NullableId })))),
  event: Type.Optional(SlackEvent),
  team: Type.Optional(Nullable(Type.Object({ id: PlainId }))),
  channel: Type.Optional(Type.Object({ id: PlainId })),
  user: Type.Optional(Type.Unknown()),
  actions: Type.Optional(Type.Array(Type.Object({ action_id: Text, value: PlainId }))),
});
type Payload = Static<typeof Payload>;
const payloads = TypeCompiler.Compile(Payload);

/** Reads a verified request: an event, or a press on a button, which is sent as a form. Throws `SyntaxError`. */
export function readSlack(bot: ReceivingBot, body: Uint8Array, mediaType: string): ReadWebhook {
  const text = new TextDecoder().decode(body);
  const isForm = mediaType === "application/x-www-form-urlencoded";
  const payload = JSON.parse((isForm ? new URLSearchParams(text).get("payload") : text) ?? "") as unknown;
  if (typeof payload !== "object" || payload === null) throw new SyntaxError("Not a payload of Slack's.");
  const { type, challenge } = payload as { type?: unknown; challenge?: unknown };
  if (type === "url_verification") return { incoming: null, responseBody: { challenge } };
  const isForBot = payloads.Check(payload) && isOurs(bot, payload);
  return { incoming: isForBot ? incomingOf(bot, payload) : null, responseBody: null };
}

/** Whether a payload is for this installation: one app, with one signing secret, may be installed in many workspaces. */
function isOurs({ identity }: ReceivingBot, payload: Payload): boolean {
  const named = [
    payload.team_id,
    payload.enterprise_id,
    payload.team?.id,
    ...(payload.authorizations ?? []).flatMap(({ team_id, enterprise_id }) => [team_id, enterprise_id]),
  ].filter((id) => typeof id === "string");
  return named.length === 0 || identity.teamId === null || named.includes(identity.teamId);
}

function incomingOf(bot: ReceivingBot, payload: Payload): Incoming | null {
  if (payload.type === "event_callback" && payload.event !== undefined)
    return messageOf(bot, payload.event, payload.event_id ?? "");
  if (payload.type === "block_actions") return pressOf(bot, payload);
  return null;
}

/** Subtypes of messages that people write; all others are edits, deletions, joins and messages of other bots. */
const writtenSubtypes = new Set([undefined, "file_share", "thread_broadcast"]);

/** Returns a mention or a direct message; null for everything else, also for the bot's own messages and for edits. */
function messageOf({ identity, configuration }: ReceivingBot, event: SlackEvent, eventId: string): Incoming | null {
  const { channel, user, ts, thread_ts } = event;
  if (channel === undefined || user === undefined || ts === undefined) return null;
  if (!writtenSubtypes.has(event.subtype) || event.edited !== undefined || event.hidden === true) return null;
  if (event.bot_id !== undefined || user === identity.botUserId) return null;
  const written = withinLimit(event.text ?? "");
  const direct = event.channel_type === "im" || channel.startsWith("D");
  const mentioned = identity.botUserId !== null && mentions(written, identity.botUserId);
  if (event.type !== "app_mention" && !(event.type === "message" && (direct || mentioned))) return null;
  if (!isAllowed(configuration.channelIds, channel)) return null;
  const text = plainText(written, identity.botUserId);
  if (text === "") return null;
  // A direct conversation is one thread; in a channel each message begins a thread.
  const thread = thread_ts ?? (direct ? null : ts);
  return {
    kind: "message",
    keys: [`event:${eventId || `${channel}:${ts}:${event.type}`}`, `message:${channel}:${ts}`],
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

function pressOf({ configuration }: ReceivingBot, { actions, channel, user }: Payload): Incoming | null {
  const action = actions?.find(({ action_id }) => action_id === "approve" || action_id === "deny");
  if (action?.value === undefined || channel?.id === undefined) return null;
  if (!isAllowed(configuration.channelIds, channel.id)) return null;
  const approved = action.action_id === "approve";
  const { id, name, username } = (user ?? {}) as { id?: unknown; name?: unknown; username?: unknown };
  const person = personOf(id, name ?? username);
  return { kind: "press", approvalId: action.value, approved, channel: channel.id, pressId: null, person };
}

function isAllowed(list: readonly string[] | undefined, channel: string): boolean {
  return list === undefined || list.length === 0 || list.includes(channel);
}
