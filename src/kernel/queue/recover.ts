import type postgres from "postgres";
import type { AnySql } from "../database/client.ts";
import type { IdOf } from "../ids.ts";

/** What else is known of the workers that are gone. */
interface Gone {
  /** Names of the queue that their rows may not hold yet. */
  readonly names?: readonly string[];
  /** They stopped in order, not because of a job, so each job gets the attempt back that it was fetched with. */
  readonly inOrder?: boolean;
}

/**
 * Forgets workers `w` that are gone, and gives the jobs that are locked in their
 * names back to the queue, in one statement: without its worker's row a locked job
 * would be run by no worker for hours. They go back under new numbers, because a worker that
 * was frozen and wakes up completes its jobs by number, without a check that it still
 * owns them, and must not complete those of its successors.
 *
 * A job that was replaced by another while it was locked has lost its key and all its
 * attempts. It is deleted, because it would stay as a dead letter. Returns the ids of
 * the workers.
 */
export function forgetWorkers(
  sql: AnySql,
  areGone: postgres.Fragment,
  { names = [], inOrder = false }: Gone = {},
): PromiseLike<{ id: IdOf<"worker"> }[]> {
  return sql<{ id: IdOf<"worker"> }[]>`
    with /* recover.workers */ gone as (
      delete from workers w where ${areGone} returning w.id, w.queue_worker_ids
    ), locked as (
      select j.id, j.key is null and j.attempts >= j.max_attempts as is_spent
      from graphile_worker._private_jobs j join gone on j.locked_by = any(gone.queue_worker_ids || ${names as string[]}::text[])
      for update of j
    ), deleted as (
      delete from graphile_worker._private_jobs j using locked where j.id = locked.id and locked.is_spent
    ), freed as (
      update graphile_worker._private_jobs j set id = default, locked_by = null, locked_at = null
        ${inOrder ? sql`, attempts = greatest(0, j.attempts - 1)` : sql``}
      from locked where j.id = locked.id and not locked.is_spent
    )
    select id from gone`;
}
