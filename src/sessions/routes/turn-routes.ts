import { Elysia } from "elysia";
import { requireProof } from "../../kernel/auth/proof.ts";
import { unaudited } from "../../kernel/http/audit-trail.ts";
import { readIdempotencyKey } from "../../kernel/http/idempotency.ts";
import { operation, pathIds } from "../../kernel/http/operation.ts";
import { Id } from "../../kernel/ids.ts";
import { MessageStream } from "../../messages/schema.ts";
import { acceptErrors } from "../accept/errors.ts";
import { acceptGeneration, checkGenerateMessages } from "../accept/generate.ts";
import { retryTurn } from "../accept/retry.ts";
import { acceptRole } from "../accept/role.ts";
import { acceptTurn } from "../accept/turn.ts";
import { cancelInSession } from "../cancel/cancel.ts";
import { joinTurn } from "../follow/join.ts";
import { respondWithTurn, type StreamContext } from "../follow/respond.ts";
import { respondWithPause } from "../follow/respond-pause.ts";
import { isSettling, settleByMessage } from "../pause/settle.ts";
import { Generate, sessionPath, type TurnBody, TurnCancel, TurnCreate, TurnResume, TurnRetry } from "../schema.ts";
import { newSessionOfOwn, ofOwnSession, turnOfOwn } from "./client-reach.ts";
import { CancelResponse, MessageResponse, PauseResponse } from "./responses.ts";

const agentPath = pathIds({ agentId: Id("agent") });
const sessionParams = pathIds(sessionPath);
/** Errors of accepting a turn here, and of waiting for its answer. */
const againErrors = [...acceptErrors, "provider_error", "turn_canceled", "turn_limit_reached"] as const;
const turnErrors = [...againErrors, "prompt_variable_missing", "prompt_variable_unknown"] as const;

/** What is the same for all operations that accept a turn. */
const turnRules = {
  role: acceptRole,
  audit: unaudited,
  streams: true,
  idempotency: "own",
  response: [MessageResponse, MessageStream],
  headers: ["X-Turn-Id"],
} as const;

/** The operations that accept a turn of a session and respond with it. */
export function acceptRoutes(streams: StreamContext) {
  const { ctx } = streams;
  return new Elysia({ prefix: "/v1/agents/:agentId" })
    .post(
      "/sessions",
      operation(ctx, {
        id: "sessions.create",
        ...turnRules,
        headers: ["Location", "X-Turn-Id"],
        summary: "Create a session with its first turn",
        params: agentPath,
        body: TurnCreate,
        success: 201,
        errors: [...turnErrors, "client_token_refused"],
        clientTokens: newSessionOfOwn,
        proof: "in statement",
        handle: async ({ principal, tenantId, form, params, body, request, requestId }) => {
          const turn = await acceptTurn(ctx, {
            principal,
            ...params,
            sessionId: null,
            body,
            materialize: form === "a" ? "on_success" : "on_accept",
            requestId,
            key: readIdempotencyKey(request, tenantId, form, body),
          });
          const location = `/v1/agents/${params.agentId}/sessions/${turn.sessionId}`;
          const made = { status: 201, location, isKept: form === "b" } as const;
          return respondWithTurn(streams, turn, { ...made, stream: body.stream ?? true, request });
        },
      }),
    )
    .post(
      "/sessions/:sessionId",
      operation(ctx, {
        id: "sessions.resume",
        ...turnRules,
        summary: "Resume a session with another turn",
        params: sessionParams,
        body: TurnResume,
        success: 200,
        otherwise: { 202: PauseResponse },
        errors: [...turnErrors, "message_not_found", "session_busy", "client_token_refused"],
        clientTokens: turnOfOwn,
        proof: "in statement",
        handle: async ({ principal, tenantId, form, params, body, request, requestId }) => {
          const key = readIdempotencyKey(request, tenantId, form, body);
          const { stream = true } = body;
          if (isSettling(body)) {
            requireProof(principal);
            const settled = await settleByMessage(ctx, { principal, ...params, requestId, key, body });
            return respondWithPause(streams, settled, { stream, request });
          }
          const asked = { principal, ...params, body: furtherTurn(body), requestId, key };
          const turn = await acceptTurn(ctx, { ...asked, materialize: "on_accept" });
          return respondWithTurn(streams, turn, { status: 200, stream, location: null, request });
        },
      }),
    );
}

