import { type AgentIds, andOf } from "../kernel/auth/agent-scope.ts";
import type { AnySql, Tx } from "../kernel/database/client.ts";
import { olderThan, placeInTime, type TimePlace } from "../kernel/database/keyset.ts";
import { ApiError } from "../kernel/errors.ts";
import { type Page, readTimeCursor, timePage } from "../kernel/http/page.ts";
import { type IdOf, newId } from "../kernel/ids.ts";
import { type Amount, showLimit } from "./amount.ts";
import { type BudgetPeriod, type BudgetSubject, budgetsPerTenantMax } from "./schema.ts";
import { settleLater } from "./settle.ts";

/** What a budget says. */
export interface BudgetRule {
  readonly name: string;
  readonly agentId: IdOf<"agent"> | null;
  readonly userId: string | null;
  readonly each: BudgetSubject;
  readonly period: BudgetPeriod;
  readonly limit: Amount;
  readonly warnAtPercent: number | null;
  readonly enabled: boolean;
}

/** A budget as it is stored. */
export interface Budget extends BudgetRule {
  readonly id: IdOf<"budget">;
  readonly tenantId: string;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

type BudgetRow = Omit<Budget, "limit"> & Amount;

function budgetColumns(sql: AnySql) {
  return sql`id, tenant_id, name, agent_id, user_id, each, period, measure, trim_scale(limit_amount)::text as amount, limit_usd as usd, warn_at_percent, enabled,
    created_at, updated_at`;
}

function toBudget({ measure, amount, usd = null, ...row }: BudgetRow): Budget {
  return { ...row, limit: { measure, amount, usd } };
}

/** Stores a budget; `settleBudget` counts what was used before it. Throws 404 where its agent is none of the tenant's, 400 `budget_limit_reached`. */
export async function insertBudget(inner: Tx, tenantId: IdOf<"tenant">, rule: BudgetRule): Promise<Budget> {
  // The tenant's row is the lock that makes the count hold.
  await inner`update tenants set has_budgets = true where id = ${tenantId}`;
  const [count] = await inner<{ total: number }[]>`
    select count(*)::int as total from budgets where tenant_id = ${tenantId}`;
  if ((count?.total ?? 0) >= budgetsPerTenantMax) throw new ApiError("budget_limit_reached");
  await requireAgent(inner, tenantId, rule.agentId);
  const [row] = await inner<BudgetRow[]>`
    insert into budgets (id, tenant_id, name, agent_id, user_id, each, period, measure, limit_amount, limit_usd, warn_at_percent, enabled)
    values (${newId("budget")}, ${tenantId}, ${rule.name}, ${rule.agentId}, ${rule.userId}, ${rule.each}, ${rule.period},
      ${rule.limit.measure}, ${rule.limit.amount}::numeric, ${rule.limit.usd ?? null}, ${rule.warnAtPercent}, ${rule.enabled})
    returning ${budgetColumns(inner)}`;
  const made = toBudget(row as BudgetRow);
  await settleLater(inner, made);
  return made;
}

async function requireAgent(inner: Tx, tenantId: string, agentId: string | null): Promise<void> {
  if (agentId === null) return;
  const [agent] = await inner`select 1 from agents where id = ${agentId} and tenant_id = ${tenantId} for key share`;
  if (agent === undefined) throw new ApiError("not_found", { message: "/agentId: There is no such agent." });
}

/** Returns a page of a tenant's budgets, newest first. Throws 400 `invalid_cursor`. */
export async function listBudgets(
  sql: AnySql,
  tenantId: string,
  {
    agentIds,
    cursor,
    limit,
  }: { readonly agentIds: AgentIds; readonly cursor: string | undefined; readonly limit: number },
): Promise<Page<BudgetShown>> {
  const place = readTimeCursor("budgets", cursor);
  const rows = await sql<(BudgetRow & TimePlace)[]>`
    select ${budgetColumns(sql)}, ${placeInTime(sql, "created_at")} from budgets
    where tenant_id = ${tenantId} ${andOf(sql, sql`agent_id`, agentIds)} ${olderThan(sql, place, "created_at", "id")}
    order by created_at desc, id desc limit ${limit + 1}`;
  return timePage("budgets", rows, limit, (row) => showBudget(toBudget(row)));
}

/** Returns a tenant's budget. Throws 404. */
export async function getBudget(sql: AnySql, tenantId: string, id: string): Promise<Budget> {
  const [row] = await sql<BudgetRow[]>`
    select ${budgetColumns(sql)} from budgets where id = ${id} and tenant_id = ${tenantId}`;
  if (row === undefined) throw new ApiError("not_found");
  return toBudget(row);
}

/** Returns the same, and keeps it from being changed or deleted until the transaction ends. Throws 404. */
export async function lockBudget(inner: Tx, tenantId: string, id: string): Promise<Budget> {
  const [row] = await inner<BudgetRow[]>`
    select ${budgetColumns(inner)} from budgets where id = ${id} and tenant_id = ${tenantId} for no key update`;
  if (row === undefined) throw new ApiError("not_found");
  return toBudget(row);
}

/**
 * Changes a budget that the caller has locked. A limit of the same measure holds at once for what is counted already; a change of
 * what is counted begins a new series of sums, which `settleBudget` fills with what was used before. Throws 404 as `insertBudget`.
 */
export async function updateBudget(inner: Tx, before: Budget, change: Partial<BudgetRule>): Promise<Budget> {
  const rule = { ...before, ...change };
  if (rule.agentId !== before.agentId) await requireAgent(inner, before.tenantId, rule.agentId);
  const countsOtherwise =
    rule.agentId !== before.agentId ||
    rule.userId !== before.userId ||
    rule.each !== before.each ||
    rule.period !== before.period ||
    rule.limit.measure !== before.limit.measure;
  const [row] = await inner<BudgetRow[]>`
    update budgets set name = ${rule.name}, agent_id = ${rule.agentId}, user_id = ${rule.userId}, each = ${rule.each}, period = ${rule.period},
      measure = ${rule.limit.measure}, limit_amount = ${rule.limit.amount}::numeric, limit_usd = ${rule.limit.usd ?? null}, warn_at_percent = ${rule.warnAtPercent},
      enabled = ${rule.enabled}, updated_at = now()
      ${countsOtherwise ? inner`, series = series + 1, series_xid = pg_current_xact_id(), counted = false` : inner``}
    where id = ${before.id} returning ${budgetColumns(inner)}`;
  const made = toBudget(row as BudgetRow);
  await settleLater(inner, made);
  return made;
}

/** Deletes a tenant's budget; its sums are deleted by the job `budget.settle`. Throws 404. */
export async function deleteBudget(inner: Tx, tenantId: string, id: string): Promise<void> {
  // The same lock as a new budget's, so that none comes while this one is found to be the last.
  await inner`select 1 from tenants where id = ${tenantId} for no key update`;
  const [gone] = await inner<{ id: IdOf<"budget"> }[]>`
    delete from budgets where id = ${id} and tenant_id = ${tenantId} returning id`;
  if (gone === undefined) throw new ApiError("not_found");
  await inner`
    update tenants set has_budgets = false
    where id = ${tenantId} and not exists (select 1 from budgets where tenant_id = ${tenantId})`;
  await settleLater(inner, { id: gone.id, tenantId });
}

/** Deletes all budgets of a tenant that has ended, in the same way. */
export async function purgeBudgets(inner: Tx, tenantId: string): Promise<void> {
  const gone = await inner<{ id: IdOf<"budget"> }[]>`delete from budgets where tenant_id = ${tenantId} returning id`;
  await inner`update tenants set has_budgets = false where id = ${tenantId} and has_budgets`;
  for (const { id } of gone) await settleLater(inner, { id, tenantId });
}

/** A budget in the interface's form. */
export type BudgetShown = ReturnType<typeof showBudget>;

/** Returns a budget in the interface's form. */
export function showBudget({ id, name, agentId, userId, each, period, limit, ...rest }: Budget) {
  const { warnAtPercent, enabled, createdAt, updatedAt } = rest;
  return {
    id,
    name,
    agentId,
    userId,
    each,
    period,
    limit: showLimit(limit),
    warnAtPercent,
    enabled,
    createdAt: createdAt.toISOString(),
    updatedAt: updatedAt.toISOString(),
  };
}
