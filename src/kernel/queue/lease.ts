import type { AnySql } from "../database/client.ts";
import type { IdOf } from "../ids.ts";
import { workerDeadMs } from "../limits.ts";

/**
 * The right to recover what lost workers left, which one worker process has at a time: a
 * row, and not a lock of a connection, because a process that is frozen or cut off keeps
 * its connections and its locks, while a row runs out by Postgres' clock. Two processes
 * may believe that they have it, for as long as one scan takes; all that it is for are
 * guarded updates.
 *
 * Takes or renews it, until `workerDeadMs` from now. Returns whether this worker has it. A
 * worker that does not get it has written nothing.
 */
export async function takeReaperLease(sql: AnySql, workerId: IdOf<"worker">): Promise<boolean> {
  const until = sql`now() + ${workerDeadMs} * interval '1 millisecond'`;
  const rows = await sql`
    with /* recover.lease */ renewed as (
      update reaper_lease set worker_id = ${workerId}, ends_at = ${until}
      where worker_id = ${workerId} or ends_at < now() returning 1
    ), made as (
      insert into reaper_lease (worker_id, ends_at) select ${workerId}, ${until}
      where not exists (select 1 from reaper_lease) on conflict do nothing returning 1
    )
    select 1 from renewed union all select 1 from made`;
  return rows.length > 0;
}

/** Gives the right back, so that another worker need not wait until it runs out. */
export async function endReaperLease(sql: AnySql, workerId: IdOf<"worker">): Promise<void> {
  await sql`update /* recover.end_lease */ reaper_lease set ends_at = now() where worker_id = ${workerId} and ends_at > now()`;
}
