import type { UIMessageChunk } from "ai";
import type { OpenEnds } from "../../messages/close-parts.ts";
import { isToolCall } from "../../messages/tool-calls.ts";
import type { UiMessage } from "../../messages/ui-message.ts";
import type { TurnOutcome } from "../state/turn-end.ts";

/**
 * How the stream of a turn ends that was cut off: what is open in it ends as it ends in the message that is stored, so
 * that both are the same. Every end closes it in this way: its worker's before the last chunk, and one that is made while
 * no worker has the turn when the log is completed (`complete-turn-log.ts`).
 */

/** Returns the chunks before the last one of a turn that its worker ends. None where no answer is kept. */
export function streamClosing(open: OpenEnds, outcome: TurnOutcome): UIMessageChunk[] {
  if (outcome.status === "succeeded" || outcome.status === "waiting") return [];
  const kept = [outcome.replaced, outcome.answer, ...outcome.messages].find((one) => one?.role === "assistant");
  if (kept === undefined || kept === null) return [];
  return closedAs(open, kept, outcome.error?.message ?? "The turn ended before this was done.");
}

/** Returns the chunks that close a stream as a message was stored; `otherwise` is the error of a call that it does not have. */
export function closedAs(open: OpenEnds, stored: UiMessage | null, otherwise: string): UIMessageChunk[] {
  const ends = stored === null ? new Map<string, string | null>() : endsIn(stored);
  return open.close((callId) => {
    const end = ends.get(callId);
    return end === undefined ? otherwise : end;
  });
}

/** Returns the error of each call of a message that has one; null for a call that was denied. */
function endsIn({ parts }: UiMessage): Map<string, string | null> {
  const ends = new Map<string, string | null>();
  for (const part of parts) {
    if (!isToolCall(part)) continue;
    const { errorText } = part as { readonly errorText?: string };
    if (part.state === "output-denied") ends.set(part.toolCallId, null);
    else if (part.state === "output-error" && errorText !== undefined) ends.set(part.toolCallId, errorText);
  }
  return ends;
}
