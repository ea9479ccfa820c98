import type { Budget, BudgetCreate } from "parley/client";
import { countOf } from "../parts/moment.ts";
import { dollarText } from "../parts/money.ts";

/** What a person edits of a budget. Fields have the API's names, so that its errors find them. */
export interface BudgetForm {
  readonly name: string;
  readonly agentId: string;
  readonly userId: string;
  readonly each: Budget["each"];
  readonly period: Budget["period"];
  readonly unit: BudgetUnit;
  readonly limit: string;
  readonly warnAtPercent: string;
  readonly enabled: boolean;
}

/** What a budget counts. */
export type BudgetUnit = "turns" | "tokens" | "usd";

export const unitChoices = [
  ["turns", "turns"],
  ["tokens", "tokens"],
  ["usd", "US dollars"],
] as const satisfies readonly (readonly [BudgetUnit, string])[];

export const eachChoices = [
  ["tenant", "all together"],
  ["user", "each user"],
  ["agent", "each agent"],
] as const satisfies readonly (readonly [Budget["each"], string])[];

export const periodChoices = [
  ["hour", "an hour"],
  ["day", "a day"],
  ["month", "a month"],
  ["ever", "ever"],
] as const satisfies readonly (readonly [Budget["period"], string])[];

/** What a budget counts. */
export function unitOf({ limit }: Pick<Budget, "limit">): BudgetUnit {
  if (limit.turns !== undefined) return "turns";
  return limit.tokens !== undefined ? "tokens" : "usd";
}

/** An amount of what a budget counts. */
export function amountText(unit: BudgetUnit, amount: number | string): string {
  if (unit === "usd") return dollarText(String(amount));
  return countOf(Number(amount), unit.replace(/s$/, ""));
}

/** How much a budget allows, when and for whom: `60,000 tokens a day, each user`. */
export function budgetText(budget: Pick<Budget, "limit" | "period" | "each" | "userId">): string {
  const { limit, period } = budget;
  const unit = unitOf({ limit });
  if (Number(limit[unit]) === 0) return "no turn at all";
  const amount = amountText(unit, limit[unit] ?? 0);
  return `${amount} ${period === "ever" ? "in all" : `a${period === "hour" ? "n" : ""} ${period}`}, ${whomText(budget)}`;
}

/** Whose use is counted together; of a budget for one user, who that is. */
export function whomText({ each, userId }: Pick<Budget, "each" | "userId">): string {
  if (each === "tenant" && userId !== null) return `user ${userId}`;
  return eachChoices.find(([name]) => name === each)?.[1] ?? each;
}

/** Returns the form of a budget, or of a new one. */
export function formOfBudget(budget: Budget | null): BudgetForm {
  if (budget === null)
    return {
      ...{ name: "", agentId: "", userId: "", each: "tenant", period: "month" },
      ...{ unit: "usd", limit: "", warnAtPercent: "80", enabled: true },
    };
  const { name, agentId, userId, each, period, warnAtPercent, enabled } = budget;
  const unit = unitOf(budget);
  return {
    ...{ name, agentId: agentId ?? "", userId: userId ?? "", each, period, unit, enabled },
    limit: String(budget.limit[unit] ?? ""),
    warnAtPercent: warnAtPercent === null ? "" : String(warnAtPercent),
  };
}

/** Returns what the form says, for a budget that is made or changed. What is no number is sent as it is: the service says what is wrong with it. */
export function budgetOfForm(form: BudgetForm): BudgetCreate {
  const { name, agentId, userId, each, period, unit, limit, warnAtPercent, enabled } = form;
  const amount = limit.trim().replaceAll(/[,_ ]/g, "");
  return {
    ...{ name: name.trim(), each, period, enabled },
    ...{ agentId: agentId === "" ? null : agentId, userId: userId.trim() === "" ? null : userId.trim() },
    limit: unit === "usd" ? { usd: amount } : { [unit]: amount === "" ? Number.NaN : Number(amount) },
    warnAtPercent: warnAtPercent.trim() === "" ? null : Number(warnAtPercent),
  };
}

/** The share that is used, from 0 to 1; a limit of 0 is used up. */
export function usedShare(used: number | string, limit: number | string): number {
  return Number(limit) === 0 ? 1 : Math.min(1, Number(used) / Number(limit));
}
