import { Elysia } from "elysia";
import { unaudited } from "../kernel/http/audit-trail.ts";
import { readIdempotencyKey } from "../kernel/http/idempotency.ts";
import { operation, pathIds } from "../kernel/http/operation.ts";
import { Id } from "../kernel/ids.ts";
import { acceptErrors } from "../sessions/accept/errors.ts";
import { deleteTurn, eraseTurnElsewhere, eraseTurnLogs } from "../sessions/erase/turn.ts";
import type { StreamContext } from "../sessions/follow/respond.ts";
import { cancelResponse, endIfWaiting, requireEnded } from "./cancel.ts";
import { createResponse } from "./create.ts";
import { atOnce, streamed, whole } from "./follow.ts";
import { modelRoutes } from "./model-routes.ts";
import { requireResponse } from "./read.ts";
import { showResponse } from "./resource.ts";
import { ResponseDeletedResponse, ResponseResponse, ResponseStream } from "./responses.ts";
import { ResponseCreate } from "./schema.ts";

const responsePath = pathIds({ responseId: Id("response") });

/** Agents by the Open Responses protocol, which OpenAI's clients speak: `/v1/responses` and `/v1/models`. */
export function responseRoutes(streams: StreamContext) {
  return new Elysia().use(createRoutes(streams)).use(oneResponseRoutes(streams)).use(modelRoutes(streams.ctx));
}

function createRoutes(streams: StreamContext) {
  const { ctx } = streams;
  return new Elysia({ prefix: "/v1/responses" }).post(
    "",
    operation(ctx, {
      id: "responses.create",
      role: "runner",
      protocolErrors: true,
      audit: unaudited,
      streams: true,
      idempotency: "own",
      summary: "Create a response of an agent",
      description:
        "A turn of an agent by the Open Responses protocol: `model` is the agent's id. See `docs/responses.md` for what each field does.",
      body: ResponseCreate,
      success: 200,
      response: [ResponseResponse, ResponseStream],
      headers: ["X-Turn-Id"],
      errors: [...acceptErrors, "session_busy", "tool_call_settled"],
      handle: async ({ principal, form, body, request, requestId, tenantId }) => {
        const key = readIdempotencyKey(request, tenantId, form, body);
        const response = await createResponse(ctx, { principal, body, requestId, key });
        if (body.stream === true) return streamed(streams, response, { request });
        return body.background === true ? atOnce(streams, response) : whole(streams, response, { request });
      },
    }),
  );
}

function oneResponseRoutes({ ctx }: StreamContext) {
  return new Elysia({ prefix: "/v1/responses/:responseId" })
    .get(
      "",
      operation(ctx, {
        id: "responses.get",
        role: "reader",
        protocolErrors: true,
        summary: "Read a response",
        params: responsePath,
        success: 200,
        response: ResponseResponse,
        errors: ["not_found"],
        handle: async ({ sql, tenantId, params }) =>
          showResponse(await requireResponse(sql, tenantId, params.responseId)),
      }),
    )
    .post(
      "/cancel",
      operation(ctx, {
        id: "responses.cancel",
        role: "runner",
        protocolErrors: true,
        audit: unaudited,
        summary: "Cancel a response",
        description: "Nothing of it is kept. One that was cancelled before is returned as it is.",
        params: responsePath,
        success: 200,
        response: ResponseResponse,
        errors: ["not_found", "session_idle"],
        idempotency: "own",
        handle: async ({ tenantId, params }) => showResponse(await cancelResponse(ctx, tenantId, params.responseId)),
      }),
    )
    .delete(
      "",
      operation(ctx, {
        id: "responses.delete",
        role: "runner",
        protocolErrors: true,
        audit: "response.delete",
        summary: "Delete a response",
        description:
          "Its turn leaves the conversation, with all that it said and did, and those that branched from it. The last turn of a session takes the session along.",
        params: responsePath,
        success: 200,
        response: ResponseDeletedResponse,
        errors: ["not_found", "session_busy"],
        handle: async ({ sql, commit, tenantId, params }) => {
          const id = params.responseId;
          const found = await requireResponse(sql, tenantId, id);
          await endIfWaiting(ctx, found);
          const turn = { tenantId, agentId: found.agentId, sessionId: found.sessionId, turnId: found.turnId };
          await requireEnded(sql, turn.turnId);
          await eraseTurnLogs(ctx, turn.turnId);
          await eraseTurnElsewhere(sql, turn);
          return commit(async (inner) => {
            await deleteTurn(inner, turn);
            return { id, object: "response", deleted: true };
          });
        },
      }),
    );
}
