import type { AnySql } from "../kernel/database/client.ts";
import type { IdOf } from "../kernel/ids.ts";

/** What a tenant has in the queue and on the workers. */
export interface TenantLoad {
  readonly tenantId: IdOf<"tenant">;
  /** Turns that are accepted and do not run yet, the parked ones and those in the lines of their sessions too. */
  readonly queued: number;
  /** How long the oldest of them has waited, lines of sessions aside. */
  readonly oldestSeconds: number;
  readonly parked: number;
  readonly running: number;
  /** Turns that wait for a person. */
  readonly waiting: number;
  /** Where they run, most first. */
  readonly workers: readonly { readonly workerId: IdOf<"worker">; readonly turns: number }[];
}

/** Returns what a tenant has in the queue and on the workers; null when there is no such tenant. */
export async function readTenantLoad(sql: AnySql, tenantId: string): Promise<TenantLoad | null> {
  const [load] = await sql<TenantLoad[]>`
    with /* tenant.load */ turns_of as materialized (
      select status, parked_at, accepted_at, queued_at, worker_id from turns
      where tenant_id = ${tenantId} and status in ('enqueued', 'queued', 'running', 'waiting')
    )
    select n.id as tenant_id, count(*) filter (where status in ('enqueued', 'queued'))::int as queued,
      coalesce(extract(epoch from now() - min(coalesce(queued_at, accepted_at)) filter (where status = 'queued')), 0)::float8 as oldest_seconds,
      count(*) filter (where status = 'queued' and parked_at is not null)::int as parked,
      count(*) filter (where status = 'running')::int as running,
      count(*) filter (where status = 'waiting')::int as waiting,
      coalesce((
        select json_agg(json_build_object('workerId', worker_id, 'turns', held) order by held desc, worker_id) from (
          select worker_id, count(*)::int as held from turns_of where status = 'running' group by worker_id) by_worker
      ), '[]') as workers
    from tenants n left join turns_of on true
    where n.id = ${tenantId} and n.deleted_at is null group by n.id`;
  return load ?? null;
}
