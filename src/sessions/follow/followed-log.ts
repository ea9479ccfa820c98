import type { Ctx } from "../../kernel/context.ts";
import type { IdOf } from "../../kernel/ids.ts";
import type { UiMessage } from "../../messages/ui-message.ts";
import type { TurnWatch } from "./watch.ts";

/** A log to follow: a turn's, or a continuation's. */
export interface FollowedLog {
  readonly logId: string;
  readonly turnId: IdOf<"turn">;
  readonly assistantMessageId: IdOf<"message">;
  /** The attempt whose log is read first (`logAttemptOf`). */
  readonly attempt: number;
  /** The turn was accepted just now, so that there is no turn log of it yet, or a very short one. */
  readonly isNew?: boolean;
  /** Of a continuation: the message as it was when the turn stopped to ask, where a reader was given that. */
  readonly before?: UiMessage;
}

/** What following a log needs of a process. */
export type Following = Pick<Ctx, "sql" | "relay" | "log"> & { readonly watch: TurnWatch };
