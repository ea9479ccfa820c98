import type postgres from "postgres";
import type { AnySql } from "../database/client.ts";

/** At most this many turns of a status are counted. */
const turnsMax = 20_000;

/** Returns the query of the turns in a status that were accepted first; `only` is a condition on them. `since` is when one began to wait. It follows an index, and stops at `turnsMax` turns. */
export function oldestTurns(
  sql: AnySql,
  status: "queued" | "running",
  only: postgres.Fragment = sql`true`,
): postgres.Fragment {
  return sql`
    select status, tenant_id, parked_at, claimed_at, coalesce(queued_at, accepted_at) as since from turns
    where status = ${status} and ${only} order by turns.accepted_at limit ${turnsMax}`;
}
