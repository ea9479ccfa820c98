import type postgres from "postgres";
import { andOf } from "../kernel/auth/agent-scope.ts";
import type { AnySql } from "../kernel/database/client.ts";
import type { UsageQuestion } from "./query.ts";
import { inDollars } from "./tokens.ts";

/** Returns the four sums over the counted rows, as columns. By them sessions are ordered, so the index by session has them. */
export function sums(sql: AnySql, prefix: "" | "total_" = ""): postgres.Fragment {
  const sum = (column: string) => sql`sum(${sql(column)})::bigint as ${sql(`${prefix}${column}`)}`;
  return sql`${sum("turns")}, ${sum("input_tokens")}, ${sum("output_tokens")}, ${sum("duration_ms")}`;
}

/** Returns the sums of the parts of the tokens and of what they cost, as columns. */
export function partSums(sql: AnySql, prefix: "" | "total_" = ""): postgres.Fragment {
  const sum = (column: string) => sql`sum(${sql(column)})::bigint as ${sql(`${prefix}${column}`)}`;
  const cost = inDollars(sql, sql`sum(cost_pico)`);
  return sql`${sum("cached_input_tokens")}, ${sum("cache_write_tokens")}, ${sum("reasoning_tokens")},
    ${cost} as ${sql(`${prefix}cost_usd`)}, bool_and(cost_complete) as ${sql(`${prefix}cost_complete`)}`;
}

/** Returns the columns that `partSums` adds up. */
export function parts(sql: AnySql): postgres.Fragment {
  return sql`cached_input_tokens, cache_write_tokens, reasoning_tokens, cost_pico, cost_complete`;
}

const numbers = (sql: AnySql) => sql`input_tokens, output_tokens, duration_ms, ${parts(sql)}`;
/** How many turns a row of `usage` stands for: a turn of several models counts by its first row. */
const turnsOfRow = (sql: AnySql) => sql`case when place = 0 then 1::bigint else 0 end as turns`;

/**
 * Returns the query of those rows of `usage` that all sums hold. The indexes by day, agent,
 * session and user have only these, so the condition has to be in the statement.
 */
export function summedRows(sql: AnySql, where: postgres.Fragment): postgres.Fragment {
  return rows(sql, sql`summed and user_summed and session_summed and ${where}`);
}

/** Returns the query of all other rows: few, of the last minutes, which the index `usage_unsummed` has, and no other. */
export function unsummedRows(sql: AnySql, where: postgres.Fragment): postgres.Fragment {
  return rows(sql, sql`(not summed or not user_summed or not session_summed) and ${where}`);
}

function rows(sql: AnySql, where: postgres.Fragment): postgres.Fragment {
  return sql`select day, session_id, user_id, agent_id, provider, model, ${turnsOfRow(sql)}, ${numbers(sql)} from usage where ${where}`;
}

/** Returns the conditions of a query, for the turns and for the tables of sums that have the columns. */
export function conditions(
  sql: AnySql,
  tenantId: string,
  { from, to, agentId, agentIds, sessionId, userId }: UsageQuestion,
): postgres.Fragment {
  return sql`
    tenant_id = ${tenantId} and day between ${from}::date and ${to}::date
      ${agentId === undefined ? sql`` : sql`and agent_id = ${agentId}`} ${andOf(sql, sql`agent_id`, agentIds)}
      ${sessionId === undefined ? sql`` : sql`and session_id = ${sessionId}`}
      ${userId === undefined ? sql`` : sql`and user_id = ${userId}`}`;
}

/**
 * Returns the query of the rows to add up. Sums are kept of days, agents and models,
 * with and without users; none of sessions by day, because there are almost as many
 * as turns. A turn that is not summed yet counts by its own row, in the same
 * statement; as a number of the sums' type, because Postgres reads a union in
 * parallel only when its types agree.
 */
export function counted(sql: AnySql, tenantId: string, question: UsageQuestion): postgres.Fragment {
  const asked = conditions(sql, tenantId, question);
  const columns = sql`day, user_id, agent_id, provider, model`;
  if (question.sessionId !== undefined) return sql`${summedRows(sql, asked)} union all ${unsummedRows(sql, asked)}`;
  if (question.groupBy === "user" || question.userId !== undefined)
    return sql`
      select ${columns}, turns, ${numbers(sql)} from usage_user_sums where ${asked} ${eachDay(sql, question)}
      union all
      select ${columns}, ${turnsOfRow(sql)}, ${numbers(sql)} from usage where not user_summed and ${asked}`;
  const withoutUser = sql`day, agent_id, provider, model`;
  return sql`
    select ${withoutUser}, turns, ${numbers(sql)} from usage_sums where ${asked}
    union all
    select ${withoutUser}, ${turnsOfRow(sql)}, ${numbers(sql)} from usage where not summed and ${asked}`;
}

/** Lists each day of the range, so that one user's sums are found by the index and not searched among all users'. */
function eachDay(sql: AnySql, { userId, from, to }: UsageQuestion): postgres.Fragment {
  if (userId === undefined) return sql``;
  return sql`and day = any(array(select ${from}::date + n from generate_series(0, ${to}::date - ${from}::date) n))`;
}
