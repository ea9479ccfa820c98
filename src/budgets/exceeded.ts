import type postgres from "postgres";
import type { AnySql } from "../kernel/database/client.ts";
import { ApiError, limitHeaders } from "../kernel/errors.ts";
import type { IdOf } from "../kernel/ids.ts";
import { type Amount, showAmount } from "./amount.ts";
import type { BudgetPeriod } from "./schema.ts";
import { countsFor, isSumOf, ownerOf, periodEnd, periodLength, type TurnOwner } from "./sums.ts";

/** A budget that refuses a turn, or its next model call. */
export interface ExceededBudget {
  readonly id: IdOf<"budget">;
  readonly name: string;
  readonly period: BudgetPeriod;
  readonly limit: Amount;
  /** When it is whole again; null: never by itself. */
  readonly resetsAt: Date | null;
}

interface ExceededRow extends Amount {
  readonly id: IdOf<"budget">;
  readonly name: string;
  readonly period: BudgetPeriod;
  readonly resetsAt: Date | null;
}

function exceededColumns(sql: AnySql): postgres.Fragment {
  return sql`b.id, b.name, b.period, b.measure, trim_scale(b.limit_amount)::text as amount, b.limit_usd as usd, ${periodEnd(sql)} as resets_at`;
}

/** Returns the condition that a budget `b` of tokens or money is used up for an owner; each sum is found by its key. */
function isUsedUp(sql: AnySql, owner: TurnOwner): postgres.Fragment {
  return sql`${countsFor(sql, owner)} and b.enabled and b.measure <> 'turns'
        and coalesce((select s.used from budget_spending s where ${isSumOf(sql, owner)}), 0) >= b.limit_amount`;
}

/** Returns whether a budget of tokens or money is used up for a turn of this owner, as an expression. */
export function isOverBudget(sql: AnySql, owner: TurnOwner): postgres.Fragment {
  return sql`exists (select 1 from budgets b where ${isUsedUp(sql, owner)})`;
}

/** Whose turn it is. */
interface Owner {
  readonly tenantId: string;
  readonly agentId: string;
  readonly userId: string;
}

/** Returns the budget of tokens or money that a turn of this owner has used up, of several the one that is so for longest; null: none. */
export async function findExceeded(sql: AnySql, { tenantId, agentId, userId }: Owner): Promise<ExceededBudget | null> {
  const [row] = await sql<ExceededRow[]>`
    with /* budget.ask */ o as materialized (select ${tenantId}::text as tenant_id, ${agentId}::text as agent_id, ${userId}::text as user_id)
    select ${exceededColumns(sql)}
    from o join budgets b on ${isUsedUp(sql, ownerOf(sql, "o"))}
    order by ${periodLength(sql)} desc, b.id limit 1`;
  return row === undefined ? null : exceededOf(row);
}

/** Returns the budget that refused a turn; null when it was deleted since. */
export async function readExceeded(sql: AnySql, budgetId: string): Promise<ExceededBudget | null> {
  const [row] = await sql<ExceededRow[]>`
    select /* budget.refusal */ ${exceededColumns(sql)} from budgets b where b.id = ${budgetId}`;
  return row === undefined ? null : exceededOf(row);
}

function exceededOf({ id, name, period, measure, amount, usd = null, resetsAt }: ExceededRow): ExceededBudget {
  return { id, name, period, limit: { measure, amount, usd }, resetsAt };
}

const nouns = { turns: "turns", tokens: "tokens", usd: "US dollars" };
const periods = { hour: " of this hour", day: " of this UTC day", month: " of this UTC month", ever: "" };

/** Returns what a caller is told of a budget that is used up. */
export function exceededText({ name, limit, period }: ExceededBudget): string {
  return `The budget "${name}" is used up: its ${showAmount(limit)} ${nouns[limit.measure]}${periods[period]}.`;
}

/** Returns the error 429 `budget_exceeded`, with the seconds until the period ends as `Retry-After`, where it does. */
export function budgetExceeded(budget: ExceededBudget): ApiError {
  const { id: budgetId, limit, resetsAt } = budget;
  return exceededError({
    message: exceededText(budget),
    budgetId,
    limit: limit.measure === "usd" ? null : Number(limit.amount),
    resetsAt: resetsAt?.toISOString() ?? null,
  });
}

/** Returns the same of a budget that refused a turn a while ago. */
export function exceededError(refused: {
  readonly message: string;
  readonly budgetId: string;
  readonly limit?: number | null;
  readonly resetsAt: string | null;
  readonly headers?: Readonly<Record<string, string>>;
}): ApiError {
  const { message, budgetId, limit = null, resetsAt, headers = {} } = refused;
  return new ApiError("budget_exceeded", {
    message,
    details: { budgetId },
    headers: { ...headers, ...(resetsAt === null ? {} : untilReset(limit, resetsAt)) },
  });
}

function untilReset(limit: number | null, resetsAt: string): Readonly<Record<string, string>> {
  const seconds = Math.max(1, Math.ceil((Date.parse(resetsAt) - Date.now()) / 1000));
  return limit === null ? { "Retry-After": String(seconds) } : limitHeaders(limit, seconds);
}
