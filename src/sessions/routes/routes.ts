import { Elysia } from "elysia";
import type { Ctx } from "../../kernel/context.ts";
import { ApiError, invalid } from "../../kernel/errors.ts";
import { operation, pathIds } from "../../kernel/http/operation.ts";
import { readLimit } from "../../kernel/http/page.ts";
import { Closed, Flag } from "../../kernel/http/request-fields.ts";
import { Id } from "../../kernel/ids.ts";
import type { StreamContext } from "../follow/respond.ts";
import { LatestQuery, OpenMessagesQuery, SessionListQuery, sessionPath } from "../schema.ts";
import { deleteSession, findSession, listLatest, listSessions } from "../state/store.ts";
import { messagesAfter, messagesBefore, respondPage } from "../transcript/message-page.ts";
import { openPage } from "../transcript/open-page.ts";
import { allTurnsRoutes } from "./all-turns-routes.ts";
import { approvalRoutes } from "./approval-routes.ts";
import { clientCallRoutes } from "./client-call-routes.ts";
import { listOfOwnSessions, ofOwnSession } from "./client-reach.ts";
import { forkRoutes } from "./fork-routes.ts";
import { LatestSessionListResponse, MessageListResponse, SessionListResponse } from "./responses.ts";
import { oneSessionRoutes } from "./session-routes.ts";
import { acceptRoutes, generateRoutes, retryRoutes, runningTurnRoutes } from "./turn-routes.ts";

const DeleteQuery = Closed({ deleteArtifacts: Flag });
const agentPath = pathIds({ agentId: Id("agent") });
const sessionParams = pathIds(sessionPath);
/** Sessions, their turns, transcripts and tool approvals. */
export function sessionRoutes(streams: StreamContext) {
  const { ctx } = streams;
  return new Elysia()
    .use(acceptRoutes(streams))
    .use(generateRoutes(streams))
    .use(runningTurnRoutes(streams))
    .use(retryRoutes(streams))
    .use(approvalRoutes(streams))
    .use(clientCallRoutes(streams))
    .use(oneSessionRoutes(ctx))
    .use(allTurnsRoutes(ctx))
    .use(listRoutes(ctx))
    .use(transcriptRoutes(ctx))
    .use(forkRoutes(ctx));
}

function listRoutes(ctx: Ctx) {
  return new Elysia({ prefix: "/v1" })
    .get(
      "/agents/:agentId/sessions",
      operation(ctx, {
        id: "sessions.list",
        role: "reader",
        reads: "replica",
        summary: "List an agent's sessions",
        params: agentPath,
        query: SessionListQuery,
        success: 200,
        response: SessionListResponse,
        errors: ["invalid_cursor"],
        clientTokens: listOfOwnSessions,
        handle: ({ sql, tenantId, principal, params, query }) =>
          listSessions(sql, params.agentId, {
            tenantId,
            userId: query.userId,
            sessionId: principal.client?.sessionId ?? undefined,
            cursor: query.cursor,
            limit: readLimit(query.limit),
          }),
      }),
    )
    .get(
      "/sessions/latest",
      operation(ctx, {
        id: "sessions.listLatest",
        role: "reader",
        reads: "replica",
        summary: "List the latest sessions of all agents",
        query: LatestQuery,
        success: 200,
        response: LatestSessionListResponse,
        errors: ["invalid_cursor"],
        handle: ({ sql, tenantId, principal: { agentIds }, query }) =>
          listLatest(sql, query.byAgent === "true", {
            tenantId,
            agentIds,
            userId: query.userId,
            cursor: query.cursor,
            limit: readLimit(query.limit),
          }),
      }),
    );
}

function transcriptRoutes(ctx: Ctx) {
  return new Elysia({ prefix: "/v1" })
    .get(
      "/agents/:agentId/sessions/:sessionId/messages",
      operation(ctx, {
        id: "sessions.listMessages",
        role: "reader",
        reads: "replica",
        summary: "Read a session's messages",
        params: sessionParams,
        query: OpenMessagesQuery,
        success: 200,
        response: MessageListResponse,
        errors: ["invalid_cursor", "not_found"],
        clientTokens: ofOwnSession,
        handle: async ({ sql, tenantId, params, query }) => {
          if (query.cursor !== undefined && query.after !== undefined)
            throw invalid("after", "and cursor exclude each other");
          const limit = readLimit(query.limit);
          const session = await findSession(sql, tenantId, params.agentId, params.sessionId);
          if (!session?.visible) throw new ApiError("not_found");
          return respondPage(tenantId, (inPlace) => {
            const reading = { limit, inPlace };
            if (query.after !== undefined) return messagesAfter(sql, params.sessionId, query.after, reading);
            if (query.pending === "true" && query.cursor === undefined) return openPage(sql, params.sessionId, reading);
            return messagesBefore(sql, params.sessionId, query.cursor, reading);
          });
        },
      }),
    )
    .delete(
      "/agents/:agentId/sessions/:sessionId",
      operation(ctx, {
        id: "sessions.delete",
        role: "runner",
        audit: "session.delete",
        summary: "Delete a session",
        params: sessionParams,
        query: DeleteQuery,
        queryInA: Closed({}),
        success: 204,
        errors: ["not_found", "session_busy"],
        handle: ({ commit, tenantId, params, query }) =>
          commit((inner) =>
            deleteSession(inner, tenantId, params.agentId, params.sessionId, query.deleteArtifacts === "true"),
          ),
      }),
    );
}
