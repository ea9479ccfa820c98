import { isUnavailable } from "../../kernel/database/failure.ts";
import { retryWhileUnavailable } from "../../kernel/database/retry.ts";
import { turnPatienceMs } from "../../kernel/limits.ts";
import { chunksOf, chunksSince } from "../../messages/to-chunks.ts";
import type { UiMessage } from "../../messages/ui-message.ts";
import { answerOf, type LogState } from "../state/turn-log.ts";
import type { FollowedLog, Following } from "./followed-log.ts";

/** Ends a stream whose rest nobody can give. */
export const lostChunk = {
  type: "error",
  errorText: "The live stream was lost. Read the session's messages for the answer.",
} as const;

/**
 * Returns the rest of a stream whose log broke off before event `position`: the last chunk
 * where no more is missing, the stored answer where nothing was sent, else an error chunk.
 */
export async function lastChunks(
  sql: Following["sql"],
  log: FollowedLog,
  position: number,
  state: LogState | null,
): Promise<readonly unknown[]> {
  if (state === null) return [lostChunk];
  const { status, lastChunk, relayEvents } = state;
  if (status !== "succeeded" && status !== "failed" && status !== "canceled") return [lostChunk];
  if (status === "succeeded" && position > (relayEvents ?? 0)) return [];
  if (position === relayEvents) return [lastChunk];
  const answer = position === 1 ? await storedAnswer(sql, log.turnId) : null;
  if (answer !== null) return [...chunksAfter(log.before ?? null, answer), lastChunk];
  return [status === "succeeded" ? lostChunk : lastChunk];
}

function chunksAfter(before: UiMessage | null, answer: UiMessage): unknown[] {
  return before === null ? chunksOf(answer) : chunksSince(before, answer);
}

/** Returns the message that a turn answered with, also when the database is away for a moment; null: none. */
export function storedAnswer(sql: Following["sql"], turnId: string): Promise<UiMessage | null> {
  return retryWhileUnavailable(() => answerOf(sql, turnId), { limitMs: turnPatienceMs, retryIf: isUnavailable });
}
