import type { Ctx } from "../../kernel/context.ts";
import type { IdOf } from "../../kernel/ids.ts";
import type { LogKey } from "../../kernel/relay/relay.ts";
import type { UiMessage } from "../../messages/ui-message.ts";
import type { TurnWatch } from "./watch.ts";

/** A log to follow: a turn's, or a continuation's. */
export interface FollowedLog extends LogKey {
  readonly turnId: IdOf<"turn">;
  readonly assistantMessageId: IdOf<"message">;
  /** The turn was accepted just now, so that there is no turn log of it yet, or a very short one. */
  readonly isNew?: boolean;
  /** Of a continuation: the message as it was when the turn stopped to ask, where a reader was given that. */
  readonly before?: UiMessage;
}

/** What following a log needs of a process. */
export type Following = Pick<Ctx, "sql" | "relay" | "log"> & { readonly watch: TurnWatch };
