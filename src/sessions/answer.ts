import type { Ctx } from "../context.ts";
import { ApiError, type ErrorCause, errorCauses } from "../errors.ts";
import { sseResponse } from "../sse.ts";
import { followTurn } from "./follow.ts";
import type { AcceptedTurn } from "./turn.ts";
import { answerOf, turnStates } from "./turns.ts";
import { logAttemptOf, type TurnWatch } from "./watch.ts";

/** What answering turns needs of the HTTP tier. */
export interface TurnDesk {
  readonly ctx: Ctx;
  readonly watch: TurnWatch;
}

/** How a turn's response begins. */
export interface AnswerOptions {
  readonly status: 200 | 201;
  readonly stream: boolean;
  readonly location: string | null;
  readonly request: Request;
}

/**
 * The response to an accepted turn: its stream from the first event, or its
 * message once it has ended. A client that goes away ends its reading, never the turn.
 */
export function answerTurn(desk: TurnDesk, turn: AcceptedTurn, options: AnswerOptions): Promise<Response> | Response {
  const headers = { "X-Turn-Id": turn.turnId, ...(options.location === null ? {} : { Location: options.location }) };
  if (options.stream) return streamTurn(desk, turn, 0, { status: options.status, headers, request: options.request });
  return jsonOfTurn(desk, turn, { status: options.status, headers, request: options.request });
}

/** A turn's events from number `from` on. */
export function streamTurn(
  desk: TurnDesk,
  turn: Pick<AcceptedTurn, "turnId" | "assistantMessageId" | "attempt"> & { readonly status?: string },
  from: number,
  options: { readonly status: number; readonly headers: Record<string, string>; readonly request: Request },
): Response {
  const stop = stopWith(options.request);
  const followed = { turnId: turn.turnId, assistantMessageId: turn.assistantMessageId, attempt: firstLog(turn) };
  const events = followTurn({ ...desk.ctx, watch: desk.watch }, followed, from, stop.signal);
  return sseResponse(events, stop, options);
}

/** A turn just accepted is queued: its first log is that of attempt 1. */
function firstLog(turn: { readonly attempt: number; readonly status?: string }): number {
  return logAttemptOf({ attempt: turn.attempt, status: turn.status ?? (turn.attempt === 0 ? "queued" : "running") });
}

async function jsonOfTurn(
  desk: TurnDesk,
  turn: AcceptedTurn,
  options: { readonly status: number; readonly headers: Record<string, string>; readonly request: Request },
): Promise<Response> {
  const stop = stopWith(options.request);
  const followed = { turnId: turn.turnId, assistantMessageId: turn.assistantMessageId, attempt: firstLog(turn) };
  for await (const _event of followTurn({ ...desk.ctx, watch: desk.watch }, followed, 1, stop.signal)) {
    // The message itself is read from the transcript, where it is whole.
  }
  const { sql } = desk.ctx;
  const [state] = await turnStates(sql, [turn.turnId]);
  if (state?.status === "succeeded") {
    const message = await answerOf(sql, turn.turnId);
    if (message !== null) return Response.json({ message }, { status: options.status, headers: options.headers });
  }
  throw failureOf(state ?? null, options.headers["X-Turn-Id"] ?? "");
}

/** A turn that did not succeed, as a JSON answer says it (`decisions.md`, "Turns"). */
function failureOf(
  state: { readonly status: string; readonly error: { readonly code: string; readonly message: string } | null } | null,
  turnId: string,
): ApiError {
  const headers = { "X-Turn-Id": turnId };
  if (state?.status === "canceled") return new ApiError("turn_canceled", { headers });
  const cause = errorCauses.find((known) => known === state?.error?.code) ?? ("provider_error" satisfies ErrorCause);
  return new ApiError(cause, { headers, ...(state?.error == null ? {} : { message: state.error.message }) });
}

function stopWith(request: Request): AbortController {
  const stop = new AbortController();
  request.signal.addEventListener("abort", () => stop.abort(), { once: true });
  return stop;
}
