import { Webhook } from "standardwebhooks";
import { type StandInRequest, type StandInResponse, StandInServer } from "./stand-in.ts";

/** An event as a receiver reads it. */
export interface ReceivedEvent {
  readonly type: string;
  readonly timestamp: string;
  readonly data: {
    readonly ids: Readonly<Record<string, string | null>>;
    readonly status: string;
    readonly event?: object;
  };
}

/** A message that a receiver got. */
export interface ReceivedMessage {
  /** The header `webhook-id`. */
  readonly id: string;
  readonly event: ReceivedEvent;
  readonly request: StandInRequest;
}

const fine: StandInResponse = { status: 200, body: {} };

/** A tenant's own server that webhooks are sent to, one path a webhook; it verifies with the library of Standard Webhooks. */
export class WebhookReceiver extends StandInServer {
  /** What the requests of a path get; left out: 200. */
  readonly responses = new Map<string, StandInResponse>();

  constructor() {
    super(({ path }) => this.responses.get(path) ?? fine);
  }

  /** The messages of a path, in the order in which they came. Throws when the signature of one is not by this secret. */
  received(path: string, secret: string): ReceivedMessage[] {
    return this.asked(path).map((request) => ({
      id: String(request.headers["webhook-id"]),
      event: new Webhook(secret).verify(request.text, request.headers as Record<string, string>) as ReceivedEvent,
      request,
    }));
  }
}
