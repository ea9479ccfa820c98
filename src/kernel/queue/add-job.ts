import type postgres from "postgres";
import { type AnySql, json } from "../database/client.ts";
import {
  type ClockJobName,
  type JobName,
  type JobPayloads,
  jobKey,
  jobKeyPrefix,
  jobKind,
  type KeyedJobName,
} from "./catalogue.ts";

interface AddJobOptions {
  /** Left out: now. */
  readonly runAt?: Date;
  /** Makes a job of its own, beside the one with the plain key. */
  readonly keySuffix?: string;
}

/**
 * Adds a job in the caller's transaction: the job exists if and only if what the
 * caller writes does. It replaces the job of the same key that waits.
 */
export async function addJob<N extends KeyedJobName>(
  sql: AnySql,
  name: N,
  payload: JobPayloads[N],
  { runAt, keySuffix = "" }: AddJobOptions = {},
): Promise<void> {
  const { key } = jobKind(name);
  const id = (payload as Readonly<Record<string, string>>)[key as string] as string;
  await add(sql, name, payload, { key: `${jobKey(name, id)}${keySuffix}`, runAt: runAt ?? null });
}

/** Adds a job now that else comes by the clock, in the place of one that waits. */
export async function addClockJob(sql: AnySql, name: ClockJobName): Promise<void> {
  await add(sql, name, {}, { key: name, runAt: null });
}

async function add(
  sql: AnySql,
  name: JobName,
  payload: object,
  { key, runAt }: { readonly key: string; readonly runAt: Date | null },
): Promise<void> {
  await sql`select /* job.add */ graphile_worker.add_job(
    ${name}, ${json(sql, payload)}, run_at => ${runAt}::timestamptz,
    max_attempts => ${jobKind(name).attempts}, job_key => ${key})`;
}

/** Removes the job of this key, if it waits. */
export async function removeJob(inner: AnySql, name: KeyedJobName, id: string): Promise<void> {
  await inner`select /* job.remove */ graphile_worker.remove_job(${jobKey(name, id)})`;
}

/** An expression for each field of a job's payload. */
type PayloadSql<N extends KeyedJobName> = { readonly [F in keyof JobPayloads[N]]: postgres.Fragment };

/**
 * Returns the SQL of a call that adds a job, for a query whose rows have what the
 * payload needs.
 */
export function addJobSql<N extends KeyedJobName>(
  sql: AnySql,
  name: N,
  values: PayloadSql<N>,
  { delaySeconds = 0 }: { readonly delaySeconds?: number } = {},
) {
  const { attempts } = jobKind(name);
  const { payload, key } = jobSql(sql, name, values);
  return sql`graphile_worker.add_job(${literal(sql, name)}, ${payload}, max_attempts => ${attempts}, job_key => ${key}
    ${delaySeconds === 0 ? sql`` : sql`, run_at => now() + make_interval(secs => ${delaySeconds})`})`;
}

/**
 * Returns the body of a CTE that inserts jobs of a kind, one for each row of `from`, whose keys no job can have yet. It is what
 * `add_job` does for such a job, in 0.01 ms of Postgres' time in place of 0.06; but it announces nothing, and it inserts nothing while the
 * queue does not know the kind, which it does from its first `add_job` on.
 */
export function newJobsSql<N extends KeyedJobName>(
  sql: AnySql,
  name: N,
  values: PayloadSql<N>,
  from: postgres.Fragment,
): postgres.Fragment {
  const { attempts } = jobKind(name);
  const { payload, key } = jobSql(sql, name, values);
  return sql`insert into graphile_worker._private_jobs (task_id, payload, max_attempts, key)
      select kind_id, ${payload}, ${attempts}::smallint, ${key} from (
        select id as kind_id from graphile_worker._private_tasks where identifier = ${literal(sql, name)}
      ) kind cross join ${from}`;
}

/** Returns the announcement of so many jobs, as the queue makes it: of one statement they are one notification. */
export function announceJobsSql(sql: AnySql, count: postgres.Fragment): postgres.Fragment {
  return sql`pg_notify('jobs:insert', json_build_object('count', ${count})::text)`;
}

/** Returns payload and key of a job as expressions. */
function jobSql<N extends KeyedJobName>(sql: AnySql, name: N, values: PayloadSql<N>) {
  const { payload, key } = jobKind(name);
  const expressionOf = (field: string) =>
    (values as Readonly<Record<string, postgres.Fragment>>)[field] as postgres.Fragment;
  const fields = payload.map((field, index) => {
    return sql`${index === 0 ? sql`` : sql`, `}${literal(sql, field)}, ${expressionOf(field)}`;
  });
  return { payload: sql`json_build_object(${fields})`, key: jobKeySql(sql, name, expressionOf(key as string)) };
}

/** Returns the SQL of a job's key; `id` is the expression of the kind's key field. */
export function jobKeySql(sql: AnySql, name: KeyedJobName, id: postgres.Fragment) {
  const prefix = jobKeyPrefix(name);
  return prefix === "" ? id : sql`${literal(sql, prefix)} || ${id}`;
}

/** Returns the SQL of: the queue has a job of this key that runs, or that it will run. `key` is the expression of the key. */
export function hasLiveJobSql(sql: AnySql, key: postgres.Fragment) {
  return sql`exists (
    select 1 from graphile_worker._private_jobs j
    where j.key = ${key} and (j.attempts < j.max_attempts or j.locked_at is not null))`;
}

/** A word of the catalogue as a literal: as a parameter it would have no type in `json_build_object`. */
function literal(sql: AnySql, word: string): postgres.Fragment {
  return sql.unsafe(`'${word}'`);
}
