import { type IdKind, newIdStem } from "../ids.ts";
import type { AnySql } from "./client.ts";

/**
 * Returns the SQL of a new id for each row of a query: the time as in `newId`, and the last 15
 * digits of a random UUID (60 bits), all of which are random.
 */
export function newIdSql(sql: AnySql, kind: IdKind) {
  return sql`${newIdStem(kind)}::text || right(replace(gen_random_uuid()::text, '-', ''), 15)`;
}
