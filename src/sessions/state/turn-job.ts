import type { AnySql } from "../../kernel/database/client.ts";
import { addJobSql } from "../../kernel/queue/add-job.ts";

/**
 * Returns the SQL that enqueues the job of a turn, for a query whose rows have `id` and
 * `session_id`. At most one job a turn waits at a time. With `isFirst` it is for a turn
 * that is just being written, for which there can be no job yet.
 */
export function addTurnJob(sql: AnySql, options: { readonly isFirst?: boolean } = {}) {
  return addJobSql(sql, "turn", { turnId: sql`id`, lockKey: sql`coalesce(session_id, id)` }, options);
}