/** The operation that runs a turn again. */
export function retryRoutes(streams: StreamContext) {
  const { ctx } = streams;
  return new Elysia({ prefix: "/v1/turns" }).post(
    "/:turnId/retry",
    operation(ctx, {
      id: "turns.retry",
      ...turnRules,
      summary: "Run a failed or canceled turn of a session again",
      description:
        "It is a new turn of the session, with the same message, schema and user; what was kept of the one before stays before it. A turn of a chat or a task is answered here only.",
      params: pathIds({ turnId: Id("turn") }),
      body: TurnRetry,
      success: 200,
      errors: [...againErrors, "message_not_found", "session_busy", "turn_not_failed"],
      handle: async ({ principal, tenantId, form, params, body, request, requestId }) => {
        const key = readIdempotencyKey(request, tenantId, form, body);
        const turn = await retryTurn(ctx, { principal, turnId: params.turnId, requestId, key });
        return respondWithTurn(streams, turn, { status: 200, stream: body.stream ?? true, location: null, request });
      },
    }),
  );
}

/** Returns what a request for a further turn of a session says of the turn. */
function furtherTurn({ stream: _stream, message, ...rest }: TurnBody): TurnBody {
  // What is left of the assistant's comes with a regeneration, which ignores it.
  return message?.role === "user" ? { ...rest, message } : rest;
}

/** The operation that generates without a session. */
export function generateRoutes(streams: StreamContext) {
  const { ctx } = streams;
  return new Elysia({ prefix: "/v1/agents/:agentId" }).post(
    "/generate",
    operation(ctx, {
      id: "agents.generate",
      ...turnRules,
      summary: "Generate an answer without a session",
      params: agentPath,
      body: Generate,
      success: 200,
      errors: turnErrors,
      handle: async (input) => {
        const { principal, form, params, body, request, requestId } = input;
        const key = readIdempotencyKey(request, input.tenantId, form, body);
        const turn = await acceptGeneration(ctx, {
          principal,
          agentId: params.agentId,
          messages: checkGenerateMessages(body.messages),
          version: body.version ?? null,
          userId: body.userId ?? "",
          metadata: body.metadata ?? {},
          responseFormat: body.responseFormat ?? null,
          callerOptions: null,
          requestId,
          key,
        });
        return respondWithTurn(streams, turn, { status: 200, stream: body.stream ?? true, location: null, request });
      },
    }),
  );
}

/** The operations on the turn that runs in a session. */
export function runningTurnRoutes(streams: StreamContext) {
  return new Elysia({ prefix: "/v1/agents/:agentId" })
    .get(
      "/sessions/:sessionId/stream",
      operation(streams.ctx, {
        id: "sessions.join",
        role: "reader",
        streams: true,
        summary: "Join the session's running turn",
        params: sessionParams,
        success: 200,
        response: MessageStream,
        headers: ["X-Turn-Id"],
        otherwise: { 204: null },
        errors: ["not_found"],
        clientTokens: ofOwnSession,
        queryToken: true,
        handle: (input) => joinTurn(streams, input),
      }),
    )
    .post(
      "/sessions/:sessionId/cancel",
      operation(streams.ctx, {
        id: "sessions.cancel",
        role: "runner",
        audit: unaudited,
        summary: "Cancel the session's running turn, and its line",
        params: sessionParams,
        success: 202,
        body: TurnCancel,
        response: CancelResponse,
        errors: ["not_found", "session_idle"],
        clientTokens: ofOwnSession,
        idempotency: "own",
        handle: ({ tenantId, params, body }) => cancelInSession(streams.ctx, { tenantId, ...params }, body),
      }),
    );
}
