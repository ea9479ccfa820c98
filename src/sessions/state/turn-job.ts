import type { AnySql } from "../../kernel/database/client.ts";
import { addJobSql } from "../../kernel/queue/add-job.ts";
import { parkedChannel } from "./parked.ts";

/**
 * Returns the SQL that enqueues the job of a turn, for a query whose rows have `id`,
 * `session_id` and `tenant_id`. At most one job a turn waits at a time. With `isFirst` it is for a turn
 * that is just being written, for which there can be no job yet.
 */
export function addTurnJob(sql: AnySql, options: { readonly isFirst?: boolean } = {}) {
  return addJobSql(
    sql,
    "turn",
    { turnId: sql`id`, lockKey: sql`coalesce(session_id, id)`, tenantId: sql`tenant_id` },
    options,
  );
}

/**
 * Returns the columns that enqueue the job of a turn that is just being written, or announce
 * it where it is parked, for a query whose rows have `id`, `session_id`, `tenant_id` and `parked_at`.
 */
export function addJobOrAnnounce(sql: AnySql) {
  return sql`case when parked_at is null then (${addTurnJob(sql, { isFirst: true })}).id end as job,
    case when parked_at is not null then pg_notify(${parkedChannel}, tenant_id)::text end as announced`;
}
