import type { AnySql } from "../database/client.ts";
import type { IdOf } from "../ids.ts";
import { workerDeadMs } from "../limits.ts";

/** A worker process, as its row describes it. */
export interface WorkerRecord {
  readonly workerId: IdOf<"worker">;
  readonly host: string;
  readonly pid: number | null;
  /** `silent`: its beat is late; the reaper ends it unless it comes back. */
  readonly state: "working" | "draining" | "silent";
  /** Turns that it runs now. */
  readonly turns: number;
  readonly startedAt: Date;
  readonly beatSecondsAgo: number;
}

/** Returns all worker processes, the oldest first. */
export async function listWorkers(sql: AnySql): Promise<WorkerRecord[]> {
  return sql<WorkerRecord[]>`
    select w.id as worker_id, w.host, w.pid, w.started_at,
      case when w.beat_at < now() - ${workerDeadMs} * interval '1 millisecond' then 'silent'
        when w.drain_requested_at is not null then 'draining' else 'working' end as state,
      (select count(*)::int from turns t where t.status = 'running' and t.worker_id = w.id) as turns,
      greatest(0, extract(epoch from now() - w.beat_at))::float8 as beat_seconds_ago
    from workers w order by w.started_at, w.id`;
}

/** Asks a worker to take nothing new; it reads this with its next beat. Returns false when there is no such worker. */
export async function askToDrain(sql: AnySql, workerId: IdOf<"worker">): Promise<boolean> {
  const { count } = await sql`
    update workers set drain_requested_at = coalesce(drain_requested_at, now()) where id = ${workerId}`;
  return count > 0;
}
