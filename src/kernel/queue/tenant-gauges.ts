import { Gauge, type Registry } from "prom-client";
import type { AnySql } from "../database/client.ts";
import { oldestTurns } from "./oldest-turns.ts";

/** So many tenants are told apart, those with the most; the labels of a metric must stay few. */
const tenantsMax = 10;
interface Busiest {
  readonly status: "queued" | "running";
  readonly tenantId: string;
  readonly turns: number;
}

interface Parked {
  readonly turns: number;
  readonly oldestSeconds: number;
}

/** What the gauges of the tenants' turns show. */
export interface TenantTurns {
  readonly busiest: readonly Busiest[];
  readonly parked: Parked;
  /** How long the worker of the oldest running turn has had it. */
  readonly runningOldestSeconds: number;
  /** How many pauses of an operator hold. */
  readonly pauses: number;
}

/** Returns the tenants with the most queued and with the most running turns, and how much is parked. The counts are those of `oldestTurns`. */
export async function readTenantTurns(sql: AnySql): Promise<TenantTurns> {
  const [row] = await sql<TenantTurns[]>`
    with /* gauge.tenants */ counted as materialized ((${oldestTurns(sql, "queued")}) union all (${oldestTurns(sql, "running")})),
    busiest as (
      select status, tenant_id, count(*)::int as turns,
        row_number() over (partition by status order by count(*) desc, tenant_id) as place
      from counted group by status, tenant_id
    )
    select (select coalesce(json_agg(json_build_object('status', status, 'tenantId', tenant_id, 'turns', turns)), '[]')
        from busiest where place <= ${tenantsMax}) as busiest,
      (select json_build_object('turns', count(*), 'oldestSeconds', coalesce(extract(epoch from now() - min(since)), 0))
        from counted where status = 'queued' and parked_at is not null) as parked,
      coalesce((select extract(epoch from now() - min(coalesce(claimed_at, since))) from counted where status = 'running'), 0)::float8
        as running_oldest_seconds,
      (select count(*)::int from queue_pauses) as pauses`;
  return row ?? { busiest: [], parked: { turns: 0, oldestSeconds: 0 }, runningOldestSeconds: 0, pauses: 0 };
}

/** Adds the gauges to a registry; those that name tenants only where `tellTenants` is set. */
export function gaugeTenantTurns(registry: Registry, turns: TenantTurns, tellTenants: boolean): void {
  const { busiest, parked, runningOldestSeconds, pauses } = turns;
  const gauge = (name: string, help: string, labelNames: string[] = []) =>
    new Gauge({ name, help, labelNames, registers: [registry] });
  gauge("parley_turns_parked", "Queued turns that wait for a slot of their tenant.").set(parked.turns);
  gauge("parley_turns_parked_oldest_seconds", "How long the oldest of them has waited.").set(parked.oldestSeconds);
  gauge("parley_turns_running_oldest_seconds", "How long the worker of the oldest running turn has had it.").set(
    Math.max(0, runningOldestSeconds),
  );
  gauge("parley_queue_pauses", "Pauses of an operator that hold, of a tenant or of everything.").set(pauses);
  if (!tellTenants) return;
  const gauges = {
    running: gauge("parley_tenant_running_turns", "Running turns of the tenants with the most.", ["tenant"]),
    queued: gauge("parley_tenant_queued_turns", "Queued turns of the tenants with the most.", ["tenant"]),
  };
  for (const { status, tenantId, turns: count } of busiest) gauges[status].set({ tenant: tenantId }, count);
}
