import { Type } from "@sinclair/typebox";
import { Component, example } from "../kernel/http/component.ts";
import { Nullable, OneOf } from "../kernel/http/request-fields.ts";
import { MomentOrNull, pageOf, Text, TextOrNull, times } from "../kernel/http/response-fields.ts";
import { Id } from "../kernel/ids.ts";
import { budgetPeriods, budgetSubjects } from "./schema.ts";

/** What operations on budgets respond with, for the OpenAPI document. */
export const BudgetResponse = Component("Budget", {
  id: Id("budget"),
  name: example(Text, "Support"),
  agentId: example(Nullable(Id("agent")), null),
  userId: example(TextOrNull, null),
  each: example(OneOf(...budgetSubjects), "user"),
  period: example(OneOf(...budgetPeriods), "month"),
  limit: example(
    Component("BudgetLimit", {
      turns: Type.Optional(Type.Integer()),
      tokens: Type.Optional(Type.Integer()),
      usd: Type.Optional(Type.String({ description: "US dollars, as decimal text." })),
    }),
    { usd: "25" },
  ),
  warnAtPercent: example(Nullable(Type.Integer()), 80),
  enabled: example(Type.Boolean(), true),
  ...times,
});
export const BudgetListResponse = pageOf("BudgetPage", BudgetResponse);

const amount = Type.Union([Type.Integer(), Type.String()], {
  description: "Turns or tokens as a number, US dollars as decimal text.",
});

export const BudgetSpendingResponse = pageOf(
  "BudgetSpendingPage",
  Component("BudgetSpending", {
    userId: example(TextOrNull, "user-42"),
    agentId: example(Nullable(Id("agent")), null),
    used: example(amount, "3.125"),
    limit: example(amount, "25"),
    resetsAt: example(MomentOrNull, "2026-02-01T00:00:00.000Z"),
  }),
);
