import type { Principal } from "../kernel/auth/authenticator.ts";
import { turnGate } from "../kernel/auth/gates.ts";
import type { Ctx } from "../kernel/context.ts";
import type { Tx } from "../kernel/database/client.ts";
import { ApiError, invalid } from "../kernel/errors.ts";
import type { IdOf } from "../kernel/ids.ts";
import type { UiMessage } from "../messages/ui-message.ts";
import type { AcceptedTurn } from "../sessions/accept/accepted.ts";
import { acceptGeneration } from "../sessions/accept/generate.ts";
import { joinByKey } from "../sessions/accept/join-by-key.ts";
import { acceptTurn } from "../sessions/accept/turn.ts";
import type { FollowedLog } from "../sessions/follow/followed-log.ts";
import type { CallerOptions } from "../sessions/state/caller-options.ts";
import { beginWith, isLastAnswer, type SessionBegin } from "../sessions/transcript/begin-with.ts";
import { withCopy } from "../sessions/transcript/copy.ts";
import { answer } from "./answer.ts";
import type { AskedResponse, ResponseRequest } from "./asked.ts";
import type { FollowedResponse } from "./follow.ts";
import { itemsOfInput, limitArguments, type ReadInput, readInput } from "./input.ts";
import { callerOptionsOf, echoedFields, readOptions } from "./options.ts";
import { findPrevious, type Previous } from "./previous.ts";
import type { Echo } from "./resource.ts";
import { echoOf, optionsOf } from "./resource.ts";
import { responseIdOf } from "./response-id.ts";
import { checkSettings } from "./settings.ts";

/**
 * Accepts the turn of a response, or the continuation of one: by what its input ends with, and
 * whether anything is to be stored. Throws 400 naming the field, and what accepting a turn throws.
 */
export async function createResponse(ctx: Ctx, request: ResponseRequest): Promise<FollowedResponse> {
  const { body, principal } = request;
  const asked = readOptions(body);
  const items = itemsOfInput(body.input);
  const isStored = body.store ?? true;
  const whose = { tenantId: principal.tenant.id, agentIds: principal.agentIds };
  const previous = isStored ? await findPrevious(ctx.sql, whose, body, items) : null;
  if (!isStored && body.previous_response_id != null)
    throw invalid("/previous_response_id", "is not supported with store: false: send the whole input");
  await limitArguments(items);
  await checkSettings(ctx, request, asked, previous);
  const input = readInput(items, previous?.itemsKnown ?? 0);
  const inherited = previous === null ? [] : echoOf(optionsOf(previous.response)).system;
  const echo: Echo = {
    ...echoedFields(body),
    previousResponseId: previous?.response.id ?? null,
    system: input.system.length > 0 ? input.system : inherited,
  };
  const all: AskedResponse = { ...request, asked, input, echo, previous };
  if (!isStored) return followed(principal, await acceptStateless(ctx, all));
  const isAnswer = input.results.length + input.decisions.length > 0;
  if (isAnswer) return answer(ctx, all);
  return followed(principal, await acceptStored(ctx, all));
}

function followed({ tenant }: Principal, turn: AcceptedTurn): FollowedResponse {
  const { turnId, assistantMessageId, attempt } = turn;
  const log: FollowedLog = {
    logId: turnId,
    turnId,
    assistantMessageId,
    attempt: Math.max(1, attempt),
    isNew: attempt === 0,
  };
  return { tenantId: tenant.id, id: responseIdOf(turnId), log };
}

/** Accepts a turn of which nothing is stored: what it goes on from is all in its input. */
function acceptStateless(ctx: Ctx, { principal, body, asked, input, echo, requestId, key }: AskedResponse) {
  refuseStray(input);
  const last = input.messages.at(-1);
  if (last === undefined || (last.role === "assistant" && !endsWithResult(last)))
    throw invalid("/input", "must end with a user's message, or with the output of a function call");
  return acceptGeneration(ctx, {
    principal,
    agentId: body.model,
    messages: input.messages,
    version: null,
    userId: body.user ?? "",
    metadata: body.metadata ?? {},
    responseFormat: asked.format,
    callerOptions: callerOptionsOf(asked, echo),
    requestId,
    key,
  });
}

/** Results and decisions about what the input does not hold, and what is not waited for. */
function refuseStray({ results, decisions }: ReadInput): void {
  const [result, decision] = [results[0], decisions[0]];
  if (result !== undefined) throw invalid(`${result.pointer}/call_id`, "is of no function_call in the input");
  if (decision !== undefined)
    throw invalid(`${decision.pointer}/type`, "is not supported with store: false: nobody waits for an approval");
}

function endsWithResult({ parts }: UiMessage): boolean {
  const { type } = (parts.at(-1) ?? {}) as { type?: unknown };
  return typeof type === "string" && type.startsWith("tool-");
}

/**
 * Accepts a turn of a session. One message of the user to the last answer of a session goes on there; anything
 * else begins a session with what comes before: the previous response may not be the last one any
 * more, and the input may hold a conversation.
 */
