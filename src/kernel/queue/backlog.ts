import type { AnySql } from "../database/client.ts";
import { heldPerFree, workerDeadMs } from "../limits.ts";
import { oldestTurns } from "./oldest-turns.ts";

/** What waits for workers in the whole installation, and how many of them it would take (docs/watching.md). */
export interface Backlog {
  /** Turns that no worker has looked at yet. */
  readonly queued: number;
  /** Turns that wait for a slot of their tenant. */
  readonly parked: number;
  readonly running: number;
  /** Of all workers that beat. */
  readonly slots: number;
  /** How long the oldest of them has waited. */
  readonly oldestSeconds: number;
  readonly workersWanted: number;
  /** There, and true, while an operator's pause holds of anything. */
  readonly paused?: true;
}

/** The turns of a tenant. */
export interface TenantDemand {
  readonly running: number;
  readonly waiting: number;
  readonly weight: number;
  /** How many of its turns may run at once; null: no limit. */
  readonly runningMax: number | null;
  /** Whether a pause lets none of those that wait begin. */
  readonly isPaused?: boolean;
}

interface BacklogRow extends Omit<Backlog, "workersWanted" | "paused"> {
  readonly paused: boolean;
  readonly workers: number;
  readonly tenants: readonly TenantDemand[];
}

/** Returns what there is. `slotsOfOne` are those of a worker where none beats. */
export async function readBacklog(sql: AnySql, slotsOfOne: number): Promise<Backlog> {
  const oldest = (status: "queued" | "running") => oldestTurns(sql, status, sql`cancel_requested_at is null`);
  const [row] = await sql<[BacklogRow]>`
    with /* backlog.read */ counted as materialized ((${oldest("queued")}) union all (${oldest("running")})),
    demand as (
      select t.id, t.weight, t.running_turns as running_max, count(*) filter (where c.status = 'running')::int as running,
        count(*) filter (where c.status = 'queued')::int as waiting
      from counted c join tenants t on t.id = c.tenant_id group by t.id
    ), beating as (
      select slots from workers where beat_at > now() - ${workerDeadMs} * interval '1 millisecond' and drain_requested_at is null
    )
    select count(*) filter (where status = 'queued' and parked_at is null)::int as queued,
      count(*) filter (where status = 'queued' and parked_at is not null)::int as parked,
      count(*) filter (where status = 'running')::int as running,
      coalesce(extract(epoch from now() - min(since) filter (where status = 'queued')), 0)::float8 as oldest_seconds,
      (select count(*)::int from beating) as workers, (select coalesce(sum(slots), 0)::int from beating) as slots,
      (select coalesce(json_agg(json_build_object('running', running, 'waiting', waiting, 'weight', weight, 'runningMax', running_max,
          'isPaused', exists (select 1 from queue_pauses p where p.tenant_id = id or p.tenant_id is null))), '[]') from demand) as tenants,
      exists (select 1 from queue_pauses) as paused
    from counted`;
  const { workers, tenants, paused, ...counts } = row;
  const each = workers === 0 ? slotsOfOne : counts.slots / workers;
  const oldestSeconds = Math.max(0, Math.round(counts.oldestSeconds * 10) / 10);
  const workersWanted = workersFor(tenants, each, workers);
  return { ...counts, oldestSeconds, workersWanted, ...(paused ? { paused } : {}) };
}

/**
 * Returns how many workers it takes to run what would run: all that runs and waits, of each tenant as many as
 * it may, each of them within its share of a worker's slots. At rest it is one, or none where there is none.
 */
export function workersFor(tenants: readonly TenantDemand[], slotsOfOne: number, workers: number): number {
  let all = 0;
  let wanted = Math.min(1, workers);
  for (const { running, waiting, weight, runningMax, isPaused = false } of tenants) {
    const most = isPaused ? running : (runningMax ?? Number.POSITIVE_INFINITY);
    const turns = Math.max(running, Math.min(running + waiting, most));
    all += turns;
    const share = Math.max(1, Math.floor((slotsOfOne * heldPerFree * weight) / (heldPerFree * weight + 1)));
    wanted = Math.max(wanted, Math.ceil(turns / share));
  }
  return Math.max(wanted, Math.ceil(all / slotsOfOne));
}
