import type { AnySql } from "../../kernel/database/client.ts";

/** How often the queue tries a turn's job. The attempts only bridge a short outage of the database; lost turns are recovered by the reaper. */
const turnJobAttempts = 5;

/**
 * The SQL that enqueues the job of a turn, for a query whose rows have `id` and
 * `session_id`. At most one job a turn waits at a time.
 */
export function addTurnJob(sql: AnySql) {
  return sql`graphile_worker.add_job('turn', json_build_object('turnId', id, 'lockKey', coalesce(session_id, id)),
    max_attempts => ${turnJobAttempts}, job_key => id)`;
}

/**
 * The same for a turn that is just being written, for which there can be no job
 * yet. The queue is then not asked to replace one, which takes 0.2 ms of Postgres'
 * time in place of 1.2.
 */
export function addFirstTurnJob(sql: AnySql) {
  return sql`graphile_worker.add_job('turn', json_build_object('turnId', id, 'lockKey', coalesce(session_id, id)),
    max_attempts => ${turnJobAttempts}, job_key => id, job_key_mode => 'unsafe_dedupe')`;
}
