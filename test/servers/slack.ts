import { createHmac, randomBytes } from "node:crypto";
import { type StandInRequest, type StandInResponse, StandInServer } from "./stand-in.ts";

/** A message as Slack keeps it. */
export interface SlackMessage {
  readonly channel: string;
  readonly thread: string | null;
  readonly ts: string;
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into blocks freely.
  blocks: any[];
  edits: number;
}

/** A bot of an app that is installed in a workspace. */
export interface SlackBot {
  readonly token: string;
  readonly signingSecret: string;
  readonly teamId: string;
  readonly botId: string;
  readonly userId: string;
  readonly appId: string;
}

const textUnitsMax = 40_000;
const blockUnitsMax = 3_000;

/** A stand-in for Slack: its Web API as it looks on the wire, and the requests it signs and sends. */
export class SlackServer extends StandInServer {
  readonly bots = new Map<string, SlackBot>();
  readonly messages: SlackMessage[] = [];
  /** What one person of a channel was told alone. */
  readonly whispers: Record<string, string>[] = [];
  /** The statuses that were shown while an answer was under way. */
  readonly statuses: Record<string, string>[] = [];
  /** Channels that exist, with whether the bot is in them; any other is `channel_not_found` where that is asked. */
  readonly channels = new Map<string, boolean>();
  #clock = 1_700_000_000_000_000;

  constructor() {
    super((request) => this.#reply(request));
  }

  /** The value for `CHAT_A_API_URL`. */
  get apiUrl(): string {
    return `${this.url}/api/`;
  }

  /** Installs a new bot. */
  install(): SlackBot {
    const id = randomBytes(5).toString("hex").toUpperCase();
    const bot = {
      token: `xoxb-${id}-secret`,
      signingSecret: randomBytes(16).toString("hex"),
      teamId: `T${id}`,
      botId: `B${id}`,
      userId: `U${id}`,
      appId: `A${id}`,
    };
    this.bots.set(bot.token, bot);
    return bot;
  }

  /** A new time stamp, later than all before. */
  ts(): string {
    this.#clock += 1_000;
    return `${Math.floor(this.#clock / 1_000_000)}.${String(this.#clock % 1_000_000).padStart(6, "0")}`;
  }

  #reply(request: StandInRequest): StandInResponse {
    const bot = this.bots.get(request.token);
    const fields = Object.fromEntries(new URLSearchParams(request.text));
    if (bot === undefined) return no("invalid_auth");
    switch (request.path) {
      case "/api/auth.test":
        return yes({
          url: "https://w.slack.com/",
          team: "W",
          user: "parley",
          team_id: bot.teamId,
          user_id: bot.userId,
          bot_id: bot.botId,
          is_enterprise_install: false,
        });
      case "/api/bots.info":
        return yes({ bot: { id: bot.botId, app_id: bot.appId, user_id: bot.userId, name: "parley" } });
      case "/api/conversations.info": {
        const member = this.channels.get(fields.channel ?? "");
        return member === undefined
          ? no("channel_not_found")
          : yes({ channel: { id: fields.channel, is_member: member } });
      }
      case "/api/chat.postMessage":
        return this.#post(fields);
      case "/api/chat.update":
        return this.#update(fields);
      case "/api/chat.postEphemeral":
        this.whispers.push(fields);
        return yes({ message_ts: this.ts() });
      case "/api/assistant.threads.setStatus":
        this.statuses.push(fields);
        return yes({});
      default:
        return no("unknown_method");
    }
  }

  #post(fields: Record<string, string>): StandInResponse {
    const { channel = "", text = "" } = fields;
    const blocks = JSON.parse(fields.blocks ?? "[]");
    const fault = faultOf(text, blocks);
    if (fault !== null) return no(fault);
    const message = { channel, thread: fields.thread_ts ?? null, ts: this.ts(), text, blocks, edits: 0 };
    this.messages.push(message);
    return yes({ channel, ts: message.ts, message: { text, ts: message.ts } });
  }

  #update(fields: Record<string, string>): StandInResponse {
    const message = this.messages.find(({ channel, ts }) => channel === fields.channel && ts === fields.ts);
    if (message === undefined) return no("message_not_found");
    const blocks = JSON.parse(fields.blocks ?? "[]");
    const fault = faultOf(fields.text ?? "", blocks);
    if (fault !== null) return no(fault);
    Object.assign(message, { text: fields.text ?? "", blocks, edits: message.edits + 1 });
    return yes({ channel: message.channel, ts: message.ts });
  }
}

// biome-ignore lint/suspicious/noExplicitAny: what a client sends may be anything.
function faultOf(text: string, blocks: any[]): string | null {
  if (text === "" && blocks.length === 0) return "no_text";
  if (text.length > textUnitsMax) return "msg_too_long";
  const broken = blocks.some((block) => (block.text?.text?.length ?? 0) > blockUnitsMax);
  return broken ? "invalid_blocks" : null;
}

const yes = (fields: object): StandInResponse => ({ status: 200, body: { ok: true, ...fields } });
const no = (error: string): StandInResponse => ({ status: 200, body: { ok: false, error } });

/** What Slack sends: the body with its signature. `ageSeconds` and `secret` make it a forgery. */
export function slackRequest(
  bot: SlackBot,
  url: string,
  payload: object,
  {
    form = false,
    ageSeconds = 0,
    secret = bot.signingSecret,
  }: { form?: boolean; ageSeconds?: number; secret?: string } = {},
): Request {
  const json = JSON.stringify(payload);
  const body = form ? new URLSearchParams({ payload: json }).toString() : json;
  const timestamp = String(Math.floor(Date.now() / 1000) - ageSeconds);
  const signature = createHmac("sha256", secret).update(`v0:${timestamp}:${body}`).digest("hex");
  return new Request(url, {
    method: "POST",
    body,
    headers: {
      "content-type": form ? "application/x-www-form-urlencoded" : "application/json",
      "x-slack-request-timestamp": timestamp,
      "x-slack-signature": `v0=${signature}`,
    },
  });
}

let events = 0;

/** The envelope of an event. */
export function slackEvent(bot: SlackBot, event: object, eventId?: string): object {
  events += 1;
  return {
    type: "event_callback",
    team_id: bot.teamId,
    api_app_id: bot.appId,
    event_id: eventId ?? `Ev${String(events).padStart(8, "0")}`,
    event_time: 1_700_000_000,
    authorizations: [{ team_id: bot.teamId, user_id: bot.userId, is_bot: true }],
    event,
  };
}

/** A press on a card's button. */
export function slackPress(
  bot: SlackBot,
  message: SlackMessage,
  actionId: "approve" | "deny",
  user = { id: "UPERSON", username: "ann.lee", name: "ann.lee" },
): object {
  const actions = message.blocks.find(({ type }) => type === "actions");
  const button = actions?.elements.find(({ action_id }: { action_id: string }) => action_id === actionId);
  return {
    type: "block_actions",
    team: { id: bot.teamId },
    api_app_id: bot.appId,
    user,
    channel: { id: message.channel },
    message: { ts: message.ts },
    actions: [{ type: "button", block_id: actions?.block_id, action_id: actionId, value: button?.value }],
  };
}
