import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import type { Sql } from "../../kernel/database/client.ts";
import { ApiError } from "../../kernel/errors.ts";
import { Component } from "../../kernel/http/component.ts";
import { operation, pathIds } from "../../kernel/http/operation.ts";
import { Characters } from "../../kernel/http/request-fields.ts";
import { Id } from "../../kernel/ids.ts";
import { MessageStream } from "../../messages/schema.ts";
import { nextIn, placeAfter } from "../follow/numbering.ts";
import { type StreamContext, streamTurnLog } from "../follow/respond.ts";
import { withoutContent } from "../follow/whole.ts";
import { decideApproval, decisionEntry, listApprovals } from "../pause/approvals.ts";
import { approvalReasonCharactersMax, sessionPath } from "../schema.ts";
import { sessionBusy } from "../state/busy.ts";
import { findSession } from "../state/store.ts";
import { logKeyOf, logStates, messageAtPause } from "../state/turn-log.ts";
import { ofOwnSession, ofOwnSessionWith } from "./client-reach.ts";
import { ApprovalDecisionResponse, ToolApprovalListResponse } from "./responses.ts";

const Decision = Component("ToolApprovalDecide", {
  approved: Type.Boolean(),
  reason: Type.Optional(Characters({ max: approvalReasonCharactersMax })),
});

/** The operations on tool approvals and their continuations. */
export function approvalRoutes(streams: StreamContext) {
  const { ctx } = streams;
  return new Elysia({ prefix: "/v1/agents/:agentId/sessions/:sessionId" })
    .get(
      "/tool-approvals",
      operation(ctx, {
        id: "toolApprovals.list",
        role: "reader",
        summary: "List a session's tool approvals",
        params: pathIds(sessionPath),
        success: 200,
        response: ToolApprovalListResponse,
        errors: ["not_found"],
        clientTokens: ofOwnSession,
        handle: async ({ sql, tenantId, params }) => {
          await requireSession(sql, tenantId, params);
          return listApprovals(sql, params.sessionId);
        },
      }),
    )
    .post(
      "/tool-approvals/:approvalId",
      operation(ctx, {
        id: "toolApprovals.decide",
        role: "approver",
        audit: "approval.decide",
        summary: "Approve or deny a tool call",
        params: pathIds({ ...sessionPath, approvalId: Id("approval") }),
        body: Decision,
        success: 202,
        response: ApprovalDecisionResponse,
        errors: ["not_found", "approval_decided", "client_token_refused"],
        clientTokens: ofOwnSessionWith("approvals"),
        handle: async ({ sql, commit, tenantId, principal, params, body }) => {
          await requireSession(sql, tenantId, params);
          const { approved, reason = null } = body;
          const decision = { approved, reason, decidedBy: principal.actor, name: null };
          return commit((inner, note) => {
            Object.assign(note, decisionEntry(decision));
            return decideApproval(inner, params.sessionId, params.approvalId, decision);
          });
        },
      }),
    )
    .get(
      "/tool-approval-continuations/:continuationId",
      operation(ctx, {
        id: "toolApprovals.joinContinuation",
        role: "reader",
        streams: true,
        summary: "Join the continuation of a turn that stopped to ask",
        params: pathIds({ ...sessionPath, continuationId: Id("continuation") }),
        success: 200,
        response: MessageStream,
        headers: ["X-Turn-Id"],
        errors: ["not_found", "session_busy"],
        clientTokens: ofOwnSession,
        handle: async ({ sql, tenantId, params, request }) => {
          await requireSession(sql, tenantId, params);
          const [log] = await logStates(sql, [params.continuationId]);
          const [owner] = await sql`
            select /* continuation.exists */ 1 from continuations where id = ${params.continuationId} and session_id = ${params.sessionId}`;
          if (log === undefined || owner === undefined) throw new ApiError("not_found");
          if (log.status === "waiting") throw await sessionBusy(sql, params.sessionId);
          const { turnId, assistantMessageId } = log;
          // Whoever follows a continuation by its id has the message up to the pause: a stored answer goes on from there.
          const paused = await messageAtPause(sql, turnId, log.id);
          const before = paused === null ? {} : { before: withoutContent(paused) };
          const followed = { ...logKeyOf(log), turnId, assistantMessageId, ...before };
          const headers = { "X-Turn-Id": turnId };
          const from = nextIn(placeAfter(request), followed, 0);
          return streamTurnLog(streams, followed, from, { status: 200, headers, request });
        },
      }),
    );
}

/** Throws 404 for a session that the agent does not have; one that form A does not show yet is there, because its first turn may be the one that asks. */
export async function requireSession(
  sql: Sql,
  tenantId: string,
  { agentId, sessionId }: { readonly agentId: string; readonly sessionId: string },
): Promise<void> {
  const session = await findSession(sql, tenantId, agentId, sessionId);
  if (session === null) throw new ApiError("not_found");
}
