import { Type } from "@sinclair/typebox";
import { Component, example } from "../kernel/http/component.ts";
import type { PageSize } from "../kernel/http/page.ts";
import { Change, Closed, listPartQuery, Name, OneOf, pageQueryOf } from "../kernel/http/request-fields.ts";
import { Id } from "../kernel/ids.ts";

/** Pages of a connection's deliveries. */
export const deliveryPage: PageSize = { max: 100, default: 100 };
/** Pages of the deliveries that wait for a person. */
export const attentionPage: PageSize = { max: 100, default: 50 };
/** Chat connections that a tenant may have at once. */
export const chatConnectionsPerTenantMax = 20;
/** Channels or chats that an allow-list may name. */
const allowListMax = 100;
/** All requests to a platform during one operation take at most this long; less than a database transaction may. */
export const platformCheckMs = 6_500;
/** A webhook request has at most so many bytes. */
export const webhookBytesMax = 1024 * 1024;
/** Webhook requests that a connection takes a second, over all HTTP processes; further ones are 429, and the platforms repeat them. */
export const webhooksPerSecondMax = 50;
/** A message of a chat has at most so many characters (Unicode code points); the rest is cut off before anything reads it. */
export const chatTextCharactersMax = 40_000;
/** Messages that may wait in one thread; further ones are dropped. */
export const inboxRowsMax = 1_000;
/** Showing that an answer is under way takes at most this long. */
export const showWorkMs = 3_000;
/** Posting one message takes at most this long. */
export const postTimeoutMs = 15_000;
/** The sender of an older claim is lost, even if its worker lives. */
export const claimMs = 30_000;
/** A delivery that the platform keeps asking to send later fails after this long. */
export const putOffMsMax = 24 * 60 * 60 * 1000;
/** A delivery that never reached the platform fails after this long. */
export const unreachableMsMax = 60 * 60 * 1000;
/** Events are kept this long, in hours; both platforms stop repeating an event far earlier. */
export const eventsKeepHours = 72;

/** The platforms by their labels, as the interface names them. */
export const chatPlatforms = ["chat_a", "chat_b"] as const;
export type ChatPlatformName = (typeof chatPlatforms)[number];

/** The platforms' own names, accepted in requests; responses show the label. */
const aliases = { slack: "chat_a", telegram: "chat_b" } as const satisfies Record<string, ChatPlatformName>;

/** Returns the label of a platform that a label or its own name means. */
export function platformNamed(name: ChatPlatformName | keyof typeof aliases): ChatPlatformName {
  return name === "slack" || name === "telegram" ? aliases[name] : name;
}

const Platform = OneOf(...chatPlatforms, ...(Object.keys(aliases) as (keyof typeof aliases)[]));

const Secret = Type.String({
  minLength: 1,
  maxLength: 512,
  pattern: "^[\\x21-\\x7e]+$",
  errorMessage: "must be 1 to 512 visible characters",
});

export const ChatConnectionCreate = Component("ChatConnectionCreate", {
  name: example(Name, "Support in Slack"),
  agentId: Id("agent"),
  platform: Platform,
  credentials: Closed({
    botToken: example(Secret, "xoxb-0123456789"),
    signingSecret: Type.Optional(example(Secret, "0123456789abcdef")),
  }),
});

export const ChatConnectionListQuery = Closed(listPartQuery);

const AllowList = Type.Array(Type.String({ minLength: 1, maxLength: 64, pattern: "^[\\x21-\\x7e]+$" }), {
  maxItems: allowListMax,
  uniqueItems: true,
});

export const ChatConnectionPatch = Change("ChatConnectionUpdate", {
  name: example(Name, "Support in Slack"),
  configuration: Closed({
    platform: Type.Optional(Platform),
    channelIds: Type.Optional(AllowList),
    chatIds: Type.Optional(AllowList),
    businessMode: Type.Optional(Type.Boolean()),
    approverIds: Type.Optional(AllowList),
  }),
});

export const ChatDeliveryRepair = Component("ChatDeliveryRepair", {
  expectedAttempt: Type.Integer({ minimum: 0, maximum: 99 }),
  previousSenderStopped: Type.Literal(true, { errorMessage: "must be true" }),
  acceptDuplicateRisk: Type.Literal(true, { errorMessage: "must be true" }),
});

/** The query of a connection's deliveries; see `readLimit`. */
export const ChatDeliveryQuery = Closed(pageQueryOf(deliveryPage));

export const ChatAttentionQuery = Closed({
  ...pageQueryOf(attentionPage),
  status: Type.Optional(Type.String({ maxLength: 64 })),
  since: Type.Optional(
    Type.String({
      maxLength: 64,
      pattern: "^\\d{4}-\\d{2}-\\d{2}[Tt]\\d{2}:\\d{2}(:\\d{2}(\\.\\d+)?)?([Zz]|[+-]\\d{2}:\\d{2})$",
      errorMessage: "must be an ISO 8601 date-time with an offset",
    }),
  ),
});

/** An id that a platform sends. Anything else could not be stored, or would not fit into an index. */
export const ChatId = Type.String({ maxLength: 256, pattern: "^[\\x21-\\x7e]+$" });

/** Who the bot is, by the platform's ids. */
export interface BotIdentity {
  readonly botId: string | null;
  readonly botUserId: string | null;
  readonly teamId: string | null;
  readonly appId: string | null;
}

/** The result of a check; `unknown` when the platform did not tell. */
export type CheckStatus = "pass" | "fail" | "unknown";

/** One check of a connection; `subject` is the channel that it is about. */
export interface HealthCheck {
  readonly code: "bot_identity" | "channel_membership" | "webhook_url";
  readonly status: CheckStatus;
  readonly subject?: string;
}

/** The results of the last check of a connection. */
export interface ChatHealth {
  readonly checkedAt: string | null;
  readonly tokenValid: boolean;
  readonly identityVerified: boolean;
  readonly checks: readonly HealthCheck[];
}

/** What a connection serves; it holds the fields of its own platform only, and who may decide what others asked for. */
export interface ChatConfiguration {
  readonly channelIds?: readonly string[];
  readonly chatIds?: readonly string[];
  readonly businessMode?: boolean;
  readonly approverIds?: readonly string[];
}

/** The secrets of a connection. This service generates Telegram's webhook secret. */
export interface ChatCredentials {
  readonly botToken: string;
  readonly signingSecret?: string;
  readonly webhookSecret?: string;
}

/** Where a thread is: a channel or chat, a thread or topic in it, and the business connection through which it is reached. */
export interface ChatAddress {
  readonly channel: string;
  readonly thread: string | null;
  readonly business: string | null;
}

/** The statuses of a delivery; their moves are in `delivery-states.ts`. */
export type ChatDeliveryStatus = "pending" | "confirmed" | "failed" | "ambiguous";

/** A message that the platform accepted, and the attempt that posted it. */
export interface MessageReceipt {
  readonly attempt: number;
  readonly messageId: string;
}