async function acceptStored(ctx: Ctx, request: AskedResponse): Promise<AcceptedTurn> {
  const { previous, input } = request;
  const question = input.messages.at(-1);
  if (question === undefined || question.role !== "user") throw lastItemError(question);
  const earlier = input.messages.slice(0, -1);
  if (previous !== null && earlier.length === 0) {
    const turn = await acceptAtEnd(ctx, request, previous, question);
    if (turn !== null) return turn;
  }
  if (previous === null) return acceptNew(ctx, request, question, { copy: null, messages: earlier });
  return acceptBranch(ctx, request, question, previous, earlier);
}

function lastItemError(last: UiMessage | undefined): ApiError {
  if (last !== undefined && endsWithResult(last))
    return invalid(
      "/input",
      "ends with the output of a function call: send previous_response_id, the ids of the items, or store: false",
    );
  return invalid("/input", "must end with a user's message");
}

/** The answer that a request goes on from is not the last of its session. */
class AnsweredError extends Error {
  override readonly name = "AnsweredError";
}

/** Accepts the next turn of the previous response's session; null when that has gone on since. */
async function acceptAtEnd(
  ctx: Ctx,
  request: AskedResponse,
  { sessionId, response }: Previous,
  question: UiMessage,
): Promise<AcceptedTurn | null> {
  try {
    return await acceptTurn(ctx, {
      ...turnOf(request, question),
      sessionId,
      alongside: async (inner: Tx) => {
        if (!(await isLastAnswer(inner, sessionId, response.turnId))) throw new AnsweredError();
      },
    });
  } catch (error) {
    if (error instanceof AnsweredError) return null;
    // Another turn of the session is under way. Where the previous response is not the last one, that is no hindrance.
    const isBusy = error instanceof ApiError && error.reason === "session_busy";
    if (isBusy && !(await isUnfinished(ctx, response.turnId))) return null;
    throw isBusy ? waitsError() : error;
  }
}

function waitsError(): ApiError {
  return new ApiError("session_busy", {
    message:
      "The previous response is under way, or waits for approvals or outputs of function calls. Wait for it, send what it waits for, or cancel it.",
  });
}

async function isUnfinished({ sql }: Ctx, turnId: IdOf<"turn">): Promise<boolean> {
  const rows = await sql`
    select 1 from turns where id = ${turnId} and status in ('enqueued', 'queued', 'running', 'waiting')`;
  return rows.length > 0;
}

/** Accepts the first turn of a session that begins with the transcript of another one, which is copied for it. */
async function acceptBranch(
  ctx: Ctx,
  request: AskedResponse,
  question: UiMessage,
  { sessionId, response }: Previous,
  messages: readonly UiMessage[],
): Promise<AcceptedTurn> {
  const { principal, body, key } = request;
  // What refuses the turn in any case, or needs no copy, comes first.
  const joined = key === null ? null : await joinByKey(ctx, key);
  if (joined !== null) return joined;
  turnGate(principal.tenant);
  const through = { turnId: response.turnId };
  const source = {
    tenant: principal.tenant,
    agentId: body.model,
    sessionId,
    through,
    missing: "not_found",
  } as const;
  const startedMs = performance.now();
  return withCopy(ctx.sql, source, (copy) => {
    // The caller waits for the copy too.
    const writeBefore = new Date(principal.writeBefore.getTime() + performance.now() - startedMs);
    return acceptNew(ctx, { ...request, principal: { ...principal, writeBefore } }, question, { copy, messages });
  });
}

/** Accepts the first turn of a session that begins with what comes before. */
function acceptNew(ctx: Ctx, request: AskedResponse, question: UiMessage, begin: SessionBegin): Promise<AcceptedTurn> {
  const { previous } = request;
  const turn = turnOf(request, question);
  const version = previous?.pinnedVersion ?? null;
  const userId = request.body.user ?? previous?.response.userId ?? "";
  const begins = begin.copy !== null || begin.messages.length > 0;
  return acceptTurn(ctx, {
    ...turn,
    sessionId: null,
    ...(begin.copy === null ? {} : { newSessionId: begin.copy.sessionId }),
    body: { ...turn.body, userId, ...(version === null ? {} : { version }) },
    ...(begins
      ? {
          alongside: (inner: Tx, accepted: AcceptedTurn) =>
            beginWith(inner, accepted.sessionId as IdOf<"session">, begin),
        }
      : {}),
  });
}

function turnOf({ principal, body, asked, echo, requestId, key }: AskedResponse, question: UiMessage) {
  const message = { id: question.id, role: "user" as const, parts: [...question.parts] };
  return {
    principal,
    agentId: body.model,
    body: {
      message,
      metadata: body.metadata ?? {},
      ...(asked.format === null ? {} : { responseFormat: asked.format }),
    },
    materialize: "on_accept" as const,
    callerOptions: callerOptionsOf(asked, echo) satisfies CallerOptions,
    requestId,
    key,
  };
}
