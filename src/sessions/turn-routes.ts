import type { Static } from "@sinclair/typebox";
import { Elysia } from "elysia";
import type { Form } from "../kernel/errors.ts";
import { unaudited } from "../kernel/http/audit-trail.ts";
import { readIdempotencyKey } from "../kernel/http/idempotency.ts";
import { operation, pathIds } from "../kernel/http/operation.ts";
import { Id, type IdOf } from "../kernel/ids.ts";
import { MessageStream } from "../messages/schema.ts";
import type { AcceptedTurn } from "./accept/accepted.ts";
import { acceptErrors } from "./accept/errors.ts";
import { acceptGeneration, checkGenerateMessages } from "./accept/generate.ts";
import { acceptRecalled, acceptTurn, type RecalledRequest } from "./accept/turn.ts";
import { cancelInSession } from "./cancel.ts";
import { newSessionOfOwn, ofOwnSession, turnOfOwn } from "./client-reach.ts";
import { joinTurn } from "./follow/join.ts";
import { respondWithTurn, type StreamContext } from "./follow/respond.ts";
import { respondWithPause } from "./follow/respond-pause.ts";
import { CancelResponse, MessageResponse, PauseResponse } from "./responses.ts";
import { Generate, sessionPath, type TurnBody, TurnCancel, TurnCreate, TurnResume } from "./schema.ts";
import { isSettling, settleByMessage } from "./settle.ts";

const agentPath = pathIds({ agentId: Id("agent") });
const sessionParams = pathIds(sessionPath);
/** Errors of accepting a turn here, and of waiting for its answer. */
const turnErrors = [
  ...acceptErrors,
  "prompt_variable_missing",
  "prompt_variable_unknown",
  "provider_error",
  "turn_canceled",
  "turn_limit_reached",
] as const;

/** What is the same for all operations that accept a turn. */
const turnRules = {
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
        handle: async (input) => {
          const { principal, form, body, request } = input;
          const key = readIdempotencyKey(request, input.tenantId, form, body);
          const turn = await acceptTurn(ctx, { principal, key, ...newSession(input) });
          return created(streams, turn, input);
        },
        recalled: async (input) => {
          const turn = await acceptRecalled(ctx, input.key, newSession(input));
          return turn === null ? null : () => created(streams, turn, input);
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
        handle: async (input) => {
          const { principal, form, params, body, request, requestId } = input;
          const key = readIdempotencyKey(request, input.tenantId, form, body);
          const { stream = true } = body;
          if (isSettling(body)) {
            const settled = await settleByMessage(ctx, { principal, ...params, requestId, key, body });
            return respondWithPause(streams, settled, { stream, request });
          }
          const turn = await acceptTurn(ctx, { principal, key, ...furtherTurn(input) });
          return resumed(streams, turn, input);
        },
        recalled: async (input) => {
          if (isSettling(input.body)) return null;
          const turn = await acceptRecalled(ctx, input.key, furtherTurn(input));
          return turn === null ? null : () => resumed(streams, turn, input);
        },
      }),
    );
}

/** A checked request for the first turn of a session. */
interface CreateInput {
  readonly form: Form;
  readonly params: { readonly agentId: IdOf<"agent"> };
  readonly body: Static<typeof TurnCreate>;
  readonly request: Request;
  readonly requestId: string;
}

function newSession({ form, params, body, requestId }: CreateInput): RecalledRequest {
  return {
    agentId: params.agentId,
    sessionId: null,
    body,
    materialize: form === "a" ? "on_success" : "on_accept",
    requestId,
  };
}

function created(streams: StreamContext, turn: AcceptedTurn, { params, body, request }: CreateInput) {
  const location = `/v1/agents/${params.agentId}/sessions/${turn.sessionId}`;
  return respondWithTurn(streams, turn, { status: 201, stream: body.stream ?? true, location, request });
}

/** A checked request for a further turn of a session. */
interface ResumeInput extends Pick<CreateInput, "request" | "requestId"> {
  readonly params: { readonly agentId: IdOf<"agent">; readonly sessionId: IdOf<"session"> };
  readonly body: TurnBody;
}

function furtherTurn({ params, body, requestId }: ResumeInput): RecalledRequest {
  const { stream: _stream, message, ...rest } = body;
  // What is left of the assistant's comes with a regeneration, which ignores it.
  const said = message?.role === "user" ? { ...rest, message } : rest;
  return { ...params, body: said, materialize: "on_accept", requestId };
}

function resumed(streams: StreamContext, turn: AcceptedTurn, { body, request }: ResumeInput) {
  return respondWithTurn(streams, turn, { status: 200, stream: body.stream ?? true, location: null, request });
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
