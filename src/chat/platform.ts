import type { BotIdentity, ChatAddress, ChatConfiguration, ChatCredentials, CheckStatus } from "./schema.ts";

/** Who a token's bot is. */
export interface KnownBot extends BotIdentity {
  /** Names the installation: one connection has it, over all tenants. */
  readonly installation: string;
  /** What people call the bot, where mentions go by name. */
  readonly botName: string | null;
}

/** One message to post. */
export interface OutgoingMessage {
  /** Markdown, as models write it. */
  readonly text: string;
  /** `native`: with the platform's own formatting; `text`: the very characters. */
  readonly representation: "native" | "text";
  /** The approval that Approve and Deny buttons are for; null: no buttons. */
  readonly approvalId: string | null;
}

/** A message somebody sent to the bot. */
export interface IncomingMessage {
  readonly kind: "message";
  /** Names of the event and of the message: taken in only when all are new. */
  readonly keys: readonly string[];
  readonly threadKey: string;
  readonly address: ChatAddress;
  /** The platform's order within the thread. */
  readonly place: number;
  /** Whose the session is: the person in a private conversation, else the channel. */
  readonly owner: string;
  readonly text: string;
}

/** A press on a card's button. */
export interface IncomingPress {
  readonly kind: "press";
  readonly approvalId: string;
  readonly approved: boolean;
  readonly channel: string;
  /** What the platform wants acknowledged; null: nothing. */
  readonly pressId: string | null;
}

export type Incoming = IncomingMessage | IncomingPress;

/** What reading an event needs to know of its connection. */
export interface ReceivingBot {
  readonly identity: BotIdentity;
  readonly botName: string | null;
  readonly configuration: ChatConfiguration;
}

/** What a verified request says: something for the bot or nothing, and the body it is answered with. */
export interface ReadWebhook {
  readonly incoming: Incoming | null;
  readonly answer: unknown;
}

/** A chat platform in the words of this service. Whatever talks to it throws `PlatformError`. */
export interface ChatPlatform {
  /** Whether the webhook is ours to register (else a person enters it at the platform). */
  readonly registersWebhook: boolean;
  /** A message holds at most so many UTF-16 units. */
  readonly messageUnitsMax: number;

  identify(endpoint: Endpoint, credentials: ChatCredentials): Promise<KnownBot>;
  register(endpoint: Endpoint, credentials: ChatCredentials, url: string, businessMode: boolean): Promise<void>;
  unregister(endpoint: Endpoint, credentials: ChatCredentials): Promise<void>;
  /** Whether the platform knows this webhook; `unknown` where it does not tell. */
  webhookStatus(endpoint: Endpoint, credentials: ChatCredentials, url: string): Promise<CheckStatus>;
  /** Whether the bot is in a channel. */
  membership(endpoint: Endpoint, credentials: ChatCredentials, bot: BotIdentity, channel: string): Promise<CheckStatus>;

  /** Whether a request is the platform's, by its headers and its very bytes. */
  verify(credentials: ChatCredentials, headers: Headers, body: Uint8Array): boolean;
  /** Reads a verified request. Throws `SyntaxError` when it is none of the platform's kinds. */
  read(listener: ReceivingBot, body: Uint8Array, mediaType: string): ReadWebhook;

  /** Whether a piece of Markdown can be one message, in either representation. */
  fits(text: string): boolean;
  /** Posts a message once, without trying again, and answers its id. */
  post(endpoint: Endpoint, credentials: ChatCredentials, to: ChatAddress, message: OutgoingMessage): Promise<string>;
  /** Changes a posted message; its buttons go when the new one has none. */
  edit(
    endpoint: Endpoint,
    credentials: ChatCredentials,
    to: ChatAddress,
    messageId: string,
    message: OutgoingMessage,
  ): Promise<void>;
  /** Tells whoever pressed a button that it was noticed. */
  acknowledge(endpoint: Endpoint, credentials: ChatCredentials, pressId: string): Promise<void>;
}

/** Where a platform is reached, and until when. */
export interface Endpoint {
  readonly url: string;
  readonly signal: AbortSignal;
}

/**
 * What a failed call means for what it was to do:
 * `refused` the platform will not do it; `unformatted` it refuses the formatting;
 * `limited` not now; `unreachable` nothing was sent; `unsure` it may have been done.
 */
export type FailureKind = "refused" | "unformatted" | "limited" | "unreachable" | "unsure";

/** A chat platform did not do what it was asked. `code` is short and free of secrets. */
export class PlatformError extends Error {
  override readonly name = "PlatformError";
  readonly kind: FailureKind;
  readonly code: string;
  /** Of `limited`: how long the platform asks to wait. */
  readonly retryAfterMs: number | null;

  constructor(kind: FailureKind, code: string, retryAfterMs: number | null = null) {
    super(`The chat platform call ended ${kind}: ${code}.`);
    this.kind = kind;
    this.code = code;
    this.retryAfterMs = retryAfterMs;
  }
}
