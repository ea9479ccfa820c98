import { sleep } from "../../kernel/async/wait.ts";
import { doneEvent } from "../../kernel/http/sse.ts";
import { turnWatchMs } from "../../kernel/limits.ts";
import {
  dropBefore,
  formatEvent,
  type LogKey,
  lastOf,
  type Relay,
  relayEndWaitMs,
  relayRetryMsMax,
} from "../../kernel/relay/relay.ts";
import { followersOpen } from "../../kernel/telemetry/metrics.ts";
import { isEnded, type LogState, logAttemptOf, logStates } from "../state/turn-log.ts";
import type { FollowedLog, Following } from "./followed-log.ts";
import { SeenEvents } from "./seen.ts";
import { lastEvents } from "./stored.ts";
import { hasMoved } from "./watch.ts";

/** After Postgres says that a turn ended, the relay has this long to deliver its last chunks. */
export const lastChunksMs = 1_000;
/**
 * While the relay is unavailable it is tried again after this time, which is longer than
 * the interval of the watch, so that the watch queries in between.
 */
const askRelayAgainMs = 2 * turnWatchMs;
/**
 * A reader that came back with an event's number, so that nobody here knows what it was given, waits after the end of its
 * turn for a relay that is away: as long as the writer tries to reach that, and a little. Then it gets the
 * whole answer from `start` on.
 */
const relayBackMs = relayEndWaitMs + lastChunksMs;
/** A relay that is back and has lost its logs has them again after this long, from their writers. */
const rewrittenMs = 3 * relayRetryMsMax;
/** Pause before a follower asks Postgres how its log goes on, after the relay could not deliver the log to its end. */
const askAgainMs = 250;

/**
 * Yields all events of a turn log as SSE text, from event `from` on, each once, until its
 * end (docs/relay.md, "What a reader sees"). Event 0 is `start`, made here from the turn's
 * row: a turn that is run again has written nothing yet, so every follower sees
 * one `start`, and no attempt writes its own.
 *
 * The relay gives the live events. While it cannot (a worker was lost, Redis is away), the
 * reader waits for it, and for Postgres, which says how the log ended: what the reader misses of the
 * stored answer, or an error chunk, ends the stream then. The reaper ends a turn whose worker is lost, or queues it again, and so ends
 * the wait of its followers.
 */
export async function* followLog(
  following: Following,
  log: FollowedLog,
  from: number,
  stop: AbortSignal,
): AsyncGenerator<string> {
  const start = formatEvent(log.logId, 0, { type: "start", messageId: log.assistantMessageId });
  let position = from;
  let attempt = log.attempt;
  let isNew = log.isNew ?? false;
  if (position === 0) {
    yield start;
    position = 1;
  }
  let losses = 0;
  /** When the turn had ended, and a relay that is away was waited for. */
  let waitsSinceMs: number | null = null;
  let awayAtMs = Number.NEGATIVE_INFINITY;
  // A reader that says that it has seen what the log does not hold gets the whole sequence instead.
  let unproven = position > 1;
  const seen = new SeenEvents(position === 1);
  while (!stop.aborted) {
    let complete = false;
    const first = unproven ? position - 1 : position;
    const next = () => (unproven ? null : position);
    const told: Told = {};
    const items = untilMoved(following, { logId: log.logId, attempt }, first, { stop, isNew, next, told });
    isNew = false;
    for await (const item of items) {
      if (item.type === "batch") {
        const rest = dropBefore(item.batch, position);
        position = lastOf(item.batch) + 1;
        unproven = false;
        losses = 0;
        if (rest !== null) {
          seen.add(rest.sse);
          yield rest.sse;
        }
      } else if (item.type === "end") complete = true;
    }
    if (stop.aborted) return;
    if (complete && !unproven) {
      yield doneEvent;
      return;
    }
    const anew = () => {
      unproven = false;
      position = 1;
      seen.reset();
      return start;
    };
    if (unproven) {
      // A relay that is away, or has just come back empty, says nothing of what the log holds.
      if (await isAway(following.relay)) awayAtMs = performance.now();
      if (performance.now() - awayAtMs > rewrittenMs) {
        yield anew();
        continue;
      }
    }
    losses++;
    // While the relay stays unavailable, one query a second (the watch's) serves all followers of the process.
    const state =
      told.state !== undefined
        ? told.state
        : await (losses === 1 ? askForMove : awaitMove)(following, log.logId, attempt, stop);
    if (state === "again") continue;
    if (state === null || isEnded(state.status) || position > 1) {
      const rest = await lastEvents(following, { log, attempt, position, seen }, state);
      if (rest === null) {
        waitsSinceMs ??= performance.now();
        if (performance.now() - waitsSinceMs < relayBackMs) await sleep(turnWatchMs, stop);
        else yield anew();
        continue;
      }
      yield* rest;
      yield doneEvent;
      return;
    }
    attempt = logAttemptOf(state);
  }
}

