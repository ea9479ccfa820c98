import type { AnySql } from "../kernel/database/client.ts";
import { ApiError } from "../kernel/errors.ts";
import { type Page, readCursor, writeCursor } from "../kernel/http/page.ts";
import { type ShownAmount, showAmount } from "./amount.ts";
import type { Budget } from "./store.ts";
import { periodEnd, periodStart } from "./sums.ts";

/** What one subject of a budget used in the period that is now. */
export interface BudgetSpending {
  readonly userId: string | null;
  readonly agentId: string | null;
  readonly used: ShownAmount;
  readonly limit: ShownAmount;
  readonly resetsAt: string | null;
}

interface SpendingRow {
  readonly userId: string;
  readonly agentId: string;
  readonly used: string;
  readonly resetsAt: Date | null;
}

/** Returns a page of what a budget's subjects used in the period that is now, the largest first. Throws 400 `invalid_cursor`. */
export async function readSpending(
  sql: AnySql,
  budget: Budget,
  { cursor, limit }: { readonly cursor: string | undefined; readonly limit: number },
): Promise<Page<BudgetSpending>> {
  const list = `budget-spending:${budget.id}`;
  const place = cursor === undefined ? null : readPlace(list, cursor);
  const rows = await sql<SpendingRow[]>`
    select s.user_id, s.agent_id, trim_scale(s.used)::text as used, ${periodEnd(sql)} as resets_at
    from budgets b join budget_spending s on s.budget_id = b.id and s.series = b.series and s.period_start = ${periodStart(sql)}
    where b.id = ${budget.id}
      ${place === null ? sql`` : sql`and (-s.used, s.user_id, s.agent_id) > (-${place.used}::numeric, ${place.userId}, ${place.agentId})`}
    order by -s.used, s.user_id, s.agent_id limit ${limit + 1}`;
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  const hasMore = rows.length > limit && last !== undefined;
  const data = shown.map((row) => showSpending(budget, row));
  // What the tenant used is one sum, there from the beginning.
  if (budget.each === "tenant" && place === null && data.length === 0) data.push(await nothingUsed(sql, budget));
  return { data, nextCursor: hasMore ? writeCursor(list, [last.used, last.userId, last.agentId]) : null };
}

async function nothingUsed(sql: AnySql, budget: Budget): Promise<BudgetSpending> {
  const [row] = await sql<{ resetsAt: Date | null }[]>`
    select ${periodEnd(sql)} as resets_at from budgets b where b.id = ${budget.id}`;
  return showSpending(budget, { userId: "", agentId: "", used: "0", resetsAt: row?.resetsAt ?? null });
}

function showSpending({ each, limit }: Budget, { userId, agentId, used, resetsAt }: SpendingRow): BudgetSpending {
  return {
    userId: each === "user" && userId !== "" ? userId : null,
    agentId: each === "agent" ? agentId : null,
    used: showAmount({ measure: limit.measure, amount: used }),
    limit: showAmount(limit),
    resetsAt: resetsAt?.toISOString() ?? null,
  };
}

function readPlace(list: string, cursor: string) {
  const [used, userId, agentId] = readCursor(list, cursor, 3);
  if (typeof used !== "string" || !/^\d{1,40}$/.test(used)) throw new ApiError("invalid_cursor");
  return { used, userId: String(userId), agentId: String(agentId) };
}
