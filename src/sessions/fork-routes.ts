import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { tooMany } from "../kernel/admission/too-many.ts";
import { SharedSlots } from "../kernel/async/shared-slots.ts";
import type { Ctx } from "../kernel/context.ts";
import { Component } from "../kernel/http/component.ts";
import { operation, pathIds } from "../kernel/http/operation.ts";
import { Reply } from "../kernel/http/reply.ts";
import { Metadata, UserId } from "../kernel/http/request-fields.ts";
import { databaseWaitMs } from "../kernel/limits.ts";
import { forkOfOwn } from "./client-reach.ts";
import { forkSession } from "./fork.ts";
import { SessionResponse } from "./responses.ts";
import { MessageId, sessionPath } from "./schema.ts";

const SessionFork = Component("SessionFork", {
  throughMessageId: Type.Optional(MessageId),
  userId: Type.Optional(UserId),
  metadata: Type.Optional(Metadata),
});

/** Sessions that a process copies at once; one of 100,000 messages takes a connection and a processor of Postgres for some seconds. */
const forksMax = 4;
const forksPerTenantMax = 2;

/** The operation that copies a session. */
export function forkRoutes(ctx: Ctx) {
  const slots = new SharedSlots(forksMax, forksPerTenantMax);
  return new Elysia({ prefix: "/v1" }).post(
    "/agents/:agentId/sessions/:sessionId/fork",
    operation(ctx, {
      id: "sessions.fork",
      audit: "session.fork",
      summary: "Make a session that begins with another one's transcript",
      params: pathIds(sessionPath),
      body: SessionFork,
      success: 201,
      response: SessionResponse,
      headers: ["Location"],
      errors: ["not_found", "fork_message_not_found", "client_token_refused"],
      clientTokens: forkOfOwn,
      handle: async ({ commit, tenantId, params, body }) => {
        const copy = () =>
          commit(async (inner) => {
            const made = await forkSession(inner, { tenantId, ...params, ...body });
            return new Reply(made, { headers: { Location: `/v1/agents/${params.agentId}/sessions/${made.id}` } });
          });
        const release = await slots.take(tenantId, AbortSignal.timeout(databaseWaitMs)).catch(() => {
          throw tooMany("The tenant forks too many sessions at once.");
        });
        return copy().finally(release);
      },
    }),
  );
}
