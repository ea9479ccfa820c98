import { Elysia } from "elysia";
import type { Ctx } from "../kernel/context.ts";
import { operation, pathIds } from "../kernel/http/operation.ts";
import { readReport } from "../kernel/http/read-report.ts";
import { Id } from "../kernel/ids.ts";
import { readUsageQuery } from "./query.ts";
import { UsageResponse } from "./responses.ts";
import { AgentUsageQuery, UsageQuery } from "./schema.ts";
import { readUsage } from "./store.ts";

/** Usage of a tenant and of one of its agents: `/v1/usage`, `/v1/agents/:agentId/usage`. */
export function usageRoutes(ctx: Ctx) {
  return new Elysia()
    .get(
      "/v1/usage",
      operation(ctx, {
        id: "usage.get",
        role: "reader",
        summary: "Read the tenant's usage",
        query: UsageQuery,
        success: 200,
        response: UsageResponse,
        invalidAs: "usage_query_invalid",
        handle: ({ tenantId, principal, query, request }) => {
          const question = readUsageQuery(query, new Date(), principal.agentIds);
          return readReport(ctx, request, tenantId, (sql) => readUsage(sql, tenantId, question));
        },
      }),
    )
    .get(
      "/v1/agents/:agentId/usage",
      operation(ctx, {
        id: "usage.getByAgent",
        role: "reader",
        summary: "Read an agent's usage",
        params: pathIds({ agentId: Id("agent") }),
        query: AgentUsageQuery,
        success: 200,
        response: UsageResponse,
        invalidAs: "usage_query_invalid",
        handle: ({ tenantId, params: { agentId }, query, request }) => {
          const question = readUsageQuery({ ...query, agentId }, new Date());
          return readReport(ctx, request, tenantId, (sql) => readUsage(sql, tenantId, question));
        },
      }),
    );
}
