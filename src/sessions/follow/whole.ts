import { formatEvent } from "../../kernel/relay/relay.ts";
import { chunksOf } from "../../messages/to-chunks.ts";
import type { UiMessage } from "../../messages/ui-message.ts";
import { followLog } from "./follow.ts";
import type { FollowedLog, Following } from "./followed-log.ts";
import { type EventPlace, nameWith, nextIn, renumbered } from "./numbering.ts";

/**
 * Yields the whole message of a turn that goes on after it stopped to ask, as SSE text: what
 * it was when it stopped (`before`), and then the events of the continuation. So a page that
 * was reloaded shows what one that was not shows: the AI SDK's client begins a message anew
 * when it joins a stream.
 */
export async function* followWhole(
  following: Following,
  log: FollowedLog & { readonly before: UiMessage },
  place: EventPlace | null,
  stop: AbortSignal,
): AsyncGenerator<string> {
  const { logId, assistantMessageId } = log;
  const chunks: unknown[] = [{ type: "start", messageId: assistantMessageId }, ...chunksOf(log.before)];
  const before = chunks.length - 1;
  const name = nameWith(logId, before);
  const from = nextIn(place, log, before);
  for (const [number, chunk] of chunks.entries()) if (number >= from) yield formatEvent(name, number, chunk);
  // A continuation's events begin with number 1; its event 0, a `start`, says that a place in it was wrong.
  const restart = formatEvent(logId, 0, { type: "start", messageId: assistantMessageId });
  const slim = { ...log, before: withoutContent(log.before) };
  for await (const text of followLog(following, slim, Math.max(1, from - before), stop)) {
    if (text !== restart) yield renumbered(text, logId, before);
    else for (const [number, chunk] of chunks.entries()) yield formatEvent(name, number, chunk);
    chunks.length = 0;
  }
}

/** Returns the message with nothing but the states of its parts, because a reader may take its time. */
export function withoutContent(message: UiMessage): UiMessage {
  return { ...message, parts: message.parts.map((part) => ({ state: (part as { readonly state?: unknown }).state })) };
}
