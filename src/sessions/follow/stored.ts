import { isUnavailable } from "../../kernel/database/failure.ts";
import { retryWhileUnavailable } from "../../kernel/database/retry.ts";
import { turnPatienceMs } from "../../kernel/limits.ts";
import { eventNameOf, formatEvent } from "../../kernel/relay/relay.ts";
import { chunksOf, chunksSince } from "../../messages/to-chunks.ts";
import type { UiMessage } from "../../messages/ui-message.ts";
import { completeTurnLog } from "../end/complete-turn-log.ts";
import { saidBefore } from "../end/said-before.ts";
import { answerOf, isEnded, type LogState, logAttemptOf, logKeyOf, type StoredAnswer } from "../state/turn-log.ts";
import type { FollowedLog, Following } from "./followed-log.ts";
import { nameWith } from "./numbering.ts";
import type { SeenEvents } from "./seen.ts";

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
  /** What it was given. */
  readonly seen: SeenEvents;
}

/**
 * Returns the rest of a stream whose log broke off, as SSE text: the last chunk where no more
 * is missing, else what is missing of the stored answer, else an error chunk. Null where an answer is
 * stored, and no one knows how much of it the reader has. Only the last
 * chunk of a log whose length is known has a number of the log: what others saw under the next
 * number may be something else.
 */
export async function lastEvents(
  { sql, relay }: Pick<Following, "sql" | "relay">,
  { log, attempt, position, seen }: BrokenOff,
  state: LogState | null,
): Promise<Iterable<string> | null> {
  const { logId, before } = log;
  if (state === null || !isEnded(state.status)) return [brokenOff(logId, position)];
  const { status, lastChunk } = state;
  const ofLog = (chunk: unknown) => [formatEvent(eventNameOf(logKeyOf(state)), position, chunk)];
  const isSame = position === 1 || logAttemptOf(state) === attempt;
  const events = isSame ? await eventsOf({ sql, relay }, state) : null;
  // It has the last chunk. One that has more has read a log that was lost and begun anew.
  if (events !== null && events > 0 && position === events + 1) return [];
  if (position === events) return ofLog(lastChunk);
  const { message, isFinal, lastChunk: lastStored } = await storedAnswer(sql, state);
  if (message === null) {
    const isWhole = events === 0 && position === 1;
    const ending = status === "succeeded" ? lostChunk : lastChunk;
    return isWhole ? ofLog(ending) : [formatEvent(nameWith(logId, "now"), position, ending)];
  }
  if (position > 1) {
    const rest = isSame ? await missingOf(sql, log, message, seen) : null;
    return rest === null ? null : numbered(nameWith(logId, "now"), position, [...rest, lastStored]);
  }
  const rest = before === undefined ? chunksOf(message) : chunksSince(before, message);
  // Who has had the message up to a pause is at another place of it than its number says.
  const name = nameWith(logId, isFinal && before === undefined ? "stored" : "now");
  return numbered(name, position, [...rest, lastStored]);
}

/** Returns the event that ends a stream of which no one knows how it goes on. */
function brokenOff(logId: string, position: number): string {
  return formatEvent(nameWith(logId, "now"), position, lostChunk);
}

function* numbered(name: string, from: number, chunks: readonly unknown[]): Generator<string> {
  for (const [index, chunk] of chunks.entries()) yield formatEvent(name, from + index, chunk);
}

/** Returns the chunks of the stored message that a reader misses; null when no one knows. */
async function missingOf(
  sql: Following["sql"],
  { logId, turnId, before }: FollowedLog,
  message: UiMessage,
  seen: SeenEvents,
): Promise<unknown[] | null> {
  if (logId === turnId) return seen.rest(message, null);
  const said = before ?? (await saidBefore(sql, logId, message));
  return said === null ? null : seen.rest(message, said);
}

/**
 * Returns how many events a log has that has ended, and completes it where nobody did: 0 where
 * the relay has none of it. Null: the relay is away and does not say.
 */
async function eventsOf(ctx: Pick<Following, "sql" | "relay">, state: LogState): Promise<number | null> {
  if (state.relayEvents !== null) return state.relayEvents;
  if (ctx.relay.away) return null;
  return completeTurnLog(ctx, { ...state, key: logKeyOf(state) }).then(
    (events) => events ?? 0,
    () => null,
  );
}

/**
 * Returns what the turn of a log answered with, and what ends that: the log's own end, unless the turn has gone on and succeeded
 * since. Also when the database is away for a moment.
 */
export async function storedAnswer(
  sql: Following["sql"],
  { turnId, lastChunk }: Pick<LogState, "turnId" | "lastChunk">,
): Promise<StoredAnswer> {
  const answer = await retryWhileUnavailable(() => answerOf(sql, turnId), {
    limitMs: turnPatienceMs,
    retryIf: isUnavailable,
  });
  return { ...answer, lastChunk: answer.lastChunk ?? lastChunk };
}
