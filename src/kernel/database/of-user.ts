import type postgres from "postgres";
import type { AnySql } from "./client.ts";

/**
 * Returns the condition that a row is an end user's (`and …`), nothing when `userId` is undefined. The empty string asks
 * for rows without an end user: the indexes by user do not hold those, so that a turn of nobody does not write to
 * them, and Postgres uses such an index only where the statement says itself that the user is named.
 */
export function ofUser(sql: AnySql, column: string, userId: string | undefined): postgres.Fragment {
  if (userId === undefined) return sql``;
  return userId === "" ? sql`and ${sql(column)} = ''` : sql`and ${sql(column)} = ${userId} and ${sql(column)} <> ''`;
}
