import type { UIMessageChunk } from "ai";
import { completeLog } from "../../kernel/relay/complete-log.ts";
import type { LogKey, Relay } from "../../kernel/relay/relay.ts";
import { closingChunks } from "../../messages/close-parts.ts";

/** What a call ends with that a cancellation left without an end. */
export const canceledCallText = "The turn was canceled before this was done.";

/**
 * Completes the log of a turn that ended while no worker had it (`completeLog`): what readers
 * have of it is closed, as it is in what is stored, and then comes the last chunk.
 */
export function completeTurnLog(relay: Relay, key: LogKey, lastChunk: unknown): Promise<number | null> {
  const { type, errorText } = (lastChunk ?? {}) as { readonly type?: string; readonly errorText?: string };
  const callText = type === "abort" ? canceledCallText : (errorText ?? canceledCallText);
  return completeLog(relay, key, lastChunk, (chunks) => closingChunks(chunks as UIMessageChunk[], null, callText));
}
