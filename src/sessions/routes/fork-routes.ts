import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import type { Ctx } from "../../kernel/context.ts";
import { Component } from "../../kernel/http/component.ts";
import { operation, pathIds } from "../../kernel/http/operation.ts";
import { Reply } from "../../kernel/http/reply.ts";
import { Metadata, UserId } from "../../kernel/http/request-fields.ts";
import { MessageId, sessionPath } from "../schema.ts";
import { withCopy } from "../transcript/copy.ts";
import { forkSession, forkSource } from "../transcript/fork.ts";
import { forkOfOwn } from "./client-reach.ts";
import { SessionResponse } from "./responses.ts";

const SessionFork = Component("SessionFork", {
  throughMessageId: Type.Optional(MessageId),
  userId: Type.Optional(UserId),
  metadata: Type.Optional(Metadata),
});

/** The operation that copies a session. */
export function forkRoutes(ctx: Ctx) {
  return new Elysia({ prefix: "/v1" }).post(
    "/agents/:agentId/sessions/:sessionId/fork",
    operation(ctx, {
      id: "sessions.fork",
      role: "runner",
      audit: "session.fork",
      summary: "Make a session that begins with another one's transcript",
      params: pathIds(sessionPath),
      body: SessionFork,
      success: 201,
      response: SessionResponse,
      headers: ["Location"],
      stores: "own",
      errors: ["not_found", "fork_message_not_found", "client_token_refused"],
      clientTokens: forkOfOwn,
      handle: async ({ commit, principal, params, body }) => {
        const request = { tenant: principal.tenant, ...params, ...body };
        return withCopy(ctx.sql, forkSource(request), (copy) =>
          commit(async (inner) => {
            const made = await forkSession(inner, copy, request);
            return new Reply(made, { headers: { Location: `/v1/agents/${params.agentId}/sessions/${made.id}` } });
          }),
        );
      },
    }),
  );
}
