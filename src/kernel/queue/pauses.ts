import type postgres from "postgres";
import type { AnySql } from "../database/client.ts";
import type { IdOf } from "../ids.ts";

/** An operator's pause: no worker begins a turn of this tenant, or of anybody. What runs goes on. */
export interface QueuePause {
  /** Null: the whole installation. */
  readonly tenantId: IdOf<"tenant"> | null;
  readonly pausedAt: Date;
}

/** What is paused, as a worker has it. */
export interface Paused {
  readonly all: boolean;
  readonly tenantIds: ReadonlySet<string>;
}

/** Nothing is paused. */
export const nothingPaused: Paused = { all: false, tenantIds: new Set() };

/** Returns the SQL of: the ids of paused tenants, an empty one for the whole installation. */
export function pausedTenants(sql: AnySql): postgres.Fragment {
  return sql`array(select coalesce(tenant_id, '') from queue_pauses)`;
}

/** Returns what such a list of ids means. */
export function toPaused(ids: readonly string[]): Paused {
  return ids.length === 0 ? nothingPaused : { all: ids.includes(""), tenantIds: new Set(ids) };
}

/** Returns all pauses, that of the whole installation first. */
export async function listPauses(sql: AnySql): Promise<QueuePause[]> {
  return sql<QueuePause[]>`
    select /* pause.list */ tenant_id, paused_at from queue_pauses order by tenant_id nulls first`;
}

/** Pauses a tenant, or everything. Returns false where it was paused before, or there is no such tenant. */
export async function addPause(sql: AnySql, tenantId: string | null): Promise<boolean> {
  const { count } = await sql`
    insert /* pause.add */ into queue_pauses (tenant_id)
    select ${tenantId}::text where ${tenantId}::text is null or exists (select 1 from tenants where id = ${tenantId} and deleted_at is null)
    on conflict do nothing`;
  return count > 0;
}

/** Ends a pause. Returns false where there was none. */
export async function removePause(sql: AnySql, tenantId: string | null): Promise<boolean> {
  const { count } = await sql`
    delete /* pause.remove */ from queue_pauses where tenant_id is not distinct from ${tenantId}::text`;
  return count > 0;
}
