import { exceededError } from "../../budgets/exceeded.ts";
import type { Ctx } from "../../kernel/context.ts";
import { isUnavailable } from "../../kernel/database/failure.ts";
import { retryWhileUnavailable } from "../../kernel/database/retry.ts";
import { ApiError, type ErrorCause, errorCauses } from "../../kernel/errors.ts";
import { sseResponse } from "../../kernel/http/sse.ts";
import { turnPatienceMs } from "../../kernel/limits.ts";
import { endStreamedResponse } from "../../kernel/runtime.ts";
import { finishReasonOf } from "../../messages/finish-reason.ts";
import { outputOf } from "../../model/response-format.ts";
import type { AcceptedTurn } from "../accept/accepted.ts";
import { endOfContinuation, isEnded, type LogState, logAttemptOf, logStates } from "../state/turn-log.ts";
import { endOfTurnTogether } from "./end-together.ts";
import { followLog } from "./follow.ts";
import type { FollowedLog, Following } from "./followed-log.ts";
import type { TurnWatch } from "./watch.ts";

/** What the responses that stream turns need of an HTTP process. */
export interface StreamContext {
  readonly ctx: Ctx;
  readonly watch: TurnWatch;
}

/** How a turn's response begins. */
export interface TurnResponseOptions {
  readonly status: 200 | 201;
  readonly stream: boolean;
  /** The path of the session that the turn makes; null: it makes none. */
  readonly location: string | null;
  /** Whether that session is there when the turn fails: form A shows one only after its first success. */
  readonly isKept?: boolean;
  readonly request: Request;
}

/**
 * Returns the response to an accepted turn: its stream from the first event, or its
 * message once it has ended. A client that goes away ends its reading, never the turn.
 */
export function respondWithTurn(
  streams: StreamContext,
  turn: AcceptedTurn,
  options: TurnResponseOptions,
): Promise<Response> | Response {
  const { turnId, assistantMessageId } = turn;
  const named = { "X-Turn-Id": turnId };
  const headers = { ...named, ...(options.location === null ? {} : { Location: options.location }) };
  const isNew = turn.attempt === 0;
  const log = { logId: turnId, turnId, assistantMessageId, attempt: Math.max(1, turn.attempt), isNew };
  const { status, request } = options;
  if (options.stream) return streamTurnLog(streams, log, 0, { status, headers, request });
  return turnAsJson(streams, log, { status, headers, ifFailed: options.isKept === true ? headers : named, request });
}

interface ResponseOptions {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly request: Request;
}

/** How a JSON response begins; with other headers where the turn failed. */
interface JsonOptions extends ResponseOptions {
  readonly ifFailed?: Readonly<Record<string, string>>;
}

/** Returns the response that streams a turn log's events from number `from` on. */
export function streamTurnLog(
  streams: StreamContext,
  log: FollowedLog,
  from: number,
  options: ResponseOptions,
): Response {
  return streamEvents(streams, (following, stop) => followLog(following, log, from, stop), options);
}

/** Returns the response that streams what a generator of SSE text yields. */
export function streamEvents(
  streams: StreamContext,
  events: (following: Following, stop: AbortSignal) => AsyncIterable<string>,
  options: ResponseOptions,
): Response {
  const stop = stopWith(options.request);
  const { ctx, watch } = streams;
  return sseResponse(events({ ...ctx, watch }, stop.signal), stop, {
    ...options,
    onEnd: () => {
      ctx.slots.endStream(options.request);
      endStreamedResponse(options.request);
    },
  });
}

/** Returns the response with the message of a turn or of a continuation, once it has ended. */
export async function turnAsJson(
  streams: StreamContext,
  log: FollowedLog,
  { status, headers, ifFailed = headers, request }: JsonOptions,
): Promise<Response> {
  const stop = stopWith(request);
  // It waits for its turn as long as a stream would, and is counted as one.
  streams.ctx.slots.leave(request);
  const end = await awaitEnd(streams, log, stop.signal);
  if (end?.status === "succeeded") {
    const { message, hasOutput } = end;
    if (message !== null) {
      const said = { message, ...finishReasonOf(message), ...(hasOutput ? outputOf(message) : {}) };
      return Response.json(said, { status, headers });
    }
    // The Idempotency-Key was sent again after a regeneration had removed the message.
    throw new ApiError("message_not_found", { headers: { "X-Turn-Id": log.turnId } });
  }
  // Erased with its session or agent, which may be deleted the moment the turn has ended.
  if (end === null) throw new ApiError("not_found", { headers: { "X-Turn-Id": log.turnId } });
  throw failureOf(end, ifFailed);
}

/** Waits for the end of a turn's log, and returns it; null when the turn is erased. */
export async function awaitEnd({ ctx, watch }: StreamContext, log: FollowedLog, stop: AbortSignal) {
  const { turnId } = log;
  const ask = <T>(read: () => PromiseLike<T>) =>
    retryWhileUnavailable(read, { limitMs: turnPatienceMs, retryIf: isUnavailable });
  for (let followed = log; ; ) {
    for await (const _event of followLog({ ...ctx, watch }, followed, 1, stop)) {
      // The message itself is read from the transcript, where it is complete.
    }
    const end = await ask(() =>
      log.logId === turnId ? endOfTurnTogether(ctx.sql, turnId) : endOfContinuation(ctx.sql, log.logId),
    );
    if (end === null || isEnded(end.status) || stop.aborted) return end;
    // Its log was lost with what it had shown, and the turn runs again.
    const [state] = await ask(() => logStates(ctx.sql, [log.logId]));
    if (state !== undefined) followed = { ...log, attempt: logAttemptOf(state), isNew: false };
  }
}

/** Returns the error of a turn that did not succeed, for a JSON response (docs/decisions/turns.md). */
function failureOf(state: Pick<LogState, "status" | "error">, headers: Readonly<Record<string, string>>): ApiError {
  if (state.status === "canceled") return new ApiError("turn_canceled", { headers });
  if (state.error?.budget !== undefined) {
    const { message, budget } = state.error;
    return exceededError({ message, budgetId: budget.id, resetsAt: budget.resetsAt, headers });
  }
  const cause = errorCauses.find((known) => known === state.error?.code) ?? ("provider_error" satisfies ErrorCause);
  return new ApiError(cause, { headers, ...(state.error === null ? {} : { message: state.error.message }) });
}

/** Returns what is aborted when the client goes. */
export function stopWith(request: Request): AbortController {
  const stop = new AbortController();
  request.signal.addEventListener("abort", () => stop.abort(), { once: true });
  return stop;
}
