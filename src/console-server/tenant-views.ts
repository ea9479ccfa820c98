import type { Ctx } from "../kernel/context.ts";
import { type OperationHandler, operation } from "../kernel/http/operation.ts";
import { readLimit } from "../kernel/http/page.ts";
import { readReport } from "../kernel/http/read-report.ts";
import { Closed, pageQuery } from "../kernel/http/request-fields.ts";
import { Overviews, readOverview } from "./overview.ts";
import { listWaitingCalls } from "./waiting.ts";

/** Operations that only the page has. They are checked as those of the interface are, and are no part of it. */
export function tenantViews(ctx: Ctx): { readonly overview: OperationHandler; readonly waiting: OperationHandler } {
  const overviews = new Overviews();
  return {
    overview: operation(ctx, {
      id: "consoleViews.overview",
      role: "reader",
      summary: "The last hour by minutes",
      success: 200,
      handle: ({ tenantId, principal: { agentIds }, request }) => {
        const read = () => readReport(ctx, request, tenantId, (sql) => readOverview(sql, tenantId, agentIds));
        return overviews.read(agentIds === null ? tenantId : `${tenantId} ${agentIds.join()}`, read);
      },
    }),
    waiting: operation(ctx, {
      id: "consoleViews.waiting",
      role: "reader",
      summary: "What waits for a person, oldest first",
      query: Closed(pageQuery),
      success: 200,
      errors: ["invalid_cursor"],
      handle: ({ sql, tenantId, principal: { agentIds }, query: { cursor, limit } }) =>
        listWaitingCalls(sql, tenantId, { agentIds, cursor, limit: readLimit(limit) }),
    }),
  };
}
