import { Elysia } from "elysia";
import { ChangesAtOnce } from "../kernel/admission/changes-at-once.ts";
import { reaches } from "../kernel/auth/agent-scope.ts";
import type { Principal } from "../kernel/auth/authenticator.ts";
import { beyondAgents } from "../kernel/auth/roles.ts";
import type { Ctx } from "../kernel/context.ts";
import { operation, pathIds } from "../kernel/http/operation.ts";
import { readLimit } from "../kernel/http/page.ts";
import { Id, type IdOf } from "../kernel/ids.ts";
import { readLimitAmount } from "./amount.ts";
import { BudgetListResponse, BudgetResponse, BudgetSpendingResponse } from "./responses.ts";
import { BudgetCreate, BudgetPageQuery, BudgetUpdate } from "./schema.ts";
import { settleNow } from "./settle.ts";
import { readSpending } from "./spending.ts";
import { deleteBudget, getBudget, insertBudget, listBudgets, lockBudget, showBudget, updateBudget } from "./store.ts";

const params = pathIds({ budgetId: Id("budget") });

/** Budgets: `/v1/budgets`. */
export function budgetRoutes(ctx: Ctx) {
  const changes = new ChangesAtOnce("budgets");
  return new Elysia().use(collectionRoutes(ctx, changes)).use(recordRoutes(ctx, changes)).use(spendingRoutes(ctx));
}

function collectionRoutes(ctx: Ctx, changes: ChangesAtOnce) {
  return new Elysia({ prefix: "/v1/budgets" })
    .get(
      "",
      operation(ctx, {
        id: "budgets.list",
        role: "admin",
        summary: "List budgets, newest first",
        query: BudgetPageQuery,
        success: 200,
        response: BudgetListResponse,
        errors: ["invalid_cursor"],
        handle: ({ sql, principal: { agentIds }, tenantId, query: { cursor, limit } }) =>
          listBudgets(sql, tenantId, { agentIds, cursor, limit: readLimit(limit) }),
      }),
    )
    .post(
      "",
      operation(ctx, {
        id: "budgets.create",
        role: "admin",
        audit: "budget.create",
        summary: "Create a budget",
        description:
          "How much the tenant, each of its users or each of its agents may use in a period. What was used before it in the period that is now counts. Once the limit is reached, turns are 429 `budget_exceeded`, and a running turn ends before its next model call.",
        body: BudgetCreate,
        success: 201,
        response: BudgetResponse,
        errors: ["not_found", "budget_limit_reached"],
        handle: async ({ commit, principal, tenantId, body }) => {
          const { agentId = null, userId = null, each = "tenant", warnAtPercent = null, enabled = true } = body;
          requireWithinAgents(principal, agentId);
          const { name, period } = body;
          const limit = readLimitAmount(body.limit);
          const rule = { name, agentId, userId, each, period, limit, warnAtPercent, enabled };
          return changes.run(tenantId, async () => {
            let made = "";
            const response = await commit(async (inner) => {
              const budget = await insertBudget(inner, tenantId, rule);
              made = budget.id;
              return showBudget(budget);
            });
            await settleNow(ctx, made);
            return response;
          });
        },
      }),
    );
}

/** Throws 403 where a credential that is limited to some agents would make a budget that counts others. */
function requireWithinAgents({ role, agentIds }: Principal, agentId: IdOf<"agent"> | null): void {
  if (agentIds !== null && (agentId === null || !reaches(agentIds, agentId))) throw beyondAgents(role, "admin");
}

function recordRoutes(ctx: Ctx, changes: ChangesAtOnce) {
  return new Elysia({ prefix: "/v1/budgets" })
    .get(
      "/:budgetId",
      operation(ctx, {
        id: "budgets.get",
        role: "admin",
        summary: "Read a budget",
        params,
        success: 200,
        response: BudgetResponse,
        errors: ["not_found"],
        handle: async ({ sql, tenantId, params: { budgetId } }) => showBudget(await getBudget(sql, tenantId, budgetId)),
      }),
    )
    .patch(
      "/:budgetId",
      operation(ctx, {
        id: "budgets.update",
        role: "admin",
        audit: "budget.update",
        summary: "Change a budget",
        description:
          "A new limit holds at once for what was used already. Where it counts otherwise than before, what was used in the period that is now is counted anew.",
        params,
        body: BudgetUpdate,
        success: 200,
        response: BudgetResponse,
        errors: ["not_found"],
        handle: async ({ commit, principal, tenantId, params: { budgetId }, body }) => {
          const { limit, ...fields } = body;
          if (fields.agentId !== undefined) requireWithinAgents(principal, fields.agentId);
          const change = { ...fields, ...(limit === undefined ? {} : { limit: readLimitAmount(limit) }) };
          return changes.run(tenantId, async () => {
            const response = await commit(async (inner, note) => {
              const before = await lockBudget(inner, tenantId, budgetId);
              note.before = showBudget(before);
              return showBudget(await updateBudget(inner, before, change));
            });
            await settleNow(ctx, budgetId);
            return response;
          });
        },
      }),
    )
    .delete(
      "/:budgetId",
      operation(ctx, {
        id: "budgets.delete",
        role: "admin",
        audit: "budget.delete",
        summary: "Delete a budget",
        params,
        success: 204,
        errors: ["not_found"],
        handle: ({ commit, tenantId, params: { budgetId } }) =>
          changes.run(tenantId, () => commit((inner) => deleteBudget(inner, tenantId, budgetId))),
      }),
    );
}

function spendingRoutes(ctx: Ctx) {
  return new Elysia({ prefix: "/v1/budgets" }).get(
    "/:budgetId/spending",
    operation(ctx, {
      id: "budgets.getSpending",
      role: "admin",
      summary: "Read what was used of a budget in the period that is now, largest first",
      params,
      query: BudgetPageQuery,
      success: 200,
      response: BudgetSpendingResponse,
      errors: ["not_found", "invalid_cursor"],
      handle: async ({ sql, tenantId, params: { budgetId }, query: { cursor, limit } }) =>
        readSpending(sql, await getBudget(sql, tenantId, budgetId), { cursor, limit: readLimit(limit) }),
    }),
  );
}
