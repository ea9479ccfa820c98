import { Elysia } from "elysia";
import type { Ctx } from "../kernel/context.ts";
import { operation } from "../kernel/http/operation.ts";
import { readLimit } from "../kernel/http/page.ts";
import { readMomentRange } from "../kernel/http/range.ts";
import { AuditEventListResponse } from "./responses.ts";
import { AuditEventQuery } from "./schema.ts";
import { listAuditEvents } from "./store.ts";

/** Who did what in the tenant: `/v1/audit-events`. */
export function auditRoutes(ctx: Ctx) {
  return new Elysia({ prefix: "/v1/audit-events" }).get(
    "",
    operation(ctx, {
      id: "auditEvents.list",
      role: "editor",
      reads: "replica",
      summary: "List who did what, newest first",
      description:
        "Every operation that changes something leaves one event, for 400 days; turns leave none. `changes` names fields; `values` says what settings among them became: numbers, yes and no, ids, words of closed lists, and models. Texts that somebody wrote and secrets are never kept.",
      query: AuditEventQuery,
      success: 200,
      response: AuditEventListResponse,
      errors: ["invalid_cursor"],
      handle: ({ sql, principal: { agentIds }, tenantId, query }) => {
        const { action, actorId, resourceId, cursor, limit } = query;
        return listAuditEvents(sql, tenantId, {
          ...{ action, actorId, resourceId, agentIds, cursor, limit: readLimit(limit) },
          ...readMomentRange(query),
        });
      },
    }),
  );
}
