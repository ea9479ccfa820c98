import type postgres from "postgres";
import type { AnySql } from "../../kernel/database/client.ts";
import type { IdOf } from "../../kernel/ids.ts";

/** The channel on which it is announced that a tenant has a parked turn; the payload is the tenant's id. A beat finds those that were missed. */
export const parkedChannel = "parley_parked";

/** Returns the condition of the index `turns_parked`, for a table or alias of turns. */
function isParked(sql: AnySql, turns: postgres.Fragment): postgres.Fragment {
  return sql`(${turns}.status = 'queued' and ${turns}.parked_at is not null and ${turns}.cancel_requested_at is null)`;
}

/** Returns the SQL of: some tenant has parked turns. */
export function hasParked(sql: AnySql): postgres.Fragment {
  return sql`(select true from turns p where ${isParked(sql, sql`p`)} ${inLine(sql, sql`p.tenant_id, `)} limit 1) is not null`;
}

/** Returns the SQL of: the tenant has parked turns. `tenantId` is an expression. */
export function hasParkedSql(sql: AnySql, tenantId: postgres.Fragment): postgres.Fragment {
  return sql`(
    select true from turns p where p.tenant_id = ${tenantId} and ${isParked(sql, sql`p`)} ${inLine(sql)} limit 1) is not null`;
}

/** Returns the order of the index `turns_parked`: where one row is enough, it keeps the planner from another path, which is long once the rows of a flood have gone. */
function inLine(sql: AnySql, before = sql``): postgres.Fragment {
  return sql`order by ${before} p.accepted_at, p.id`;
}

/** Returns the SQL of: an older turn of the same tenant is parked. It is for an update of one row of `turns`. */
export function hasOlderParkedSql(sql: AnySql): postgres.Fragment {
  return sql`(
    select true from turns p where p.tenant_id = turns.tenant_id and ${isParked(sql, sql`p`)}
      and (p.accepted_at, p.id) < (turns.accepted_at, turns.id) ${inLine(sql)} limit 1) is not null`;
}

/**
 * The move *park*: queued turns wait without a job from now on, until a worker has a slot for
 * their tenant. Turns that have moved meanwhile are left as they are. All workers are told.
 */
export async function parkTurns(sql: AnySql, turnIds: readonly string[]): Promise<void> {
  await sql`
    with /* turn.park */ parked as (
      update turns set parked_at = now()
      where id = any(${[...turnIds].sort()}) and status = 'queued' and parked_at is null
      returning tenant_id
    )
    select pg_notify(${parkedChannel}, tenant_id) from (select distinct tenant_id from parked) tenants`;
}

/** A parked turn, as a worker that has a free slot finds it. */
export interface ParkedTurn {
  readonly id: IdOf<"turn">;
  /** Its session, or the turn itself when it has none. */
  readonly lockKey: string;
}

/** A tenant that has parked turns. */
export interface ParkedTenant {
  readonly tenantId: IdOf<"tenant">;
  readonly weight: number;
  /** Whether the tenant has a limit of running turns: each of its claims has to be counted. */
  readonly limited: boolean;
  /** The oldest of its parked turns, oldest first; none when its limit of running turns is reached. */
  readonly turns: readonly ParkedTurn[];
}

/** What `findParked` is to look for. */
export interface ParkedQuestion {
  /** Only tenants whose id is after this one. */
  readonly afterTenant: string;
  readonly tenantsMax: number;
  /** Turns of each tenant at most. */
  readonly turnsMax: number;
}

/**
 * Returns tenants that have parked turns: the first `tenantsMax` by id, with the one whose
 * oldest turn waits longest first. Each tenant costs one step in the index `turns_parked`,
 * however many turns of it are parked.
 */
export async function findParked(
  sql: AnySql,
  { afterTenant, tenantsMax, turnsMax }: ParkedQuestion,
): Promise<ParkedTenant[]> {
  return sql<ParkedTenant[]>`
    with /* turn.find_parked */ recursive line as (
      (select p.tenant_id from turns p where ${isParked(sql, sql`p`)} and p.tenant_id > ${afterTenant} order by p.tenant_id limit 1)
      union all
      select (
        select p.tenant_id from turns p where ${isParked(sql, sql`p`)} and p.tenant_id > line.tenant_id order by p.tenant_id limit 1
      ) from line where line.tenant_id is not null
    ), found as materialized (select tenant_id from line where tenant_id is not null limit ${tenantsMax})
    select n.id as tenant_id, n.weight, n.running_turns is not null as limited, coalesce(oldest.turns, '[]') as turns
    from found join tenants n on n.id = found.tenant_id
    left join lateral (
      select json_agg(json_build_object('id', p.id, 'lockKey', p.lock_key) order by p.accepted_at, p.id) as turns,
        min(p.accepted_at) as since
      from (
        select p.id, coalesce(p.session_id, p.id) as lock_key, p.accepted_at from turns p
        where p.tenant_id = found.tenant_id and ${isParked(sql, sql`p`)}
        order by p.accepted_at, p.id limit ${turnsMax}
      ) p
      where n.running_turns is null or ${runningTurns(sql, sql`n.id`, sql`n.running_turns`)} < n.running_turns
    ) oldest on true
    order by oldest.since, n.id`;
}

/** Returns the SQL of the number of turns that a tenant runs, counted up to `max`. */
export function runningTurns(sql: AnySql, tenantId: postgres.Fragment, max: postgres.Fragment): postgres.Fragment {
  return sql`(select count(*) from (
    select 1 from turns r where r.tenant_id = ${tenantId} and r.status = 'running' limit ${max}) counted)`;
}
