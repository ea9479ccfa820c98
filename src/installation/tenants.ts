import type { AnySql } from "../kernel/database/client.ts";
import { olderThan, placeInTime } from "../kernel/database/keyset.ts";
import type { Form } from "../kernel/errors.ts";
import { type Page, readTimeCursor, timePage } from "../kernel/http/page.ts";
import type { IdOf } from "../kernel/ids.ts";

/** A tenant with its limits and what it has in the queue, as the console shows it to an operator. */
export interface OperatedTenant {
  readonly tenantId: IdOf<"tenant">;
  readonly name: string;
  readonly form: Form;
  /** `deleting`: no new turns; it ends once its last turn has. */
  readonly status: "active" | "deleting";
  /** Its subscription is not active: its requests are 402. */
  readonly suspended: boolean;
  readonly usageCredit: number | null;
  readonly quotaTurnsPerDay: number | null;
  readonly rateLimit: number | null;
  readonly runningTurns: number | null;
  readonly queuedTurns: number | null;
  readonly weight: number;
  readonly storedMib: number | null;
  /** What it stored when that was counted last, some minutes ago at most; null: not yet. */
  readonly storedBytes: number | null;
  readonly pauseHours: number;
  readonly retentionDays: number | null;
  readonly monetization: boolean;
  readonly createdAt: string;
  readonly load: TurnCounts;
}

/** The unfinished turns of a tenant. */
export interface TurnCounts {
  /** Accepted and not running yet, the parked ones and those in the lines of their sessions too. */
  readonly queued: number;
  /** How long the oldest of them has waited, lines of sessions aside. */
  readonly oldestSeconds: number;
  readonly parked: number;
  readonly running: number;
  /** For a person. */
  readonly waiting: number;
}

interface TenantPageQuery {
  /** A part of the name. */
  readonly name: string | undefined;
  readonly cursor: string | undefined;
  readonly limit: number;
}

interface TenantRow extends Omit<OperatedTenant, "createdAt" | "load">, TurnCounts {
  createdAt: Date;
  at: string;
  id: string;
}

/** Returns a page of the tenants that have not ended, newest first. Throws 400 `invalid_cursor`. */
export async function listOperatedTenants(
  sql: AnySql,
  { name, cursor, limit }: TenantPageQuery,
): Promise<Page<OperatedTenant>> {
  const list = JSON.stringify(["operated-tenants", name ?? null]);
  const place = readTimeCursor(list, cursor);
  const rows = await readTenants(
    sql,
    sql`
      ${name === undefined ? sql`` : sql`and strpos(lower(n.name), lower(${name})) > 0`}
      ${olderThan(sql, place, "n.created_at", "n.id")}
      order by n.created_at desc, n.id desc limit ${limit + 1}`,
  );
  return timePage(list, rows, limit, show);
}

/** Returns a tenant; null when there is none (any more). */
export async function findOperatedTenant(sql: AnySql, tenantId: IdOf<"tenant">): Promise<OperatedTenant | null> {
  const [row] = await readTenants(sql, sql`and n.id = ${tenantId}`);
  return row === undefined ? null : show(row);
}

/** The counts are of the page's tenants only, each from an index of unfinished turns. */
async function readTenants(sql: AnySql, which: ReturnType<AnySql>): Promise<TenantRow[]> {
  return sql<TenantRow[]>`
    select page.*, load.* from (
      select n.id, n.id as tenant_id, n.name, n.form, case when n.deleting_at is null then 'active' else 'deleting' end as status,
        n.subscription = 'inactive' as suspended, n.usage_credit, n.quota_turns_per_day, n.rate_limit, n.running_turns,
        n.queued_turns, n.weight, n.stored_mib, n.stored_bytes, n.pause_hours, n.retention_days, n.monetization, n.created_at,
        ${placeInTime(sql, "n.created_at")}
      from tenants n where n.deleted_at is null ${which}
    ) page cross join lateral (
      select ${turnCounts(sql)} from turns t
      where t.tenant_id = page.id and t.status in ('enqueued', 'queued', 'running', 'waiting')
    ) load order by page.created_at desc, page.id desc`;
}

function turnCounts(sql: AnySql) {
  return sql`
    count(*) filter (where t.status in ('enqueued', 'queued'))::int as queued,
    coalesce(extract(epoch from now() - min(coalesce(t.queued_at, t.accepted_at)) filter (where t.status = 'queued')), 0)::float8 as oldest_seconds,
    count(*) filter (where t.status = 'queued' and t.parked_at is not null)::int as parked,
    count(*) filter (where t.status = 'running')::int as running,
    count(*) filter (where t.status = 'waiting')::int as waiting`;
}

function show({ at: _at, id: _id, createdAt, queued, oldestSeconds, parked, running, waiting, ...tenant }: TenantRow) {
  const load = { queued, oldestSeconds, parked, running, waiting };
  return { ...tenant, createdAt: createdAt.toISOString(), load };
}

/** Tenants that the view of the queue shows. */
const tenantsShownMax = 100;

/** Returns the tenants with unfinished turns, those with the most queued ones first, at most `tenantsShownMax`. */
export async function listTenantLoads(
  sql: AnySql,
): Promise<({ readonly tenantId: IdOf<"tenant">; readonly name: string } & TurnCounts)[]> {
  return sql<({ tenantId: IdOf<"tenant">; name: string } & TurnCounts)[]>`
    select load.*, coalesce(n.name, '') as name from (
      select t.tenant_id, ${turnCounts(sql)} from turns t
      where t.status in ('enqueued', 'queued', 'running', 'waiting')
      group by t.tenant_id order by queued desc, running desc, t.tenant_id limit ${tenantsShownMax}
    ) load left join tenants n on n.id = load.tenant_id
    order by load.queued desc, load.running desc, load.tenant_id`;
}
