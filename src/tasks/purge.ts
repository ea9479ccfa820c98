import type { AgentPurgeScope } from "../agents/purge.ts";
import type { Ctx } from "../kernel/context.ts";
import { eraseByIndex, idsOf, paced, type SizedId } from "../kernel/database/pace.ts";
import { eraseResponses } from "../kernel/http/erase-keys.ts";
import { addJob, jobKeySql } from "../kernel/queue/add-job.ts";
import type { JobPayloads } from "../kernel/queue/catalogue.ts";

/** Tasks whose rows go together. */
const tasksPerBatch = 200;

/** What the removal of runs needs. */
type RunScope = Pick<AgentPurgeScope, "sql" | "pace">;

/**
 * Removes the tasks of a deleted agent with their fires and runs, in batches. The
 * runs' sessions and turns are the caller's: they are the agent's like all others.
 */
export async function purgeTasks(scope: AgentPurgeScope, agentId: string): Promise<void> {
  const { sql, pace } = scope;
  for (;;) {
    pace.step();
    const tasks = await sql<{ id: string }[]>`select id from tasks where agent_id = ${agentId} limit ${tasksPerBatch}`;
    const ids = tasks.map(({ id }) => id);
    if (ids.length === 0) return;
    // The tasks last, so that a purge that breaks off finds their runs again.
    await purgeRuns(scope, ids);
    await sql`
      with gone as (delete from tasks where id = any(${ids}) returning id)
      select graphile_worker.remove_job(${jobKeySql(sql, "task.fire", sql`id`)}) from gone`;
    // A run may have been started while they went.
    await purgeRuns(scope, ids);
  }
}

/**
 * The job `task.purge`: erases a deleted task with its runs, in bounded statements and
 * jobs; their sessions stay. Does nothing while the task exists. Safe to repeat.
 */
export function purgeTask({ sql }: Pick<Ctx, "sql">, payload: JobPayloads["task.purge"]): Promise<void> {
  const { taskId } = payload;
  return paced(
    async (pace) => {
      const [deleted] = await sql`select 1 from tasks where id = ${taskId} and deleted_at is not null`;
      if (deleted === undefined) return;
      await eraseResponses(sql, [taskId], pace);
      await purgeRuns({ sql, pace }, [taskId]);
      await sql`delete from tasks where id = ${taskId}`;
    },
    () => addJob(sql, "task.purge", payload, { keySuffix: ":on" }),
  );
}

/** Runs hold the prompt that they were started with. */
function purgeRuns(scope: RunScope, taskIds: readonly string[]): Promise<void> {
  const { sql } = scope;
  const tasks = taskIds as string[];
  return eraseByIndex(
    scope,
    (inner, rows) => inner<SizedId[]>`
      select id, pg_column_size(prompt) + pg_column_size(metadata) as bytes from task_runs
      where task_id = any(${tasks}) limit ${rows}`,
    (rows) => sql`delete from task_runs where id = any(${idsOf(rows)})`,
  );
}
