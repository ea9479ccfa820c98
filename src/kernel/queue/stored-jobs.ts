import type { AnySql } from "../database/client.ts";
import { dueAtSql } from "./parked-jobs.ts";

/** The counts of one kind of job in the queue. */
export interface TaskCounts {
  readonly task: string;
  /** Due and not locked by a worker. */
  readonly ready: number;
  /** How long the oldest of those has been due. */
  readonly oldestSeconds: number;
  /** For later: schedules, and jobs that failed and are tried again after a pause. */
  readonly scheduled: number;
  readonly running: number;
  /** Without attempts left: no worker runs them any more (dead letters). */
  readonly dead: number;
}

/** A job as the queue holds it. */
export interface Job {
  /** A number, as text. */
  readonly id: string;
  readonly task: string;
  readonly payload: unknown;
  readonly attempts: number;
  readonly maxAttempts: number;
  readonly dead: boolean;
  readonly lastError: string | null;
  readonly runAt: Date;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  /** Null: no worker has it. */
  readonly lockedAt: Date | null;
}

/** Returns the counts of every kind of job in the queue. Counts all jobs, unlike the gauges of `/metrics`. */
export async function countJobs(sql: AnySql): Promise<TaskCounts[]> {
  return sql<TaskCounts[]>`
    select /* job.summary */ t.identifier as task, count(*) filter (where waits and due_at <= now())::int as ready,
      coalesce(extract(epoch from now() - min(due_at) filter (where waits and due_at <= now())), 0)::float8 as oldest_seconds,
      count(*) filter (where waits and due_at > now())::int as scheduled,
      count(*) filter (where locked_at is not null)::int as running,
      count(*) filter (where locked_at is null and not waits)::int as dead
    from (
      select w.*, locked_at is null and attempts < max_attempts as waits, ${dueAtSql(sql, sql`w`)} as due_at
      from graphile_worker._private_jobs w
    ) j
    join graphile_worker._private_tasks t on t.id = j.task_id
    group by 1 order by 1`;
}

/** Returns dead jobs, the oldest first; those of one kind when `task` is not null, and those behind the job `after`. */
export function listDead(
  sql: AnySql,
  { task, limit, after = "0" }: { task: string | null; limit: number; after?: string },
): Promise<Job[]> {
  return readJobs(
    sql,
    sql`j.attempts >= j.max_attempts and j.locked_at is null and j.id > ${after}::bigint ${task === null ? sql`` : sql`and t.identifier = ${task}`}
      order by j.id limit ${limit}`,
  );
}

/** Returns a job by its number; null when there is none. */
export async function findJob(sql: AnySql, id: string): Promise<Job | null> {
  const [job] = await readJobs(sql, sql`j.id = ${id}::bigint`);
  return job ?? null;
}

async function readJobs(sql: AnySql, which: ReturnType<typeof sql>): Promise<Job[]> {
  return sql<Job[]>`
    select /* job.list */ j.id::text, t.identifier as task, j.payload, j.attempts, j.max_attempts,
      j.attempts >= j.max_attempts and j.locked_at is null as dead, j.last_error, ${dueAtSql(sql, sql`j`)} as run_at,
      j.created_at, j.updated_at, j.locked_at
    from graphile_worker._private_jobs j join graphile_worker._private_tasks t on t.id = j.task_id
    where ${which}`;
}

/** Makes jobs due now, with all their attempts again. Returns the numbers of those that it changed: a job that runs is left as it is. */
export async function retryJobs(sql: AnySql, ids: readonly string[]): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`
    select /* job.retry */ id::text from graphile_worker.reschedule_jobs(${ids as string[]}::bigint[], run_at => now(), attempts => 0)`;
  return rows.map(({ id }) => id);
}

/** Takes a running job's further attempts away: when this one fails, it is a dead letter. */
export async function spendAttempts(sql: AnySql, id: string): Promise<void> {
  await sql`update /* job.bury */ graphile_worker._private_jobs set max_attempts = attempts where id = ${id}::bigint`;
}

/** Returns whether a running job was replaced by a newer one with its key, which does its work: the queue takes its key away, and all its attempts. */
export async function isReplaced(sql: AnySql, id: string): Promise<boolean> {
  const [row] =
    await sql`select /* job.is_keyless */ 1 from graphile_worker._private_jobs where id = ${id}::bigint and key is null`;
  return row !== undefined;
}

/** Deletes dead jobs that did not change for so many days, at most `rowsMax`; returns how many. */
export async function eraseDeadJobs(sql: AnySql, days: number, rowsMax: number): Promise<number> {
  const { count } = await sql`
    delete /* job.discard */ from graphile_worker._private_jobs where id in (
      select id from graphile_worker._private_jobs
      where attempts >= max_attempts and locked_at is null and updated_at < now() - make_interval(days => ${days}) limit ${rowsMax})`;
  return count;
}
