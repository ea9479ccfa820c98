import type { Ctx } from "../context.ts";
import { formatEvent, lastOf, type Relay } from "../relay/relay.ts";
import { doneEvent } from "../sse.ts";
import { chunksOf } from "./replay.ts";
import { answerOf, isEnded, type TurnState, turnStates } from "./turns.ts";
import { hasMoved, logAttemptOf, type TurnWatch } from "./watch.ts";

/** A turn to follow. */
export interface FollowedTurn {
  readonly turnId: string;
  readonly assistantMessageId: string;
  /** The attempt whose log is read first (`logAttemptOf`). */
  readonly attempt: number;
}

/** What following needs of a process. */
export type Following = Pick<Ctx, "sql" | "relay" | "log"> & { readonly watch: TurnWatch };

/** After Postgres says that a turn ended, the relay has this long to deliver its last chunks. */
const lastChunksMs = 1_000;
/** Pause before a follower asks again, while neither the relay nor Postgres can tell how a turn goes on. */
const askAgainMs = 250;

/**
 * All events of a turn as SSE text, from event `from` on, each once, until its
 * end (design section 1, rule 5). Event 0 is `start`, made here from the turn's
 * row: a turn that is run again has written nothing yet, so every follower sees
 * one `start`, and no attempt writes its own.
 *
 * The relay gives the live events. When it cannot (a worker was lost, Redis is
 * away), Postgres says how the turn ended, and the stored answer or an error
 * chunk ends the stream. It never waits for a turn that nobody runs.
 */
export async function* followTurn(
  following: Following,
  turn: FollowedTurn,
  from: number,
  stop: AbortSignal,
): AsyncGenerator<string> {
  let position = from;
  if (position === 0) {
    yield formatEvent(turn.turnId, 0, { type: "start", messageId: turn.assistantMessageId });
    position = 1;
  }
  let attempt = turn.attempt;
  // A reader that resumes behind what the log holds gets the whole sequence instead.
  let unproven = position > 1;
  while (!stop.aborted) {
    let ending: "end" | "broken" = "broken";
    for await (const item of untilMoved(following, turn.turnId, attempt, position, stop)) {
      if (item.type === "batch") {
        position = lastOf(item.batch) + 1;
        unproven = false;
        yield item.batch.sse;
      } else if (item.type === "end") ending = "end";
    }
    if (stop.aborted) return;
    if (ending === "end") {
      yield doneEvent;
      return;
    }
    if (unproven) {
      unproven = false;
      position = 1;
      yield formatEvent(turn.turnId, 0, { type: "start", messageId: turn.assistantMessageId });
      continue;
    }
    const state = await settle(following, turn.turnId, attempt, stop);
    if (state === "again") continue;
    if (state === null || isEnded(state.status) || state.status === "waiting" || position > 1) {
      yield* tail(following, turn, position, state);
      return;
    }
    attempt = logAttemptOf(state);
  }
}

/** The relay's items of one attempt's log; stops soon after Postgres says that the turn has moved on. */
async function* untilMoved(
  { relay, watch }: Following,
  turnId: string,
  attempt: number,
  from: number,
  stop: AbortSignal,
): ReturnType<Relay["follow"]> {
  const look = new AbortController();
  const leave = () => look.abort();
  stop.addEventListener("abort", leave, { once: true });
  let grace: ReturnType<typeof setTimeout> | undefined;
  const forget = watch.watch(turnId, attempt, () => {
    grace = setTimeout(leave, lastChunksMs);
  });
  try {
    yield* relay.follow({ turnId, attempt }, from, look.signal);
  } finally {
    forget();
    clearTimeout(grace);
    stop.removeEventListener("abort", leave);
  }
}

/**
 * Asks Postgres how the turn goes on. `again`: it still runs on this attempt, so
 * the log is worth another look. Null: there is no such turn any more.
 */
async function settle(
  { sql, log }: Following,
  turnId: string,
  attempt: number,
  stop: AbortSignal,
): Promise<TurnState | null | "again"> {
  await pause(askAgainMs, stop);
  try {
    const [state] = await turnStates(sql, [turnId]);
    if (state === undefined) return null;
    return hasMoved(state, attempt) ? state : "again";
  } catch (error) {
    log.warn({ turnId, err: error }, "a follower cannot ask how its turn goes on");
    return "again";
  }
}

/** The rest of a stream whose log broke off: what is missing of a short end, the stored answer, or an error chunk. */
async function* tail(
  { sql }: Following,
  turn: FollowedTurn,
  position: number,
  state: TurnState | null,
): AsyncGenerator<string> {
  for (const [index, chunk] of (await tailChunks(sql, turn, position, state)).entries()) {
    yield formatEvent(turn.turnId, position + index, chunk);
  }
  yield doneEvent;
}

async function tailChunks(
  sql: Following["sql"],
  turn: FollowedTurn,
  position: number,
  state: TurnState | null,
): Promise<unknown[]> {
  if (state?.status === "failed") return [{ type: "error", errorText: state.error?.message ?? "The turn failed." }];
  if (state?.status === "canceled") return [{ type: "abort" }];
  if (state?.status === "succeeded") {
    const events = state.relayEvents ?? 0;
    if (position > events) return [];
    if (position === events) return [{ type: "finish" }];
    const answer = position === 1 ? await answerOf(sql, turn.turnId) : null;
    if (answer !== null) return [...chunksOf(answer), { type: "finish" }];
  }
  return [{ type: "error", errorText: "The live stream was lost. Read the session's messages for the answer." }];
}

function pause(ms: number, stop: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    stop.addEventListener(
      "abort",
      () => {
        clearTimeout(timer);
        resolve();
      },
      { once: true },
    );
  });
}
