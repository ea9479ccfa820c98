import { Elysia } from "elysia";
import type { Ctx } from "../kernel/context.ts";
import { ApiError, invalid } from "../kernel/errors.ts";
import { readIdempotencyKey } from "../kernel/http/idempotency.ts";
import { operation, pathIds } from "../kernel/http/operation.ts";
import { readLimit } from "../kernel/http/page.ts";
import { Closed, Flag } from "../kernel/http/request-fields.ts";
import { Id } from "../kernel/ids.ts";
import { MessageStream } from "../messages/schema.ts";
import { acceptGeneration, checkGenerateMessages } from "./accept/generate.ts";
import { acceptTurn } from "./accept/turn.ts";
import { approvalRoutes } from "./approval-routes.ts";
import { cancelTurn } from "./cancel.ts";
import { joinTurn } from "./follow/join.ts";
import { respondWithTurn, type StreamContext } from "./follow/respond.ts";
import { TurnWatch } from "./follow/watch.ts";
import {
  CancelResponse,
  LatestSessionListResponse,
  MessageListResponse,
  MessageResponse,
  SessionListResponse,
} from "./responses.ts";
import {
  Generate,
  LatestQuery,
  MessagesQuery,
  SessionListQuery,
  sessionPath,
  TurnCreate,
  TurnResume,
} from "./schema.ts";
import { deleteSession, findSession, listLatest, listSessions, messagesAfter, messagesBefore } from "./state/store.ts";

const DeleteQuery = Closed({ deleteArtifacts: Flag });
const agentPath = pathIds({ agentId: Id("agent") });
const sessionParams = pathIds(sessionPath);
/** What accepting a turn may answer beyond the shared errors (document 1, "POST …/sessions"). */
const turnErrors = [
  "invalid_request",
  "provider_required",
  "prompt_variable_missing",
  "prompt_variable_unknown",
  "usage_credit_required",
  "merchant_subscription_required",
  "merchant_balance_required",
  "merchant_customer_unmapped",
  "merchant_eligibility_unavailable",
  "not_found",
  "provider_missing_for_turn",
  "version_missing_for_run",
  "sandbox_required_for_turn",
  "agent_disabled",
  "tenant_deleting",
  "quota_exceeded",
  "provider_error",
  "turn_canceled",
  "idempotency_key_reused",
] as const;

/** Sessions and their turns (document 1, "Sessions"; design section 3, "Beyond the spec"). */
export function sessionRoutes(ctx: Ctx) {
  const streams: StreamContext = { ctx, watch: new TurnWatch(ctx.sql) };
  return new Elysia().use(turnRoutes(streams)).use(approvalRoutes(streams)).use(transcriptRoutes(ctx));
}

