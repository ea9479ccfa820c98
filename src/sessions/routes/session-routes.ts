import { Elysia } from "elysia";
import type { Ctx } from "../../kernel/context.ts";
import { operation, pathIds } from "../../kernel/http/operation.ts";
import { SessionChange, sessionPath } from "../schema.ts";
import { readSession, replaceMetadata } from "../state/session.ts";
import { ofOwnSession } from "./client-reach.ts";
import { SessionDetailsResponse } from "./responses.ts";

const params = pathIds(sessionPath);

/** The operations on one session. */
export function oneSessionRoutes(ctx: Ctx) {
  return new Elysia({ prefix: "/v1/agents/:agentId/sessions" })
    .get(
      "/:sessionId",
      operation(ctx, {
        id: "sessions.get",
        role: "reader",
        summary: "Read a session and the turns of it that have not ended",
        params,
        success: 200,
        response: SessionDetailsResponse,
        errors: ["not_found"],
        clientTokens: ofOwnSession,
        handle: ({ sql, tenantId, params: { agentId, sessionId } }) => readSession(sql, tenantId, agentId, sessionId),
      }),
    )
    .patch(
      "/:sessionId",
      operation(ctx, {
        id: "sessions.update",
        role: "runner",
        stores: "body",
        audit: "session.update",
        summary: "Replace a session's metadata",
        params,
        body: SessionChange,
        success: 200,
        response: SessionDetailsResponse,
        errors: ["not_found"],
        handle: ({ commit, tenantId, params: { agentId, sessionId }, body }) =>
          commit(async (inner, note) => {
            note.before = await replaceMetadata(inner, { tenantId, agentId, sessionId }, body.metadata);
            return readSession(inner, tenantId, agentId, sessionId);
          }),
      }),
    );
}
