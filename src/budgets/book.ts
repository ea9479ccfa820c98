import type postgres from "postgres";
import type { AnySql } from "../kernel/database/client.ts";
import { countsFor, ownerOf, periodStart, sumAgent, sumUser } from "./sums.ts";

/** What a statement books: the rows of a CTE, each a turn's, and what it used since it was booked last. */
export interface Booked {
  readonly from: postgres.Fragment;
  readonly tokens: postgres.Fragment;
  readonly costPico: postgres.Fragment;
}

/**
 * Returns the CTE `budgeted` that adds what turns `e` of `from` used to the sums of the budgets that count it, in the statement
 * that books it: so nothing is lost or counted twice, whatever happens to a worker. A tenant without a budget pays one
 * probe of an index. The sums are locked in the order of their keys, as by every statement that locks several.
 */
export function bookBudgets(sql: AnySql, { from, tokens, costPico }: Booked): postgres.Fragment {
  const owner = ownerOf(sql, "e");
  return sql`budgeted as (
      insert into budget_spending as s (budget_id, series, period_start, user_id, agent_id, used)
      select b.id, b.series, ${periodStart(sql)}, ${sumUser(sql, owner.userId)}, ${sumAgent(sql, owner.agentId)},
        sum(case b.measure when 'tokens' then ${tokens} else ${costPico} end)
      from ${from} join budgets b on ${countsFor(sql, owner)} and b.measure <> 'turns'
      group by 1, 2, 3, 4, 5 having sum(case b.measure when 'tokens' then ${tokens} else ${costPico} end) > 0
      order by 1, 2, 3, 4, 5
      on conflict (budget_id, series, period_start, user_id, agent_id) do update set used = s.used + excluded.used
    )`;
}
