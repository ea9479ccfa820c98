import type postgres from "postgres";
import type { AnySql } from "../database/client.ts";
import type { JobName } from "./catalogue.ts";

/**
 * The places of a job in the queue's order, every move between which is here:
 *
 *     waiting ──its kind or its tenant has no slot─▶ parked ──a worker has a slot for it─▶ called ──fetched─▶ (runs)
 *
 * A parked job is no worker's, and is put off, so that fetching does not read it. One
 * that is added again under its key waits again.
 */
const places = { called: -1, waiting: 0, parked: 1 } as const;
/** A parked job is put off by this long, after which it would be due without a call. */
const parkedFor = "interval '1 day'";
/** This many due jobs, of all kinds, are read at most to park some of them. */
const dueRowsMax = 2_000;
/** This many tenants with parked jobs of a kind are looked at together. */
export const parkedTenantsMax = 500;

/** A job that this worker process has fetched. */
export interface FetchedJob {
  readonly id: string;
  /** The name under which the queue locked it. */
  readonly lockedBy: string;
}

/** Returns the SQL of when a job is or was due, for the alias of a job: a parked one has been put off. */
export function dueAtSql(sql: AnySql, job: postgres.Fragment): postgres.Fragment {
  return sql`(${job}.run_at - case when ${job}.priority = ${literal(sql, places.parked)} then ${sql.unsafe(parkedFor)} else interval '0' end)`;
}

/** Returns the SQL of a job's tenant, for the alias of a job. */
function tenantOf(sql: AnySql, job: postgres.Fragment): postgres.Fragment {
  return sql`coalesce(${job}.payload ->> 'tenantId', '')`;
}

/** Returns the SQL of a kind's number. */
function taskIdOf(sql: AnySql, name: JobName): postgres.Fragment {
  return sql`(select id from graphile_worker._private_tasks where identifier = ${name})`;
}

/**
 * Parks jobs that this process has fetched, each with the attempt that it was fetched with.
 * They go back under new numbers, because the queue deletes by number what its handler is
 * done with. One that was replaced by another meanwhile is left to be deleted so.
 */
export async function parkFetched(sql: AnySql, jobs: readonly FetchedJob[]): Promise<void> {
  const ids = jobs.map(({ id }) => id);
  const names = jobs.map(({ lockedBy }) => lockedBy);
  await sql`
    update /* job.park */ graphile_worker._private_jobs j set id = default, locked_by = null, locked_at = null,
      attempts = greatest(0, j.attempts - 1), priority = ${literal(sql, places.parked)}, run_at = j.run_at + ${sql.unsafe(parkedFor)}
    from unnest(${ids}::bigint[], ${names}::text[]) fetched (id, name)
    where j.id = fetched.id and j.locked_by = fetched.name and (j.key is not null or j.attempts < j.max_attempts)`;
}

/**
 * Parks due jobs of a kind before anybody fetches them: those of one tenant, or with null
 * all of them. At most `dueRowsMax` due jobs are read. Returns how many it parked.
 */
export async function parkDue(sql: AnySql, name: JobName, tenantId: string | null): Promise<number> {
  const { count } = await sql`
    with /* job.park_due */ due as (
      select id, task_id, payload from graphile_worker._private_jobs
      where is_available = true and priority = 0 and run_at <= now() order by priority, run_at limit ${dueRowsMax}
    ), free as (
      select j.id from due join graphile_worker._private_jobs j on j.id = due.id
      where due.task_id = ${taskIdOf(sql, name)} and (${tenantId}::text is null or ${tenantOf(sql, sql`due`)} = ${tenantId})
        and j.is_available = true and j.priority = ${literal(sql, places.waiting)}
      for update of j skip locked
    )
    update graphile_worker._private_jobs j
    set priority = ${literal(sql, places.parked)}, run_at = j.run_at + ${sql.unsafe(parkedFor)}
    from free where j.id = free.id`;
  return count;
}

/** Returns the kinds of which jobs are parked: one step in an index for each kind. */
export async function parkedKinds(sql: AnySql): Promise<string[]> {
  const rows = await sql<{ task: string }[]>`
    select /* job.kinds_parked */ identifier as task from graphile_worker._private_tasks t where exists (
      select 1 from graphile_worker._private_jobs j where j.task_id = t.id and j.priority = ${literal(sql, places.parked)})`;
  return rows.map(({ task }) => task);
}

/**
 * Returns the tenants that have parked jobs of a kind, the one whose oldest job waits
 * longest first: the first `parkedTenantsMax` after this id. One step in an index for each, however many jobs it has.
 */
export async function parkedTenants(sql: AnySql, name: JobName, afterTenant: string): Promise<string[]> {
  const firstAfter = (after: postgres.Fragment, isFrom: boolean) => sql`(
    select ${tenantOf(sql, sql`j`)} as tenant_id from graphile_worker._private_jobs j
    where j.task_id = (select id from kind) and j.priority = ${literal(sql, places.parked)}
      and ${tenantOf(sql, sql`j`)} ${isFrom ? sql`>=` : sql`>`} ${after}
    order by ${tenantOf(sql, sql`j`)} limit 1)`;
  const rows = await sql<{ tenantId: string }[]>`
    with /* job.find_parked */ recursive kind as (select ${taskIdOf(sql, name)} as id), line as (
      ${firstAfter(sql`${afterTenant}`, afterTenant === "")}
      union all
      select ${firstAfter(sql`line.tenant_id`, false)} from line where line.tenant_id is not null
    ), found as materialized (select tenant_id from line where tenant_id is not null limit ${parkedTenantsMax})
    select found.tenant_id from found order by (
      select min(j.run_at) from graphile_worker._private_jobs j
      where j.task_id = (select id from kind) and j.priority = ${literal(sql, places.parked)} and ${tenantOf(sql, sql`j`)} = found.tenant_id)`;
  return rows.map(({ tenantId }) => tenantId);
}

/** A job that was called: it is due again, before all that wait. */
export interface CalledJob {
  readonly id: string;
  readonly tenantId: string;
}

/** Calls the oldest parked jobs of a kind; `wanted` says how many of each tenant. Returns those that it called. */
export async function callParked(
  sql: AnySql,
  name: JobName,
  wanted: ReadonlyMap<string, number>,
): Promise<CalledJob[]> {
  return sql<CalledJob[]>`
    with /* job.call_parked */ called as materialized (
      select p.id, w.tenant_id from unnest(${[...wanted.keys()]}::text[], ${[...wanted.values()]}::int[]) w (tenant_id, jobs)
      cross join lateral (
        select j.id from graphile_worker._private_jobs j
        where j.task_id = ${taskIdOf(sql, name)} and j.priority = ${literal(sql, places.parked)} and j.is_available = true
          and ${tenantOf(sql, sql`j`)} = w.tenant_id
        order by j.run_at limit w.jobs for update skip locked
      ) p
    )
    update graphile_worker._private_jobs j
    set priority = ${literal(sql, places.called)}, run_at = j.run_at - ${sql.unsafe(parkedFor)}
    from called where j.id = called.id returning j.id::text, called.tenant_id`;
}

/** A number in the text of a statement: as a parameter it would not let Postgres choose the index of parked jobs. */
function literal(sql: AnySql, place: number): postgres.Fragment {
  return sql.unsafe(String(place));
}
