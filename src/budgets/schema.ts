import { type Static, Type } from "@sinclair/typebox";
import { Component, example } from "../kernel/http/component.ts";
import { Dollars } from "../kernel/http/dollars.ts";
import { Change, Characters, Closed, Name, Nullable, OneOf, pageQuery } from "../kernel/http/request-fields.ts";
import { Id } from "../kernel/ids.ts";
import { userIdLengthMax } from "../kernel/limits.ts";

/** Budgets that a tenant may have at once. */
export const budgetsPerTenantMax = 100;

/** Whose sums are held against the limit. */
export const budgetSubjects = ["tenant", "user", "agent"] as const;
export type BudgetSubject = (typeof budgetSubjects)[number];

/** How long sums are added up: calendar periods in UTC. */
export const budgetPeriods = ["hour", "day", "month", "ever"] as const;
export type BudgetPeriod = (typeof budgetPeriods)[number];

/** What is counted. */
export const budgetMeasures = ["turns", "tokens", "usd"] as const;
export type BudgetMeasure = (typeof budgetMeasures)[number];

/** The highest limit of money, in US dollars. */
export const limitUsdMax = 1_000_000_000_000;

const wholeNumber = (of: string) => Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description: of });

/** A limit: of turns, of tokens, or of money. */
const Limit = Type.Object(
  {
    turns: Type.Optional(wholeNumber("Turns that are accepted.")),
    tokens: Type.Optional(wholeNumber("Input and output tokens together.")),
    usd: Type.Optional(Dollars(limitUsdMax)),
  },
  {
    additionalProperties: false,
    title: "BudgetLimitChoice",
    minProperties: 1,
    maxProperties: 1,
    errorMessage: "must be an object with one of turns, tokens and usd",
    example: { usd: "25" },
  },
);
export type LimitAsked = Static<typeof Limit>;

const fields = {
  name: Name,
  agentId: example(Nullable(Id("agent")), null),
  userId: example(Nullable(Characters({ min: 1, max: userIdLengthMax })), null),
  each: example(OneOf(...budgetSubjects), "user"),
  period: example(OneOf(...budgetPeriods), "month"),
  limit: Limit,
  warnAtPercent: example(Nullable(Type.Integer({ minimum: 1, maximum: 100 })), 80),
  enabled: example(Type.Boolean(), true),
};

export const BudgetCreate = Component("BudgetCreate", {
  name: fields.name,
  agentId: Type.Optional(fields.agentId),
  userId: Type.Optional(fields.userId),
  each: Type.Optional(fields.each),
  period: fields.period,
  limit: fields.limit,
  warnAtPercent: Type.Optional(fields.warnAtPercent),
  enabled: Type.Optional(fields.enabled),
});
export const BudgetUpdate = Change("BudgetUpdate", fields);
export type BudgetFields = Static<typeof BudgetUpdate>;

export const BudgetPageQuery = Closed(pageQuery);
