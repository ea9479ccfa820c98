import { Elysia } from "elysia";
import type { Ctx } from "../kernel/context.ts";
import { operation } from "../kernel/http/operation.ts";
import { readLimit } from "../kernel/http/page.ts";
import { listEvents } from "./events.ts";
import { Events, ShownEvent, Summary } from "./responses.ts";
import { EventPath, EventQuery, SummaryQuery } from "./schema.ts";
import { discardEvent, releaseEvent, retryEvent } from "./states.ts";
import { readDays, summarizeEvents } from "./summary.ts";

/** The tenant's usage events (document 2, "Merchant billing"). */
export function merchantEventRoutes(ctx: Ctx) {
  const moves = {
    params: EventPath,
    success: 200,
    answer: ShownEvent,
    errors: ["not_found", "merchant_event_state"],
  } as const;
  return new Elysia({ prefix: "/v1/merchant-usage-events" })
    .get(
      "",
      operation(ctx, {
        summary: "List usage events, newest first",
        query: EventQuery,
        success: 200,
        answer: Events,
        errors: ["invalid_cursor"],
        handle: async ({ sql, tenantId, query: { status, cursor, limit } }) => {
          const { data, nextCursor } = await listEvents(sql, tenantId, { status, cursor, limit: readLimit(limit) });
          return { events: data, nextCursor };
        },
      }),
    )
    .get(
      "/summary",
      operation(ctx, {
        summary: "Summarize the delivery of usage events",
        query: SummaryQuery,
        success: 200,
        answer: Summary,
        handle: ({ sql, tenantId, query }) => summarizeEvents(sql, tenantId, readDays(query.days)),
      }),
    )
    .post(
      "/:id/retry",
      operation(ctx, {
        ...moves,
        summary: "Send a failed or uncertain usage event again",
        handle: ({ sql, tenantId, params }) => retryEvent(sql, tenantId, params.id),
      }),
    )
    .post(
      "/:id/release",
      operation(ctx, {
        ...moves,
        summary: "Send an unmapped usage event whose end user is bound by now",
        handle: ({ sql, tenantId, params }) => releaseEvent(sql, tenantId, params.id),
      }),
    )
    .post(
      "/:id/discard",
      operation(ctx, {
        ...moves,
        summary: "Discard a usage event",
        handle: ({ sql, tenantId, params }) => discardEvent(sql, tenantId, params.id),
      }),
    );
}
