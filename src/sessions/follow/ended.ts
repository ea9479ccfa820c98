import { doneEvent } from "../../kernel/http/sse.ts";
import { type Batch, eventNameOf, formatEvent, type LogKey, lastOf, type Relay } from "../../kernel/relay/relay.ts";
import { chunksOf } from "../../messages/to-chunks.ts";
import { completeTurnLog } from "../end/complete-turn-log.ts";
import { saidBefore } from "../end/said-before.ts";
import { type LogState, logKeyOf, type StoredAnswer } from "../state/turn-log.ts";
import { lastChunksMs } from "./follow.ts";
import type { Following } from "./followed-log.ts";
import { type EventPlace, isPlaceIn, nameWith, nextIn, renumbered } from "./numbering.ts";
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
  ended: EndedLog,
  stop: AbortSignal,
): AsyncGenerator<string> {
  const { state, place } = ended;
  const { id, turnId, lastChunk } = state;
  const { before: stood } = place;
  if (stood === "stored") {
    yield* storedEvents(state, await storedAnswer(sql, state), place.next);
    return;
  }
  const key = logKeyOf(state);
  // Null: nobody knows any more how many there were.
  const relayEvents =
    state.relayEvents ?? (await completeTurnLog({ sql, relay }, { key, turnId, lastChunk }).catch(() => null));
  let position = isPlaceIn(place, key) ? place.next - stood : 0;
  // Beyond the end is nothing that anybody has seen.
  if (relayEvents !== null && position > relayEvents + 1) position = 0;
  const resumes = position >= 1;
  if (resumes && relayEvents !== null && position > relayEvents) {
    yield doneEvent;
    return;
  }
  const lead = resumes ? { before: stood, events: [] } : await leadOf(sql, ended);
  const before = lead?.before ?? stood;
  let given = false;
  if (relayEvents !== null && lead !== null) {
    for await (const batch of readRest(relay, key, Math.max(position, 1), stop)) {
      if (batch === "end") {
        yield doneEvent;
        return;
      }
      if (!given) yield* lead.events;
      given = true;
      position = lastOf(batch) + 1;
      yield renumbered(batch.sse, id, before);
    }
    if (stop.aborted) return;
  }
  // Of a success something is missing that nobody can give in these numbers; any other turn's last chunk says all.
  const chunk = position === relayEvents || state.status !== "succeeded" ? lastChunk : lostChunk;
  const isNext = position === relayEvents || (relayEvents === null && position === 1);
  const name = isNext ? nameWith(eventNameOf(key), before) : nameWith(id, "now");
  const ending = formatEvent(name, position + before, chunk);
  const isAll = given || (resumes && position === relayEvents);
  const answer = isAll ? null : await storedAnswer(sql, state);
  if (answer !== null && (answer.message !== null || !resumes)) yield* storedEvents(state, answer, 0);
  else yield ending + doneEvent;
}

/** What a reader that has none of a log's own events gets before them. */
interface Lead {
  /** How many events stand before the log's first. */
  readonly before: number;
  readonly events: readonly string[];
}

/**
 * Returns what comes before a log's own events: `start`, and of a continuation the message that
 * it goes on with, in the numbers that both had live. Null: nobody knows what was said.
 */
async function leadOf(sql: Following["sql"], { state, place, isWhole }: EndedLog): Promise<Lead | null> {
  const { id, assistantMessageId } = state;
  const { message } = isWhole ? { message: null } : await storedAnswer(sql, state);
  const said = message === null ? null : await saidBefore(sql, id, message);
  if (said === null && !isWhole) return null;
  const chunks = [{ type: "start", messageId: assistantMessageId }, ...(said === null ? [] : chunksOf(said))];
  const before = chunks.length - 1;
  const name = nameWith(id, before);
  const next = nextIn(place, logKeyOf(state), before);
  const from = next <= before ? next : 0;
  return { before, events: chunks.map((chunk, number) => formatEvent(name, number, chunk)).slice(from) };
}

/**
 * Yields what is stored of a turn whose log has ended, from event `next` on. Its events have a
 * name of their own (`EventPlace`), because a log with as many events may be divided otherwise.
 */
function* storedEvents(
  { id, status, assistantMessageId }: LogState,
  { message, isFinal, lastChunk }: StoredAnswer,
  next: number,
): Generator<string> {
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
