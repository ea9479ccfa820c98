import { bookBudgets } from "../../budgets/book.ts";
import { type AnySql, json } from "../../kernel/database/client.ts";
import type { IdOf } from "../../kernel/ids.ts";
import { type ClaimKey, runsBy } from "./claim-key.ts";
import type { TurnUsage } from "./turn-end.ts";

/**
 * What model calls used, on its way into the turn's row, into the sums of budgets and out of the tenant's usage
 * credit. All of it happens in one statement, wherever usage is written: here, when a turn is
 * put back into the queue (`requeueTurn`), and when a claim ends (`end/end.ts`). So
 * the tokens of a turn's row are those that were taken from the credit.
 */

/** Returns the assignments that add usage to a turn's row, for an `update turns`. */
export function addUsage(sql: AnySql, { modelCalls, estimated, others, ...usage }: TurnUsage) {
  const byModel = json(sql, others.length === 0 ? null : others);
  return sql`input_tokens = input_tokens + ${usage.inputTokens}, output_tokens = output_tokens + ${usage.outputTokens},
        cached_input_tokens = cached_input_tokens + ${usage.cachedInputTokens},
        cache_write_tokens = cache_write_tokens + ${usage.cacheWriteTokens},
        reasoning_tokens = reasoning_tokens + ${usage.reasoningTokens},
        cost_pico = coalesce(cost_pico + ${usage.costPico}::bigint, cost_pico, ${usage.costPico}::bigint),
        cost_complete = cost_complete and ${usage.costComplete},
        model_calls = model_calls + ${modelCalls}, usage_estimated = usage_estimated or ${estimated},
        model_usage = coalesce(coalesce(model_usage, '[]') || ${byModel}::jsonb, model_usage)`;
}

/**
 * Returns the CTEs that add usage to the budgets which count the turn of a CTE's row, and take it from its tenant's credit: `spent`
 * returns what is left of that.
 */
export function spendUsage(
  sql: AnySql,
  { inputTokens, outputTokens, costPico }: TurnUsage,
  from: "noted" | "requeued" | "stepped",
) {
  const booked = bookBudgets(sql, {
    from: sql`${sql(from)} e`,
    tokens: sql`${inputTokens + outputTokens}::bigint`,
    costPico: sql`${costPico ?? 0}::bigint`,
  });
  return sql`${booked}, spent as (
      update tenants t set usage_credit = usage_credit - ${inputTokens + outputTokens}::bigint
      from ${sql(from)} moved where t.id = moved.tenant_id and usage_credit is not null
      returning usage_credit
    )`;
}

/** What a tenant may still use, as the statement that writes usage finds it. */
export interface Allowance {
  /** The tokens that are left; null is unlimited. */
  readonly credit: number | null;
  /** Whether there are budgets to be asked. */
  readonly hasBudgets: boolean;
  /** How often it has replaced its own prices. */
  readonly pricesVersion: number;
  /** Whether the turn has another claim by now. */
  readonly isGone: boolean;
}

/** There is no such tenant any more. */
export const tenantGone: Allowance = { credit: null, hasBudgets: false, pricesVersion: 0, isGone: true };

/** The claim that used something, and the model calls that its turn's row has. */
interface UsingClaim extends ClaimKey {
  readonly tenantId: IdOf<"tenant">;
  readonly modelCalls: number;
}

/**
 * Adds usage to the row of a running turn and takes it from the tenant's credit. Does so
 * once, however often it is called: the row's model calls are its guard. Returns the
 * credit that is left (null is unlimited), and whether the turn has another claim by now.
 */
export async function noteUsage(sql: AnySql, claim: UsingClaim, usage: TurnUsage): Promise<Allowance> {
  const [row] = await sql<Allowance[]>`
    with /* credit.spend */ noted as (
      update turns set ${addUsage(sql, usage)}
      where ${runsBy(sql, claim)} and model_calls = ${claim.modelCalls}
      returning tenant_id, agent_id, user_id
    ), ${spendUsage(sql, usage, "noted")}
    select coalesce((select usage_credit from spent), t.usage_credit) as credit, t.has_budgets, t.prices_version,
      not exists (select 1 from turns where ${runsBy(sql, claim)}) as is_gone
    from tenants t where t.id = ${claim.tenantId}`;
  return row ?? tenantGone;
}

/** Returns the tokens that a tenant has left; null is unlimited. */
export async function creditOf(sql: AnySql, tenantId: string): Promise<number | null> {
  const [row] = await sql<
    { usageCredit: number | null }[]
  >`select /* credit.read */ usage_credit from tenants where id = ${tenantId}`;
  return row?.usageCredit ?? null;
}
