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
  /** Turns that it runs at once, at most. */
  readonly slots: number;
  /** Turns that it runs now. */
  readonly turns: number;
  /** The tenants with the most of them, most first. */
  readonly tenants: readonly { readonly tenantId: IdOf<"tenant">; readonly turns: number }[];
  readonly startedAt: Date;
  readonly beatSecondsAgo: number;
  /** The version of the program; null: of one that does not say. */
  readonly version: string | null;
  /** What its process takes of the memory of its host, at its last beat. */
  readonly memoryBytes: number | null;
}

/** So many tenants of a worker are shown. */
const tenantsShownMax = 3;

/** Returns all worker processes, the oldest first. */
export async function listWorkers(sql: AnySql): Promise<WorkerRecord[]> {
  return sql<WorkerRecord[]>`
    select /* worker.list */ w.id as worker_id, w.host, w.pid, w.started_at, w.version, w.memory_bytes::float8 as memory_bytes,
      case when w.beat_at < now() - ${workerDeadMs} * interval '1 millisecond' then 'silent'
        when w.drain_requested_at is not null then 'draining' else 'working' end as state,
      w.slots, coalesce(held.turns, 0) as turns, coalesce(held.tenants, '[]') as tenants,
      greatest(0, extract(epoch from now() - w.beat_at))::float8 as beat_seconds_ago
    from workers w left join (
      select worker_id, sum(turns)::int as turns,
        json_agg(json_build_object('tenantId', tenant_id, 'turns', turns) order by place) filter (where place <= ${tenantsShownMax}) as tenants
      from (
        select worker_id, tenant_id, count(*)::int as turns,
          row_number() over (partition by worker_id order by count(*) desc, tenant_id) as place
        from turns where status = 'running' group by worker_id, tenant_id
      ) by_tenant group by worker_id
    ) held on held.worker_id = w.id
    order by w.started_at, w.id`;
}

/** Asks a worker to take nothing new; it reads this with its next beat. Returns false when there is no such worker. */
export async function askToDrain(sql: AnySql, workerId: IdOf<"worker">): Promise<boolean> {
  const { count } = await sql`
    update /* worker.drain */ workers set drain_requested_at = coalesce(drain_requested_at, now()) where id = ${workerId}`;
  return count > 0;
}
