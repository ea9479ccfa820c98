import type { Cause } from "./causes.ts";
import { budgetBody } from "./outside.ts";
import { send } from "./world.ts";

/** Errors of budgets. */
export const budgetCauses: readonly Cause[] = [
  {
    ops: ["POST /v1/budgets"],
    row: "400 budget_limit_reached | 400 invalid_request",
    alone: true,
    async meet(s, form, op) {
      for (let made = 0; made < 100; made += 1) await s.parley.budgets.create(budgetBody());
      return send(s.t, op, form, { body: budgetBody() });
    },
  },
  {
    ops: ["POST /v1/budgets"],
    row: "404 not_found",
    meet: (s, form, op) => send(s.t, op, form, { body: { ...budgetBody(), agentId: s.newRowId("agent") } }),
  },
];