/** Returns whether the relay cannot be asked now; it may not be known yet. */
function isAway(relay: Relay): Promise<boolean> | true {
  return (
    relay.away ||
    relay.ping().then(
      () => false,
      () => true,
    )
  );
}

/** What the watch has told a follower of its log. */
interface Told {
  state?: LogState | null;
}

/**
 * Yields the relay's items of one attempt's log. Once Postgres says that the log has
 * moved on, the relay has `lastChunksMs` for each further item, none when it is away or only the log's last
 * event is missing (`next` is the reader's next one). The time that the reader itself takes
 * for an item does not count.
 */
async function* untilMoved(
  { relay, watch }: Following,
  key: LogKey,
  from: number,
  { stop, isNew, next, told }: FollowedPart,
): ReturnType<Relay["follow"]> {
  const relayStop = new AbortController();
  const leave = () => relayStop.abort();
  stop.addEventListener("abort", leave, { once: true });
  followersOpen.inc();
  let moved = false;
  let reading = false;
  let grace: ReturnType<typeof setTimeout> | undefined;
  const allow = () => {
    if (moved && !reading) grace = setTimeout(leave, lastChunksMs);
  };
  const forget = watch.watch(key.logId, key.attempt, (state) => {
    moved = true;
    told.state = state;
    // What is left is the last chunk, which the turn's row has too.
    const last = state?.relayEvents ?? null;
    if (!reading && (relay.away || (last !== null && last === next()))) leave();
    else allow();
  });
  try {
    for await (const item of relay.follow(key, from, relayStop.signal, isNew)) {
      if (moved) clearTimeout(grace);
      reading = true;
      yield item;
      reading = false;
      allow();
    }
  } finally {
    followersOpen.dec();
    forget();
    clearTimeout(grace);
    stop.removeEventListener("abort", leave);
  }
}

interface FollowedPart {
  readonly stop: AbortSignal;
  readonly isNew: boolean;
  /** The number of the reader's next event; null when that is not known. */
  next(): number | null;
  readonly told: Told;
}

/**
 * Asks Postgres how a log goes on, and returns its state when it has moved. `again`: this
 * attempt still writes it, so the relay is read again. Null: there is no such log any
 * more.
 */
async function askForMove(
  { sql, log }: Following,
  logId: string,
  attempt: number,
  stop: AbortSignal,
): Promise<LogState | null | "again"> {
  await sleep(askAgainMs, stop);
  try {
    const [state] = await logStates(sql, [logId]);
    if (state === undefined) return null;
    return hasMoved(state, attempt) ? state : "again";
  } catch (error) {
    log.warn({ logId, err: error }, "a follower cannot ask how its turn goes on");
    return "again";
  }
}

/** Returns the same, from `TurnWatch`; `again` after `askRelayAgainMs`. */
function awaitMove(
  { watch }: Following,
  logId: string,
  attempt: number,
  stop: AbortSignal,
): Promise<LogState | null | "again"> {
  return new Promise((resolve) => {
    const done = (answer: LogState | null | "again") => {
      forget();
      clearTimeout(timer);
      stop.removeEventListener("abort", giveUp);
      resolve(answer);
    };
    const giveUp = () => done("again");
    const forget = watch.watch(logId, attempt, done);
    const timer = setTimeout(giveUp, askRelayAgainMs);
    stop.addEventListener("abort", giveUp);
  });
}
