import type { BotIdentity, ChatAddress, ChatConfiguration, ChatCredentials, CheckStatus } from "./schema.ts";

/** The bot that a token belongs to. */
export interface KnownBot extends BotIdentity {
  /** Names the installation. It is unique: one connection has it, over all tenants. */
  readonly installation: string;
  /** The name that people mention the bot by; null where mentions go by id. */
  readonly botName: string | null;
}

/** One message to post. */
export interface OutgoingMessage {
  /** Markdown, as models write it. */
  readonly text: string;
  /** `native`: with the platform's own formatting; `text`: the characters as they are. */
  readonly representation: "native" | "text";
  /** The approval that Approve and Deny buttons are for; null: no buttons. */
  readonly approvalId: string | null;
}

/** A message somebody sent to the bot. */
export interface IncomingMessage {
  readonly kind: "message";
  /** Names of the event and of the message: received only when all are new. */
  readonly keys: readonly string[];
  readonly threadKey: string;
  readonly address: ChatAddress;
  /** Orders the thread's messages, as the platform does. */
  readonly place: number;
  /** Who the session's end user is: the person in a private conversation, else the channel. */
  readonly owner: string;
  /** The person who wrote it, by the platform's id; null in a private conversation, where nobody else sees what is posted. */
  readonly author: string | null;
  /** Empty where nothing of a direct message can be read: a sticker, a recording. */
  readonly text: string;
}

/** A conversation that has another id at the platform from now on. */
export interface IncomingMove {
  readonly kind: "moved";
  readonly from: string;
  readonly to: string;
}

/** A press on a card's button. */
export interface IncomingPress {
  readonly kind: "press";
  readonly approvalId: string;
  readonly approved: boolean;
  readonly channel: string;
  /** What the platform expects to be acknowledged; null: nothing. */
  readonly pressId: string | null;
  readonly person: PressingPerson;
}

/** Who pressed a button, as far as the platform says. */
export interface PressingPerson {
  readonly id: string | null;
  readonly name: string | null;
}

/** Ids and names of people have at most so many UTF-16 units here. */
const personUnitsMax = 80;

/** Returns a person of these words; what is no text, or empty, is not known. */
export function personOf(id: unknown, ...names: readonly unknown[]): PressingPerson {
  const name = names.filter((part) => typeof part === "string" && part.trim() !== "").join(" ");
  return { id: plain(typeof id === "number" ? String(id) : id), name: plain(name) };
}

function plain(value: unknown): string | null {
  if (typeof value !== "string") return null;
  const text = value
    .replace(/[\p{Cc}\s]+/gu, " ")
    .trim()
    .slice(0, personUnitsMax)
    .toWellFormed();
  return text === "" ? null : text;
}

export type Incoming = IncomingMessage | IncomingPress | IncomingMove;

/** What reading a request needs to know of its connection. */
export interface ReceivingBot {
  readonly identity: BotIdentity;
  readonly botName: string | null;
  readonly configuration: ChatConfiguration;
}

/** What a verified request holds: something for the bot or nothing, and the body of the response to it (null: none). */
export interface ReadWebhook {
  readonly incoming: Incoming | null;
  readonly responseBody: unknown;
}

/** A chat platform, in this service's words: what is the same for all of its accounts. */
export interface ChatPlatform {
  /** Whether this service registers the webhook; else a person enters it at the platform. */
  readonly registersWebhook: boolean;
  /** A message holds at most so many UTF-16 units. */
  readonly messageUnitsMax: number;

  /** Whether a request is the platform's, by its headers and its exact bytes. Sends nothing. */
  verify(credentials: ChatCredentials, headers: Headers, body: Uint8Array): boolean;
  /** Reads a verified request. Throws `SyntaxError` when it is none of the platform's kinds. */
  read(bot: ReceivingBot, body: Uint8Array, mediaType: string): ReadWebhook;
  /** Whether a piece of Markdown can be one message, in either representation. */
  fits(text: string): Promise<boolean>;
  /** The same for a message with buttons. */
  fitsCard(text: string): Promise<boolean>;

  /** Opens the account of a bot; nothing is sent yet. `openChat` chooses the platform. */
  open(endpoint: Endpoint, credentials: ChatCredentials): ChatAccount;
}

/** A bot's account at its platform. Each method is one request or a few; all of them reject with `PlatformError`. */
export interface ChatAccount {
  /** The bot that the credentials belong to. */
  identify(): Promise<KnownBot>;
  /** Registers the webhook; does nothing where a person enters it. */
  register(url: string, businessMode: boolean): Promise<void>;
  /** Removes the webhook; does nothing where a person enters it. */
  unregister(): Promise<void>;
  /** Whether the platform knows this webhook; `unknown` where it does not tell. */
  webhookStatus(url: string): Promise<CheckStatus>;
  /** Whether the bot is in a channel. Never rejects: what cannot be told is `unknown`. */
  membership(bot: BotIdentity, channel: string): Promise<CheckStatus>;
  /** Posts a message once, without trying again, and returns its id. */
  post(to: ChatAddress, message: OutgoingMessage): Promise<string>;
  /** Changes a posted message; its buttons go when the new one has none. */
  edit(to: ChatAddress, messageId: string, message: OutgoingMessage): Promise<void>;
  /** Confirms a press on a button to the person who pressed it, or tells that person alone why it decided nothing. */
  acknowledge(to: ChatAddress, press: AnsweredPress): Promise<void>;
  /** Shows in a conversation that an answer to this message is under way, until it is posted or the platform's own limit (Slack 2 minutes, Telegram 5 s). */
  showWork(to: ChatAddress, place: number): Promise<void>;
}

/** A press that is to be acknowledged. */
export interface AnsweredPress {
  /** What the platform expects to be acknowledged; null: nothing. */
  readonly pressId: string | null;
  /** Who may not press this card, and did; null: the press counted. */
  readonly refusedPerson: string | null;
}

/** What somebody is told who may not decide an approval. */
export const notYoursText = "Only the person who asked may decide this, or somebody who was named for it.";

/** Where a platform is reached, and the signal that ends every request to it. */
export interface Endpoint {
  readonly url: string;
  readonly signal: AbortSignal;
}

/**
 * What a failed request means for the work it was to do:
 *
 * - `refused`: the platform will not do it
 * - `unformatted`: the platform refuses the formatting
 * - `limited`: not now
 * - `unreachable`: nothing was sent
 * - `unsure`: it may have been done
 * - `moved`: nothing was done, because the conversation has another id now
 */
export type FailureKind = "refused" | "unformatted" | "limited" | "unreachable" | "unsure" | "moved";

/** A request to a chat platform failed. `code` is short and holds no secrets. */
export class PlatformError extends Error {
  override readonly name = "PlatformError";
  readonly kind: FailureKind;
  readonly code: string;
  /** For `limited`: how long the platform asks to wait. */
  readonly retryAfterMs: number | null;
  /** For `moved`: the conversation's id from now on. */
  readonly movedTo: string | null;

  constructor(kind: FailureKind, code: string, retryAfterMs: number | null = null, movedTo: string | null = null) {
    super(`The chat platform call ended ${kind}: ${code}.`);
    this.kind = kind;
    this.code = code;
    this.retryAfterMs = retryAfterMs;
    this.movedTo = movedTo;
  }
}
