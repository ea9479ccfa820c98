import type postgres from "postgres";
import type { AnySql } from "../kernel/database/client.ts";
import { tellWebhooks } from "../webhooks/events.ts";
import { countsFor, isSumOf, keyOf, ownerOf, periodStart } from "./sums.ts";

/** Tells webhooks of the budgets that a turn which has ended brought to their limits, or near. Part of the job `turn.after`; safe to repeat. */
export async function tellBudgetsOfTurn(sql: AnySql, turnId: string): Promise<void> {
  const owner = ownerOf(sql, "t");
  // At the moment of its end: the job may run in the next period.
  const at = sql`t.finished_at`;
  await sql`
    with /* budget.tell */ t as materialized (
      select tenant_id, agent_id, user_id, finished_at from turns
      where id = ${turnId} and finished_at is not null and (select has_budgets from tenants n where n.id = turns.tenant_id)
    ), ${told(sql, sql`t join budgets b on ${countsFor(sql, owner)} join budget_spending s on ${isSumOf(sql, owner, at)}`)}
    select count(*) from webhook_enqueued`;
}

/** Tells webhooks of a budget's sums that its limit, as it is now, has been reached by, or nearly. Safe to repeat. */
export async function tellBudget(sql: AnySql, budgetId: string): Promise<void> {
  const sums = sql`s.budget_id = b.id and s.series = b.series and s.period_start = ${periodStart(sql)}`;
  await sql`
    with /* budget.tell_all */ ${told(sql, sql`(select * from budgets where id = ${budgetId}) b join budget_spending s on ${sums}`)}
    select count(*) from webhook_enqueued`;
}

/** Returns the CTEs that mark sums `s` of budgets `b`, and tell of them: each is marked once in its period. */
function told(sql: AnySql, from: postgres.Fragment): postgres.Fragment {
  const isWarned = sql`s.warned_at is null and s.used * 100 >= b.limit_amount * b.warn_at_percent`;
  const isReached = sql`s.reached_at is null and s.used >= b.limit_amount`;
  const events = tellWebhooks(sql, [event("budget.warned", "warned"), event("budget.reached", "reached")]);
  return sql`due as materialized (
      select b.tenant_id, b.agent_id as only_agent_id, s.budget_id, s.series, s.period_start, s.user_id, s.agent_id,
        coalesce(${isWarned}, false) as warns, ${isReached} as reaches
      from ${from} where b.enabled and (coalesce(${isWarned}, false) or ${isReached}) order by ${keyOf(sql, "s")}
    ), marked as (
      update budget_spending s set warned_at = case when d.warns then coalesce(s.warned_at, now()) else s.warned_at end,
        reached_at = case when d.reaches then coalesce(s.reached_at, now()) else s.reached_at end
      from due d
      where (${keyOf(sql, "s")}) = (${keyOf(sql, "d")})
        and ((d.warns and s.warned_at is null) or (d.reaches and s.reached_at is null))
      returning d.tenant_id, d.only_agent_id, s.budget_id, s.user_id, s.agent_id, d.warns and s.warned_at = now() as warned,
        d.reaches and s.reached_at = now() as reached
    ), ${events}`;

  function event(type: "budget.warned" | "budget.reached", mark: "warned" | "reached") {
    return {
      type,
      from: sql`marked m where m.${sql(mark)}`,
      tenantId: sql`m.tenant_id`,
      ids: { budgetId: sql`m.budget_id`, userId: sql`nullif(m.user_id, '')`, agentId: sql`nullif(m.agent_id, '')` },
      agentId: sql`coalesce(nullif(m.agent_id, ''), m.only_agent_id)`,
      status: sql`${sql.unsafe(`'${mark}'`)}`,
    };
  }
}
