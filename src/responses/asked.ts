import type { Principal } from "../kernel/auth/authenticator.ts";
import type { IdempotencyKey } from "../kernel/http/idempotency.ts";
import type { ReadInput } from "./input.ts";
import type { AskedOptions } from "./options.ts";
import type { Previous } from "./previous.ts";
import type { Echo } from "./resource.ts";
import type { CreateBody } from "./schema.ts";

/** A request for a response. */
export interface ResponseRequest {
  readonly principal: Principal;
  readonly body: CreateBody;
  readonly requestId: string;
  readonly key: IdempotencyKey | null;
}

/** A request that was read, and what it goes on from. */
export interface AskedResponse extends ResponseRequest {
  readonly asked: AskedOptions;
  readonly input: ReadInput;
  readonly echo: Echo;
  /** Null: it begins a conversation. */
  readonly previous: Previous | null;
}
