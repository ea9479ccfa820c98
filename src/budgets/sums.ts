import type postgres from "postgres";
import type { AnySql } from "../kernel/database/client.ts";

/**
 * Which sum of a budget is whose, in SQL: budgets have the alias `b`, and sums are rows of `budget_spending`. A sum
 * belongs to a period, by the database's clock, and to the tenant, one of its users or one of its agents.
 */

/** Whose turn it is, as expressions. */
export interface TurnOwner {
  readonly tenantId: postgres.Fragment;
  readonly agentId: postgres.Fragment;
  readonly userId: postgres.Fragment;
}

/** Returns the owner that a row of this alias names, by its columns. */
export function ownerOf(sql: AnySql, alias: "c" | "e" | "o" | "t"): TurnOwner {
  const column = (name: string) => sql.unsafe(`${alias}.${name}`);
  return { tenantId: column("tenant_id"), agentId: column("agent_id"), userId: column("user_id") };
}

/** Returns how long a budget's period is beside the others: the longest has the largest number. */
export function periodLength(sql: AnySql): postgres.Fragment {
  return sql`array_position(array['hour', 'day', 'month', 'ever'], b.period)`;
}

/** Returns when the period began in which a moment lies. */
export function periodStart(sql: AnySql, at: postgres.Fragment = sql`now()`): postgres.Fragment {
  return sql`case b.period when 'ever' then '-infinity'::timestamptz else date_trunc(b.period, ${at}, 'UTC') end`;
}

/** Returns when the period ends that is now; null for one without an end. */
export function periodEnd(sql: AnySql): postgres.Fragment {
  return sql`case when b.period <> 'ever' then
    (date_trunc(b.period, now() at time zone 'UTC') + ('1 ' || b.period)::interval) at time zone 'UTC' end`;
}

/** Returns the user whose sum it is; empty where there is none by user. */
export function sumUser(sql: AnySql, userId: postgres.Fragment): postgres.Fragment {
  return sql`case b.each when 'user' then ${userId} else '' end`;
}

/** Returns the agent whose sum it is; empty where there is none by agent. */
export function sumAgent(sql: AnySql, agentId: postgres.Fragment): postgres.Fragment {
  return sql`case b.each when 'agent' then ${agentId} else '' end`;
}

/** Returns the condition that a budget counts a turn of this owner. */
export function countsFor(sql: AnySql, { tenantId, agentId, userId }: TurnOwner): postgres.Fragment {
  return sql`b.tenant_id = ${tenantId} and coalesce(b.agent_id = ${agentId}, true) and coalesce(b.user_id = ${userId}, true)`;
}

/** Returns the condition that `s` is the sum of a budget that holds for a turn of this owner. */
export function isSumOf(sql: AnySql, owner: TurnOwner, at?: postgres.Fragment): postgres.Fragment {
  return sql`s.budget_id = b.id and s.series = b.series and s.period_start = ${periodStart(sql, at)}
        and s.user_id = ${sumUser(sql, owner.userId)} and s.agent_id = ${sumAgent(sql, owner.agentId)}`;
}

/** Returns the columns that name a sum, of an alias. */
export function keyOf(sql: AnySql, alias: "s" | "k" | "n" | "d"): postgres.Fragment {
  return sql.unsafe(sumKeyColumns.map((column) => `${alias}.${column}`).join(", "));
}

const sumKeyColumns = ["budget_id", "series", "period_start", "user_id", "agent_id"] as const;

/** Returns the same without an alias. */
export function sumKey(sql: AnySql): postgres.Fragment {
  return sql.unsafe(sumKeyColumns.join(", "));
}
