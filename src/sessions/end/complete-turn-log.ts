import type { UIMessageChunk } from "ai";
import type { Ctx } from "../../kernel/context.ts";
import { completeLog } from "../../kernel/relay/complete-log.ts";
import type { LogKey } from "../../kernel/relay/relay.ts";
import { OpenEnds } from "../../messages/close-parts.ts";
import { answerOf } from "../state/turn-log.ts";
import { closedAs } from "./close-stream.ts";
import { canceledCallText } from "./outcome.ts";
import { saidBefore } from "./said-before.ts";

/** The log of a turn that has ended. */
export interface LogToComplete {
  readonly key: LogKey;
  readonly turnId: string;
  readonly lastChunk: unknown;
}

/**
 * Completes the log of a turn that ended while no worker had it (`completeLog`): what readers
 * have of it is closed, as it is in what is stored, and then comes the last chunk.
 */
export function completeTurnLog(
  { sql, relay }: Pick<Ctx, "sql" | "relay">,
  { key, turnId, lastChunk }: LogToComplete,
): Promise<number | null> {
  const { type, errorText } = (lastChunk ?? {}) as { readonly type?: string; readonly errorText?: string };
  const otherwise = type === "abort" ? canceledCallText : (errorText ?? canceledCallText);
  return completeLog(relay, key, lastChunk, async (chunks) => {
    const { message } = await answerOf(sql, turnId);
    const open = new OpenEnds();
    // A continuation's log goes on with what the turn had said before.
    open.begin(key.logId === turnId || message === null ? null : await saidBefore(sql, key.logId, message));
    for (const chunk of chunks) open.note(chunk as UIMessageChunk);
    return closedAs(open, message, otherwise);
  });
}
