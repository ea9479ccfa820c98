import { isUnavailable } from "../../kernel/database/failure.ts";
import { retryWhileUnavailable } from "../../kernel/database/retry.ts";
import { turnPatienceMs } from "../../kernel/limits.ts";
import { eventNameOf, formatEvent } from "../../kernel/relay/relay.ts";
import { chunksOf, chunksSince } from "../../messages/to-chunks.ts";
import { completeTurnLog } from "../state/complete-turn-log.ts";
import { answerOf, isEnded, type LogState, logAttemptOf, logKeyOf, type StoredAnswer } from "../state/turn-log.ts";
import type { FollowedLog, Following } from "./followed-log.ts";
import { nameWith } from "./numbering.ts";

/** Ends a stream whose rest nobody can give. */
export const lostChunk = {
  type: "error",
  errorText: "The live stream was lost. Read the session's messages for the answer.",
} as const;

/** Where a follower is that gets no more from the relay. */
interface BrokenOff {
  readonly log: FollowedLog;
  /** The attempt whose log it read. */
  readonly attempt: number;
  /** The number of the event that it is to get next. */
  readonly position: number;
}

/**
 * Yields the rest of a stream whose log broke off, as SSE text: the last chunk where no more
 * is missing, the stored answer where nothing was sent, else an error chunk. Only the last
 * chunk of a log whose length is known has a number of the log: what others saw under the next
 * number may be something else.
 */
export async function* lastEvents(
  { sql, relay }: Pick<Following, "sql" | "relay">,
  { log, attempt, position }: BrokenOff,
  state: LogState | null,
): AsyncGenerator<string> {
  const { logId, before } = log;
  const unknown = (chunk: unknown) => formatEvent(nameWith(logId, "now"), position, chunk);
  if (state === null || !isEnded(state.status)) {
    yield unknown(lostChunk);
    return;
  }
  const { status, lastChunk } = state;
  const ofLog = (chunk: unknown) => formatEvent(eventNameOf(logKeyOf(state)), position, chunk);
  const isSame = position === 1 || logAttemptOf(state) === attempt;
  const events = isSame ? await eventsOf(relay, state) : null;
  // It has the last chunk. One that has more has read a log that was lost and begun anew.
  if (events !== null && events > 0 && position === events + 1) return;
  if (position === events) {
    yield ofLog(lastChunk);
    return;
  }
  const { message, isFinal } = position === 1 ? await storedAnswer(sql, log.turnId) : noAnswer;
  if (message === null) {
    const isWhole = events === 0 && position === 1;
    const ending = status === "succeeded" ? lostChunk : lastChunk;
    yield isWhole ? ofLog(ending) : unknown(ending);
    return;
  }
  const rest = before === undefined ? chunksOf(message) : chunksSince(before, message);
  // Who has had the message up to a pause is at another place of it than its number says.
  const name = nameWith(logId, isFinal && before === undefined ? "stored" : "now");
  for (const [index, chunk] of [...rest, lastChunk].entries()) yield formatEvent(name, position + index, chunk);
}

const noAnswer: StoredAnswer = { message: null, isFinal: false };

/**
 * Returns how many events a log has that has ended, and completes it where nobody did: 0 where
 * the relay has none of it. Null: the relay is away and does not say.
 */
async function eventsOf(relay: Following["relay"], state: LogState): Promise<number | null> {
  if (state.relayEvents !== null) return state.relayEvents;
  return completeTurnLog(relay, logKeyOf(state), state.lastChunk).then(
    (events) => events ?? 0,
    () => null,
  );
}

/** Returns what a turn answered with, also when the database is away for a moment. */
export function storedAnswer(sql: Following["sql"], turnId: string): Promise<StoredAnswer> {
  return retryWhileUnavailable(() => answerOf(sql, turnId), { limitMs: turnPatienceMs, retryIf: isUnavailable });
}
