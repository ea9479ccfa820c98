import type { AnySql } from "../../kernel/database/client.ts";
import { ApiError } from "../../kernel/errors.ts";
import type { IdOf } from "../../kernel/ids.ts";
import { findSession } from "../state/store.ts";
import { type ActiveTurn, activeTurn } from "../state/turn.ts";
import { isEnded, lastLogOf, logKeyOf, logStates, messageAtPause } from "../state/turn-log.ts";
import { followEnded } from "./ended.ts";
import { type EventPlace, nextIn, placeAfter } from "./numbering.ts";
import { type StreamContext, streamEvents, streamTurnLog } from "./respond.ts";
import { followWhole } from "./whole.ts";

interface JoinInput {
  readonly sql: AnySql;
  readonly tenantId: string;
  readonly params: { readonly agentId: string; readonly sessionId: string };
  readonly request: Request;
}

/** The turn may move between two looks at it; it is looked at so often. */
const looksMax = 5;

/**
 * Returns the response that streams the running turn's events, from the first or after
 * `Last-Event-ID`. When nothing runs: the rest of the turn that `Last-Event-ID` names, or 204
 * (docs/decisions/streams.md). Throws 404 `not_found`.
 */
export async function joinTurn(streams: StreamContext, input: JoinInput): Promise<Response> {
  const { sql, tenantId, params, request } = input;
  const session = await findSession(sql, tenantId, params.agentId, params.sessionId);
  if (session === null) throw new ApiError("not_found");
  const place = placeAfter(request);
  for (let look = 0; look < looksMax; look++) {
    const turn = await activeTurn(sql, params.sessionId);
    const runs = turn !== null && turn.status !== "waiting";
    const joined = runs ? await joinRunning(streams, input, turn, place) : await joinEnded(streams, input, place);
    if (joined !== "moved") return joined;
  }
  return new Response(null, { status: 204 });
}

async function joinRunning(
  streams: StreamContext,
  { sql, request }: JoinInput,
  { id: turnId, continuationId }: ActiveTurn,
  place: EventPlace | null,
): Promise<Response | "moved"> {
  const [log] = await logStates(sql, [continuationId ?? turnId]);
  if (log === undefined) return "moved";
  const key = logKeyOf(log);
  const followed = { ...key, turnId, assistantMessageId: log.assistantMessageId };
  const options = optionsFor(turnId, request);
  const next = nextIn(place, key, 0);
  if (continuationId === null || next > 0) return streamTurnLog(streams, followed, next, options);
  const before = await messageAtPause(sql, turnId, continuationId);
  if (before === null) return "moved";
  return streamEvents(
    streams,
    (following, stop) => followWhole(following, { ...followed, before }, place, stop),
    options,
  );
}

/** Streams the rest of a turn that has ended, or has stopped to ask. */
async function joinEnded(
  streams: StreamContext,
  { sql, params, request }: JoinInput,
  place: EventPlace | null,
): Promise<Response | "moved"> {
  const last = place === null ? null : await lastLogOf(sql, params.sessionId, place.logId);
  if (place === null || last === null) return new Response(null, { status: 204 });
  const [state] = await logStates(sql, [last.logId]);
  if (state === undefined || !isEnded(state.status)) return "moved";
  const isWhole = last.logId === last.turnId;
  const from = last.logId === place.logId ? place : { logId: last.logId, claim: null, before: 0, next: 0 };
  return streamEvents(
    streams,
    (following, stop) => followEnded(following, { state, place: from, isWhole }, stop),
    optionsFor(last.turnId, request),
  );
}

function optionsFor(turnId: IdOf<"turn">, request: Request) {
  return { status: 200, headers: { "X-Turn-Id": turnId }, request };
}