function turnRoutes(streams: StreamContext) {
  const { ctx } = streams;
  return new Elysia({ prefix: "/v1/agents/:agentId" })
    .post(
      "/sessions",
      operation(ctx, {
        id: "sessions.create",
        summary: "Create a session with its first turn",
        params: agentPath,
        body: TurnCreate,
        success: 201,
        answer: [MessageResponse, MessageStream],
        errors: turnErrors,
        idempotency: "own",
        handle: async (input) => {
          const { principal, form, params, body, request, requestId } = input;
          const key = readIdempotencyKey(request, input.tenantId, form, body);
          const materialize = form === "a" ? "on_success" : "on_accept";
          const turn = await acceptTurn(ctx, {
            principal,
            agentId: params.agentId,
            sessionId: null,
            body,
            materialize,
            requestId,
            key,
          });
          const location = `/v1/agents/${params.agentId}/sessions/${turn.sessionId}`;
          return respondWithTurn(streams, turn, { status: 201, stream: body.stream ?? true, location, request });
        },
      }),
    )
    .post(
      "/sessions/:sessionId",
      operation(ctx, {
        id: "sessions.resume",
        summary: "Resume a session with another turn",
        params: sessionParams,
        body: TurnResume,
        success: 200,
        answer: [MessageResponse, MessageStream],
        errors: [...turnErrors, "message_not_found", "session_busy"],
        idempotency: "own",
        handle: async (input) => {
          const { principal, form, params, body, request, requestId } = input;
          const key = readIdempotencyKey(request, input.tenantId, form, body);
          const turn = await acceptTurn(ctx, { principal, ...params, body, materialize: "on_accept", requestId, key });
          return respondWithTurn(streams, turn, { status: 200, stream: body.stream ?? true, location: null, request });
        },
      }),
    )
    .get(
      "/sessions/:sessionId/stream",
      operation(ctx, {
        id: "sessions.join",
        summary: "Join the session's running turn",
        params: sessionParams,
        success: 200,
        answer: MessageStream,
        otherwise: { 204: null },
        errors: ["not_found"],
        handle: (input) => joinTurn(streams, input),
      }),
    )
    .post(
      "/sessions/:sessionId/cancel",
      operation(ctx, {
        id: "sessions.cancel",
        summary: "Cancel the session's running turn",
        params: sessionParams,
        success: 202,
        answer: CancelResponse,
        errors: ["not_found", "session_idle"],
        idempotency: "own",
        handle: ({ tenantId, params }) => cancelTurn(ctx, tenantId, params.agentId, params.sessionId),
      }),
    )
    .post(
      "/generate",
      operation(ctx, {
        id: "agents.generate",
        summary: "Generate an answer without a session",
        params: agentPath,
        body: Generate,
        success: 200,
        answer: [MessageResponse, MessageStream],
        errors: turnErrors,
        idempotency: "own",
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
            requestId,
            key,
          });
          return respondWithTurn(streams, turn, { status: 200, stream: body.stream ?? true, location: null, request });
        },
      }),
    );
}

function transcriptRoutes(ctx: Ctx) {
  return new Elysia({ prefix: "/v1" })
    .get(
      "/agents/:agentId/sessions",
      operation(ctx, {
        id: "sessions.list",
        summary: "List an agent's sessions",
        params: agentPath,
        query: SessionListQuery,
        success: 200,
        answer: SessionListResponse,
        errors: ["invalid_cursor"],
        handle: ({ sql, tenantId, params, query }) =>
          listSessions(sql, params.agentId, {
            tenantId,
            userId: query.userId,
            cursor: query.cursor,
            limit: readLimit(query.limit),
          }),
      }),
    )
    .get(
      "/sessions/latest",
      operation(ctx, {
        id: "sessions.listLatest",
        summary: "List the latest sessions of all agents",
        query: LatestQuery,
        success: 200,
        answer: LatestSessionListResponse,
        errors: ["invalid_cursor"],
        handle: ({ sql, tenantId, query }) =>
          listLatest(sql, query.byAgent === "true", {
            tenantId,
            userId: query.userId,
            cursor: query.cursor,
            limit: readLimit(query.limit),
          }),
      }),
    )
    .get(
      "/agents/:agentId/sessions/:sessionId/messages",
      operation(ctx, {
        id: "sessions.listMessages",
        summary: "Read a session's messages",
        params: sessionParams,
        query: MessagesQuery,
        success: 200,
        answer: MessageListResponse,
        errors: ["invalid_cursor", "not_found"],
        handle: async ({ sql, tenantId, params, query }) => {
          if (query.cursor !== undefined && query.after !== undefined)
            throw invalid("after", "and cursor exclude each other");
          const limit = readLimit(query.limit);
          const session = await findSession(sql, tenantId, params.agentId, params.sessionId);
          if (!session?.visible) throw new ApiError("not_found");
          if (query.after !== undefined) return messagesAfter(sql, params.sessionId, query.after, limit);
          return messagesBefore(sql, params.sessionId, query.cursor, limit);
        },
      }),
    )
    .delete(
      "/agents/:agentId/sessions/:sessionId",
      operation(ctx, {
        id: "sessions.delete",
        summary: "Delete a session",
        params: sessionParams,
        query: DeleteQuery,
        queryInA: Closed({}),
        success: 204,
        errors: ["not_found", "session_busy"],
        handle: ({ sql, tenantId, params, query }) =>
          deleteSession(sql, tenantId, params.agentId, params.sessionId, query.deleteArtifacts === "true"),
      }),
    );
}
