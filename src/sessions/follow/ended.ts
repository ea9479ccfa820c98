import { doneEvent } from "../../kernel/http/sse.ts";
import { completeLog } from "../../kernel/relay/complete-log.ts";
import { type Batch, formatEvent, type LogKey, lastOf, type Relay } from "../../kernel/relay/relay.ts";
import { chunksOf } from "../../messages/to-chunks.ts";
import type { UiMessage } from "../../messages/ui-message.ts";
import { type LogState, logAttemptOf, type StoredAnswer } from "../state/turn-log.ts";
import { lastChunksMs } from "./follow.ts";
import type { Following } from "./followed-log.ts";
import { type EventPlace, nameWith, renumbered } from "./numbering.ts";
import { saidBefore } from "./said-before.ts";
import { lostChunk, storedAnswer } from "./stored.ts";

/** A log that is complete, and how far a reader has come in it. */
export interface EndedLog {
  readonly state: LogState;
  readonly place: EventPlace;
  /** It holds all of its turn's message from the start on, as a continuation's does not. */
  readonly isWhole: boolean;
}

/**
 * Yields the rest of a log that has ended, as SSE text. It comes from the relay as long as
 * that keeps the log. After that nobody knows how the answer was divided into events, so the
 * reader gets the stored message from `start` on (`storedEvents`); where none is stored,
 * because the turn failed, only the chunk that ended it.
 */
export async function* followEnded(
  { sql, relay }: Pick<Following, "sql" | "relay">,
  { state, place, isWhole }: EndedLog,
  stop: AbortSignal,
): AsyncGenerator<string> {
  const { id, turnId, lastChunk } = state;
  const { before } = place;
  if (before === "stored") {
    yield* storedEvents(state, await storedAnswer(sql, turnId), place.next);
    return;
  }
  const key = { logId: id, attempt: logAttemptOf(state) };
  // Null: nobody knows any more how many there were.
  const relayEvents = state.relayEvents ?? (await completeLog(relay, key, lastChunk).catch(() => null));
  const start = formatEvent(nameWith(id, before), 0, { type: "start", messageId: state.assistantMessageId });
  let position = place.next - before;
  // Beyond the end is nothing that anybody has seen.
  if (relayEvents !== null && position > relayEvents + 1) position = 0;
  const resumes = position >= 1;
  if (resumes && relayEvents !== null && position > relayEvents) {
    yield doneEvent;
    return;
  }
  let given = false;
  if (relayEvents !== null && (resumes || (isWhole && before === 0))) {
    const from = Math.max(position, 1);
    for await (const batch of readRest(relay, key, from, stop)) {
      if (batch === "end") {
        yield doneEvent;
        return;
      }
      if (!given && !resumes) yield start;
      given = true;
      position = lastOf(batch) + 1;
      yield renumbered(batch.sse, id, before);
    }
    if (stop.aborted) return;
  }
  // Of a success something is missing that nobody can give in these numbers; any other turn's last chunk says all.
  const chunk = position === relayEvents || state.status !== "succeeded" ? lastChunk : lostChunk;
  const isNext = position === relayEvents || (relayEvents === null && position === 1);
  const ending = formatEvent(nameWith(id, isNext ? before : "now"), position + before, chunk);
  if (given || (resumes && position === relayEvents)) yield ending;
  else {
    const answer = await storedAnswer(sql, turnId);
    const { message } = answer;
    if (message === null && resumes) yield ending;
    else {
      // The log of a continuation goes on with what was said before it.
      const goesOn = !isWhole && !resumes && relayEvents !== null && state.status === "succeeded" && message !== null;
      const said = goesOn ? await saidBefore(sql, id, message, readRest(relay, key, 1, stop)) : null;
      if (stop.aborted) return;
      if (said === null) yield* storedEvents(state, answer, 0);
      else yield* followSaid({ sql, relay }, { state, place, isWhole }, said, stop);
      return;
    }
  }
  yield doneEvent;
}

/** Yields the rest of a continuation that has ended, and before it the message that it goes on with, in the numbers that both had live. */
async function* followSaid(
  following: Pick<Following, "sql" | "relay">,
  { state, place, isWhole }: EndedLog,
  said: UiMessage,
  stop: AbortSignal,
): AsyncGenerator<string> {
  const { id, assistantMessageId } = state;
  const chunks = [{ type: "start", messageId: assistantMessageId }, ...chunksOf(said)];
  const before = chunks.length - 1;
  const from = place.logId === id && place.before === before && place.next <= before ? place.next : 0;
  for (const [number, chunk] of chunks.entries())
    if (number >= from) yield formatEvent(nameWith(id, before), number, chunk);
  yield* followEnded(following, { state, place: { logId: id, before, next: before + 1 }, isWhole }, stop);
}

/**
 * Yields what is stored of a turn whose log has ended, from event `next` on. Its events have a
 * name of their own (`EventPlace`), because a log with as many events may be divided otherwise.
 */
function* storedEvents(state: LogState, { message, isFinal }: StoredAnswer, next: number): Generator<string> {
  const { id, status, assistantMessageId, lastChunk } = state;
  const ending = message === null && status === "succeeded" ? lostChunk : lastChunk;
  const rest = message === null ? [] : chunksOf(message);
  const chunks = [{ type: "start", messageId: assistantMessageId }, ...rest, ending];
  // A message that waits for results may have others by now, and one that is gone had other events.
  const stays = isFinal && message !== null;
  const name = nameWith(id, stays ? "stored" : "now");
  // Beyond the end is nothing that anybody has seen.
  const from = !stays || next > chunks.length ? 0 : next;
  for (const [number, chunk] of chunks.entries()) if (number >= from) yield formatEvent(name, number, chunk);
  yield doneEvent;
}

/** Yields what the relay has of a complete log from event `from` on, and `end` when that is all of it. */
async function* readRest(relay: Relay, key: LogKey, from: number, stop: AbortSignal): AsyncGenerator<Batch | "end"> {
  // A log that is gone is like one that is still to come.
  const silent = new AbortController();
  const leave = () => silent.abort();
  stop.addEventListener("abort", leave, { once: true });
  let limit = setTimeout(leave, lastChunksMs);
  try {
    for await (const item of relay.follow(key, from, silent.signal)) {
      clearTimeout(limit);
      if (item.type === "end") yield "end";
      if (item.type !== "batch") return;
      yield item.batch;
      limit = setTimeout(leave, lastChunksMs);
    }
  } finally {
    clearTimeout(limit);
    stop.removeEventListener("abort", leave);
  }
}
