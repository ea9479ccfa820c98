import type { Sql } from "../kernel/database/client.ts";
import { jobKeySql } from "../kernel/queue/add-job.ts";

/** Tasks whose rows go together, and runs that one statement deletes. */
const tasksPerBatch = 200;
const runsPerBatch = 2_000;

/**
 * Removes the tasks of a deleted agent with their fires and runs, in batches. The
 * runs' sessions and turns are the caller's: they are the agent's like all others.
 */
export async function purgeTasks(sql: Sql, agentId: string): Promise<void> {
  for (;;) {
    const tasks = await sql<{ id: string }[]>`select id from tasks where agent_id = ${agentId} limit ${tasksPerBatch}`;
    const ids = tasks.map(({ id }) => id);
    if (ids.length === 0) return;
    // The tasks last, so that a purge that breaks off finds their runs again.
    await purgeRuns(sql, ids);
    await sql`
      with gone as (delete from tasks where id = any(${ids}) returning id)
      select graphile_worker.remove_job(${jobKeySql(sql, "task.fire", sql`id`)}) from gone`;
    // A run may have been started while they went.
    await purgeRuns(sql, ids);
  }
}

async function purgeRuns(sql: Sql, taskIds: string[]): Promise<void> {
  for (;;) {
    const { count } = await sql`
      delete from task_runs where id in (select id from task_runs where task_id = any(${taskIds}) limit ${runsPerBatch})`;
    if (count < runsPerBatch) return;
  }
}
