import { type Contract, cap, characters, number, pageLimit } from "./contract.ts";

const budget = { budgetId: ["bud", "404 not_found"] } as const;
const cursor = "400 invalid_cursor | 400 invalid_request";
const full = "400 budget_limit_reached | 400 invalid_request";
const fields = [characters("/name", 1, 80), characters("/userId", 1, 256), number("/warnAtPercent", 1, 100)];

/** Budgets: docs/decisions/budgets.md. */
export const budgets: readonly Contract[] = [
  { op: "GET /v1/budgets", success: [200], shape: "BudgetPage", errors: [cursor], limits: [pageLimit(200)] },
  {
    op: "POST /v1/budgets",
    success: [201],
    shape: "Budget",
    body: "json",
    required: ["name", "period", "limit"],
    key: "response",
    errors: ["404 not_found", full],
    limits: [...fields, cap("budgets per tenant", 100, full)],
  },
  { op: "GET /v1/budgets/:budgetId", success: [200], shape: "Budget", ids: budget, errors: [] },
  {
    op: "PATCH /v1/budgets/:budgetId",
    success: [200],
    shape: "Budget",
    ids: budget,
    body: "json",
    errors: [],
    limits: fields,
  },
  { op: "DELETE /v1/budgets/:budgetId", success: [204], shape: null, ids: budget, errors: [] },
  {
    op: "GET /v1/budgets/:budgetId/spending",
    success: [200],
    shape: "BudgetSpendingPage",
    ids: budget,
    errors: [cursor],
    limits: [pageLimit(200)],
  },
];
