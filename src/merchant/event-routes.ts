import { Elysia } from "elysia";
import type { Ctx } from "../kernel/context.ts";
import { operation } from "../kernel/http/operation.ts";
import { readLimit } from "../kernel/http/page.ts";
import { readReport } from "../kernel/http/read-report.ts";
import { listUsageEvents } from "./events.ts";
import { UsageEventListResponse, UsageEventResponse, UsageEventSummaryResponse } from "./responses.ts";
import { UsageEventPath, UsageEventQuery, UsageEventSummaryQuery } from "./schema.ts";
import { discardUsageEvent, releaseUsageEvent, retryUsageEvent } from "./states.ts";
import { readDays, summarizeUsageEvents } from "./summary.ts";

/** The operations on the tenant's usage events: `/v1/merchant-usage-events`. */
export function merchantEventRoutes(ctx: Ctx) {
  const moves = {
    params: UsageEventPath,
    success: 200,
    response: UsageEventResponse,
    errors: ["not_found", "merchant_event_state"],
  } as const;
  return new Elysia({ prefix: "/v1/merchant-usage-events" })
    .get(
      "",
      operation(ctx, {
        id: "merchantEvents.list",
        role: "admin",
        reads: "replica",
        summary: "List usage events, newest first",
        query: UsageEventQuery,
        success: 200,
        response: UsageEventListResponse,
        errors: ["invalid_cursor"],
        handle: async ({ sql, principal: { agentIds }, tenantId, query: { status, cursor, limit } }) => {
          const { data, nextCursor } = await listUsageEvents(sql, tenantId, {
            status,
            agentIds,
            cursor,
            limit: readLimit(limit),
          });
          return { events: data, nextCursor };
        },
      }),
    )
    .get(
      "/summary",
      operation(ctx, {
        id: "merchantEvents.summarize",
        role: "admin",
        summary: "Summarize the delivery of usage events",
        query: UsageEventSummaryQuery,
        success: 200,
        response: UsageEventSummaryResponse,
        handle: ({ tenantId, principal: { agentIds }, query, request }) => {
          const days = readDays(query.days);
          return readReport(ctx, request, tenantId, (sql) => summarizeUsageEvents(sql, { tenantId, agentIds }, days));
        },
      }),
    )
    .post(
      "/:id/retry",
      operation(ctx, {
        ...moves,
        id: "merchantEvents.retry",
        role: "admin",
        audit: "merchant_event.retry",
        summary: "Send a failed or uncertain usage event again",
        handle: ({ commit, tenantId, params }) => commit((inner) => retryUsageEvent(inner, tenantId, params.id)),
      }),
    )
    .post(
      "/:id/release",
      operation(ctx, {
        ...moves,
        id: "merchantEvents.release",
        role: "admin",
        audit: "merchant_event.release",
        summary: "Send an unmapped usage event whose end user is bound by now",
        handle: ({ commit, tenantId, params }) => commit((inner) => releaseUsageEvent(inner, tenantId, params.id)),
      }),
    )
    .post(
      "/:id/discard",
      operation(ctx, {
        ...moves,
        id: "merchantEvents.discard",
        role: "admin",
        audit: "merchant_event.discard",
        summary: "Discard a usage event",
        handle: ({ commit, tenantId, params }) => commit((inner) => discardUsageEvent(inner, tenantId, params.id)),
      }),
    );
}
