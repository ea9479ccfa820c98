import type postgres from "postgres";
import { sleep } from "../kernel/async/wait.ts";
import type { Ctx } from "../kernel/context.ts";
import type { AnySql, Sql } from "../kernel/database/client.ts";
import { eraseRowsMax, type Pace, paced } from "../kernel/database/pace.ts";
import { statementTimeoutMs } from "../kernel/database/pooler-limits.ts";
import type { IdOf } from "../kernel/ids.ts";
import { addJob } from "../kernel/queue/add-job.ts";
import type { JobPayloads } from "../kernel/queue/catalogue.ts";
import type { BudgetPeriod } from "./schema.ts";
import { periodStart, sumAgent, sumKey, sumUser } from "./sums.ts";
import { tellBudget } from "./tell.ts";

/**
 * What follows a new budget, or a change of one: what was used before it in its period is counted.
 *
 * Statements that began before the budget was committed do not see it, and book nothing to it; all later ones do. So the
 * former are waited for. Then one statement adds what is missing: all that was used, less what was booked to the budget,
 * both of the same moment, however many turns run meanwhile.
 */

/** The job looks at a budget after this long: then no statement runs any more that does not see it as it is. */
const settleAfterMs = statementTimeoutMs + 2_000;
/** Pause between two looks at what runs. */
const lookPauseMs = 10;

/** Adds the job that does what `settleBudget` has not done, should this process die, and deletes sums that nothing reads. */
export async function settleLater(
  sql: AnySql,
  { id, tenantId }: { readonly id: IdOf<"budget">; readonly tenantId: string },
): Promise<void> {
  const runAt = new Date(Date.now() + settleAfterMs);
  await addJob(sql, "budget.settle", { budgetId: id, tenantId }, { runAt });
}

/** Counts what was used before a budget, where that is not counted yet, and tells webhooks where a limit is reached. Safe to repeat. */
export async function settleBudget(sql: Sql, budgetId: string): Promise<void> {
  await countBefore(sql, budgetId);
  await tellBudget(sql, budgetId);
}

/** The same in a request that has committed its change: where it does not succeed, the job does it. */
export async function settleNow({ sql, log }: Pick<Ctx, "sql" | "log">, budgetId: string): Promise<void> {
  await settleBudget(sql, budgetId).catch((error: unknown) => {
    log.warn({ budgetId, err: error }, "what was used before a budget is counted later");
  });
}

/** The job `budget.settle`: the same, and deletes the sums of a budget that is deleted, or counts otherwise now. */
export function settleAndErase({ sql }: Pick<Ctx, "sql">, payload: JobPayloads["budget.settle"]): Promise<void> {
  const { budgetId } = payload;
  return paced(
    async (pace) => {
      await settleBudget(sql, budgetId);
      await eraseSums(
        sql,
        sql`s.budget_id = ${budgetId} and not exists (
        select 1 from budgets b where b.id = s.budget_id and b.series <= s.series)`,
        pace,
      );
    },
    () => addJob(sql, "budget.settle", payload, { keySuffix: ":on" }),
  );
}

/** Part of the job `records.sweep`: deletes the sums of periods that are over, and those that nothing reads. */
export async function sweepSums(sql: Sql): Promise<void> {
  await eraseSums(
    sql,
    sql`not exists (
    select 1 from budgets b where b.id = s.budget_id and b.series <= s.series and s.period_start >= ${periodStart(sql)} - interval '1 day')`,
  );
}

async function eraseSums(
  sql: Sql,
  where: postgres.Fragment,
  pace: Pick<Pace, "step"> = { step: () => {} },
): Promise<void> {
  for (;;) {
    pace.step();
    const { count } = await sql`
      with gone as materialized (select ${sumKey(sql)} from budget_spending s where ${where} limit ${eraseRowsMax})
      delete from budget_spending where (${sumKey(sql)}) in (select ${sumKey(sql)} from gone)`;
    if (count < eraseRowsMax) return;
  }
}

