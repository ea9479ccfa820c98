import type { AnySql } from "../database/client.ts";
import { dueAtSql } from "./parked-jobs.ts";

/** A count stops here, over all tasks: counting 100,000 of 400,000 jobs took Postgres 0.27 s, which every process would ask of it at every scrape. */
const queueCountMax = 20_000;

/** How much of one kind of job waits. */
export interface TaskDepth {
  readonly task: string;
  /** Jobs that are due and that no worker has; at most `queueCountMax` over all tasks. */
  readonly ready: number;
  /** How long the oldest of them has been due. */
  readonly oldestSeconds: number;
  /** Jobs that have used up their attempts; at most `queueCountMax` over all tasks. */
  readonly dead: number;
}

/**
 * Returns how many jobs of each kind are due, and how many are dead. Both counts follow an
 * index and stop at `queueCountMax`: the queue's own index of available jobs, whose
 * order finds the oldest of a priority first, ours of the parked ones
 * (`parked-jobs.ts` has the priorities), and ours of those without attempts left.
 */
export async function readDepths(sql: AnySql): Promise<TaskDepth[]> {
  return sql<TaskDepth[]>`
    with /* gauge.depth */ due as (
      select task_id, count(*)::int as jobs, extract(epoch from now() - min(run_at))::float8 as oldest from (
        (select task_id, run_at from graphile_worker._private_jobs
        where is_available = true and priority = 0 and run_at <= now() order by priority, run_at limit ${queueCountMax})
        union all
        (select task_id, run_at from graphile_worker._private_jobs
        where is_available = true and priority = -1 and run_at <= now() order by priority, run_at limit ${queueCountMax})
        union all
        (select task_id, ${dueAtSql(sql, sql`j`)} from graphile_worker._private_jobs j where priority = 1 limit ${queueCountMax})
        limit ${queueCountMax}
      ) oldest group by task_id
    ), dead as (
      select task_id, count(*)::int as jobs from (
        select task_id from graphile_worker._private_jobs
        where attempts >= max_attempts and locked_at is null limit ${queueCountMax}
      ) given_up group by task_id
    )
    select t.identifier as task, coalesce(due.jobs, 0) as ready, coalesce(due.oldest, 0) as oldest_seconds,
      coalesce(dead.jobs, 0) as dead
    from due full join dead using (task_id) join graphile_worker._private_tasks t on t.id = task_id
    order by task`;
}

/** Returns how many worker processes beat, and how many are silent: those are dead or frozen, and the reaper handles them next. */
export async function countWorkers(sql: AnySql, silentMs: number): Promise<{ beating: number; silent: number }> {
  const [row] = await sql<{ beating: number; silent: number }[]>`
    select /* gauge.workers */ count(*) filter (where not silent)::int as beating, count(*) filter (where silent)::int as silent
    from (select beat_at < now() - ${silentMs} * interval '1 millisecond' as silent from workers limit ${queueCountMax}) w`;
  return row ?? { beating: 0, silent: 0 };
}
