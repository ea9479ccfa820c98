import type { AnySql } from "./client.ts";

/**
 * Returns the time by Postgres' clock, which all processes share: their own may be minutes apart. It is the
 * moment of the question and not the transaction's beginning, which may have waited for a lock since.
 */
export async function databaseNow(sql: AnySql): Promise<Date> {
  const [row] = await sql<[{ now: Date }]>`select /* clock.now */ clock_timestamp() as now`;
  return row.now;
}