interface UncountedRow {
  readonly series: number;
  readonly period: BudgetPeriod;
}

async function countBefore(sql: Sql, budgetId: string): Promise<void> {
  const expiresAt = Date.now() + statementTimeoutMs;
  for (;;) {
    const [row] = await sql<(UncountedRow & { isAlone: boolean })[]>`
      select /* budget.uncounted */ b.series, b.period, not exists (
        select 1 from pg_stat_activity a
        where a.datname = current_database() and a.backend_type = 'client backend' and a.pid <> pg_backend_pid()
          and a.backend_xmin is not null and age(a.backend_xmin) >= age(b.series_xid::xid)) as is_alone
      from budgets b where b.id = ${budgetId} and not b.counted`;
    if (row === undefined) return;
    // After that long the server has ended what was sent before.
    if (row.isAlone || Date.now() > expiresAt) return addBefore(sql, budgetId, row);
    await sleep(lookPauseMs);
  }
}

async function addBefore(sql: AnySql, budgetId: string, { series, period }: UncountedRow): Promise<void> {
  await sql`
    with /* budget.count */ b as materialized (
      update budgets set counted = true where id = ${budgetId} and series = ${series} and not counted returning *
    ), p as materialized (
      select b.*, ${periodStart(sql)} as period_start from b
    ), used as (
      ${endedTurns(sql, period)}
      union all
      select t.user_id, t.agent_id, 1, t.input_tokens + t.output_tokens, t.cost_pico
      from p join turns t on t.tenant_id = p.tenant_id and t.status in ('queued', 'running', 'waiting')
    ), sums as (
      select b.id as budget_id, b.series, b.period_start, ${sumUser(sql, sql`u.user_id`)} as user_id, ${sumAgent(sql, sql`u.agent_id`)} as agent_id,
        sum(case b.measure when 'turns' then u.turns when 'tokens' then u.tokens else coalesce(u.cost_pico, 0) end) as used
      from used u join p b on coalesce(b.agent_id = u.agent_id, true) and coalesce(b.user_id = u.user_id, true)
      group by 1, 2, 3, 4, 5
    )
    insert into budget_spending as s (${sumKey(sql)}, used)
    select ${sumKey(sql)}, used - coalesce(booked, 0) from (
      select sums.*, (
        select l.used from budget_spending l
        where (l.budget_id, l.series, l.period_start, l.user_id, l.agent_id)
          = (sums.budget_id, sums.series, sums.period_start, sums.user_id, sums.agent_id)) as booked
      from sums
    ) missing where used > coalesce(booked, 0)
    order by ${sumKey(sql)}
    on conflict (${sumKey(sql)}) do update set used = s.used + excluded.used`;
}

/** Returns the query of what ended turns of the budget `p` used in its period. Days are summed up; of an hour each turn is read. */
function endedTurns(sql: AnySql, period: BudgetPeriod): postgres.Fragment {
  const of = sql`u.tenant_id = p.tenant_id and u.day >= (p.period_start at time zone 'UTC')::date`;
  const row = sql`u.user_id, u.agent_id, case when u.place = 0 then 1 else 0 end, u.input_tokens + u.output_tokens, u.cost_pico`;
  const columns = sql`user_id, agent_id, turns, tokens, cost_pico`;
  if (period === "hour") {
    const inHour = sql`${of} and u.created_at >= p.period_start`;
    return sql`
      select * from (
        select ${row} from p join usage u on ${inHour} and u.summed and u.user_summed and u.session_summed
        union all
        select ${row} from p join usage u on ${inHour} and (not u.summed or not u.user_summed or not u.session_summed)
      ) ended (${columns})`;
  }
  return sql`
      select * from (
        select u.user_id, u.agent_id, u.turns, u.input_tokens + u.output_tokens, u.cost_pico from p join usage_user_sums u on ${of}
        union all
        select ${row} from p join usage u on ${of} and not u.user_summed
      ) ended (${columns})`;
}
