import type postgres from "postgres";
import type { AnySql } from "../../kernel/database/client.ts";
import type { IdOf } from "../../kernel/ids.ts";
import { addJobSql, announceJobsSql, newJobsSql } from "../../kernel/queue/add-job.ts";
import { parkedChannel } from "./parked.ts";

/**
 * The channel on which each turn is announced that gets a job; the payload is `<turn> <lock key> <tenant>`. A worker with
 * room claims it at once and removes the job; a job that is still there a little later is fetched as any other.
 */
export const queuedChannel = "parley_queued";

/** A queued turn as it is announced. */
export interface QueuedTurn {
  readonly turnId: IdOf<"turn">;
  /** Its session, or the turn itself when it has none. */
  readonly lockKey: string;
  readonly tenantId: IdOf<"tenant">;
}

/** Returns what an announcement on `queuedChannel` says. */
export function readAnnouncement(payload: string): QueuedTurn {
  const [turnId, lockKey, tenantId] = payload.split(" ");
  return { turnId, lockKey, tenantId } as QueuedTurn;
}

/**
 * Returns the columns that enqueue the job of a turn and announce it, for a query whose rows have `id`,
 * `session_id` and `tenant_id`. At most one job a turn waits at a time.
 */
export function addTurnJob(sql: AnySql): postgres.Fragment {
  return sql`${jobOf(sql)} as job, pg_notify(${queuedChannel}, ${announcement(sql)})::text as announced`;
}

/**
 * Does the same for turns that are just being queued, for which there can be no job yet: returns the CTE `job`, for a CTE
 * with these columns and `parked_at`, and the columns for a query of that CTE's rows. A turn that is parked is announced as such, and has no job.
 */
export function newTurnJobs(sql: AnySql, turns: "accepted" | "unclaimed" | "started") {
  const job = newJobsSql(
    sql,
    "turn",
    payloadOf(sql),
    sql`(select * from ${sql.unsafe(turns)} where parked_at is null) queued`,
  );
  // The very first turn of an installation.
  const unknownKind = sql`case when not exists (select 1 from job) then ${jobOf(sql)} end`;
  return {
    job: sql`job as (${job} returning key)`,
    announced: sql`case when parked_at is null then ${unknownKind} end as job,
    case when parked_at is null then ${announceJobsSql(sql, sql`count(*) filter (where parked_at is null) over ()`)}::text end as job_announced,
    case when parked_at is null then pg_notify(${queuedChannel}, ${announcement(sql)}) else pg_notify(${parkedChannel}, tenant_id) end::text as announced`,
  };
}

function jobOf(sql: AnySql): postgres.Fragment {
  return sql`(${addJobSql(sql, "turn", payloadOf(sql))}).id`;
}

function payloadOf(sql: AnySql) {
  return { turnId: sql`id`, lockKey: sql`coalesce(session_id, id)`, tenantId: sql`tenant_id` };
}

function announcement(sql: AnySql): postgres.Fragment {
  return sql`id || ' ' || coalesce(session_id, id) || ' ' || tenant_id`;
}

/**
 * Returns the CTE `unqueued`, which removes the jobs of the turns in the CTE `claimed` that no worker has fetched yet.
 * They are found by their ids: for an array of row addresses Postgres reads the whole table while it believes that to be
 * small, and under load the table has the room of all jobs since its last vacuum.
 */
export function removeTurnJobs(sql: AnySql): postgres.Fragment {
  return sql`unqueued as (
      delete from graphile_worker._private_jobs j using (
        select job.id from claimed cross join lateral (
          select id from graphile_worker._private_jobs where key = claimed.id and locked_at is null for update skip locked
        ) job
      ) found
      where j.id = found.id
    )`;
}

/**
 * Returns the SQL of the numbers of jobs that have no attempts left and whose turn runs, waits or has ended: an outage used
 * the attempts up while it was claimed without them. Nobody needs such a job, and as a dead letter it would call for an operator.
 */
export function spentTurnJobs(sql: AnySql, rowsMax: number): postgres.Fragment {
  return sql`
    select j.id from graphile_worker._private_jobs j
    where j.task_id = (select id from graphile_worker._private_tasks where identifier = 'turn')
      and j.attempts >= j.max_attempts and j.locked_at is null
      and exists (select 1 from turns t where t.id = j.key and t.status <> 'queued')
    limit ${rowsMax}`;
}

/** Removes such jobs, so many at most. */
export async function removeSpentJobs(sql: AnySql, rowsMax: number): Promise<void> {
  await sql`
    delete /* turn.remove_spent_jobs */ from graphile_worker._private_jobs where locked_at is null and id in (${spentTurnJobs(sql, rowsMax)})`;
}
