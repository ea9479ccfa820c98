import type { AnySql } from "../../kernel/database/client.ts";
import { turnAttemptsMax } from "../../kernel/limits.ts";

/**
 * Puts a turn that has shown nothing back into the queue, with a fresh job: a
 * worker that wakes up later deletes its old job by number, and must not delete
 * this one. False when the claim is gone, the turn may not be run again, or its
 * attempts are used up.
 */
export async function requeueTurn(sql: AnySql, turnId: string, attempt: number): Promise<boolean> {
  const rows = await sql`
    with requeued as (
      update turns set status = 'queued', worker_id = null, claimed_at = null
      where id = ${turnId} and attempt = ${attempt} and status = 'running' and shown_at is null
        and cancel_requested_at is null and attempt < ${turnAttemptsMax}
      returning id, session_id
    )
    select (${addTurnJob(sql)}).id from requeued`;
  return rows.length > 0;
}

/**
 * Takes back a claim of this worker whose answer got lost, so that nobody runs it;
 * the job that made it is still at hand. False when there is no such claim.
 */
export async function unclaimTurn(sql: AnySql, turnId: string, workerId: string): Promise<boolean> {
  const { count } = await sql`
    update turns set status = 'queued', worker_id = null, claimed_at = null
    where id = ${turnId} and worker_id = ${workerId} and status = 'running' and shown_at is null`;
  return count > 0;
}

/** Attempts the queue gives a turn's job: they only bridge a database blip, for the reaper looks after the turn itself. */
const turnJobAttempts = 5;

/** The SQL that rings for a turn, for a query whose rows have `id` and `session_id`. One job a turn waits at a time. */
export function addTurnJob(sql: AnySql) {
  return sql`graphile_worker.add_job('turn', json_build_object('turnId', id, 'lockKey', coalesce(session_id, id)),
    max_attempts => ${turnJobAttempts}, job_key => id)`;
}

/**
 * The same for a turn that is just being written, for which there can be no job
 * yet: the queue is not asked to replace one, which takes 0.2 ms of Postgres' time
 * in place of 1.2.
 */
export function addFirstTurnJob(sql: AnySql) {
  return sql`graphile_worker.add_job('turn', json_build_object('turnId', id, 'lockKey', coalesce(session_id, id)),
    max_attempts => ${turnJobAttempts}, job_key => id, job_key_mode => 'unsafe_dedupe')`;
}
