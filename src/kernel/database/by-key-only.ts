import type postgres from "postgres";
import type { AnySql } from "./client.ts";

/**
 * Returns a text column as no index has it, for a condition beside that of a key. Postgres plans a statement once a
 * connection, and in a young installation that is before it knows how many rows a table has: then every index
 * costs the same, and a claim by a turn's id was seen to read all turns of its tenant by theirs.
 */
export function byKeyOnly(sql: AnySql, column: postgres.Fragment): postgres.Fragment {
  return sql`(${column} || '')`;
}
