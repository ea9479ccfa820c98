import type postgres from "postgres";
import type { AnySql } from "../db.ts";

/**
 * Forgets workers `w` that are gone, and gives the jobs that are locked in their
 * names back to the queue, in one statement: without its worker's row a locked job
 * would be nobody's for hours. They go back under new numbers, because a worker that
 * was frozen and wakes up says that its jobs are done, by number and without asking,
 * and must not hit those of its successors.
 */
export function forgetWorkers(sql: AnySql, areGone: postgres.Fragment): PromiseLike<{ id: string }[]> {
  return sql<{ id: string }[]>`
    with gone as (
      delete from workers w where ${areGone} returning w.id, w.queue_worker_ids
    ), freed as (
      update graphile_worker._private_jobs j set id = default, locked_by = null, locked_at = null
      from gone where j.locked_by = any(gone.queue_worker_ids)
    )
    select id from gone`;
}
