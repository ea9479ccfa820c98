import type postgres from "postgres";
import type { AnySql } from "../kernel/database/client.ts";

/**
 * Returns the SQL of the time to the first text that this share of some turns stays below, in milliseconds; null where
 * none said anything. What a turn waited for people before it spoke is not counted. Needs `first_text_at`, `queued_at`,
 * `accepted_at` and `waited_ms` of turns.
 */
export function firstTextPercentile(sql: AnySql, share: number): postgres.Fragment {
  const passed = sql`extract(epoch from first_text_at - coalesce(queued_at, accepted_at)) * 1000`;
  return sql`percentile_disc(${share}::float8) within group (order by
    greatest(0, round(${passed} - case when ${passed} >= waited_ms then waited_ms else 0 end))::float8)
    filter (where first_text_at is not null)`;
}
