import type { AnySql } from "../database/client.ts";
import type { Form } from "../errors.ts";
import type { IdOf } from "../ids.ts";

/** What the gates need to know of a tenant. */
export interface Tenant {
  readonly id: IdOf<"tenant">;
  readonly form: Form;
  readonly subscription: "active" | "inactive";
  /** Tokens left; null is unlimited. */
  readonly usageCredit: number | null;
  readonly quotaTurnsPerDay: number | null;
  /** Turns that run at once, over all workers; null is unlimited. */
  readonly runningTurns: number | null;
  /** Turns that are accepted and do not run yet; null is unlimited. */
  readonly queuedTurns: number | null;
  /** Requests a second; null is unlimited. */
  readonly rateLimit: number | null;
  /** Mebibytes that it may store; null is unlimited. */
  readonly storedMib: number | null;
  readonly monetization: boolean;
  /** Whether its turns are held against budgets. */
  readonly hasBudgets: boolean;
  readonly deleting: boolean;
}

/** A tenant's row, with the database's clock. */
export interface TenantRow {
  id: IdOf<"tenant">;
  form: Form;
  subscription: "active" | "inactive";
  usageCredit: number | null;
  quotaTurnsPerDay: number | null;
  runningTurns: number | null;
  queuedTurns: number | null;
  rateLimit: number | null;
  storedMib: number | null;
  monetization: boolean;
  hasBudgets: boolean;
  deleting: boolean;
  now: Date;
}

/** Returns a tenant by its id; null when there is none (any more). */
export async function findTenant(sql: AnySql, tenantId: string): Promise<Tenant | null> {
  const row = await readTenantRow(sql, tenantId);
  return row === null ? null : showTenant(row);
}

/** Returns a tenant's row by its id; null when there is none (any more). */
export async function readTenantRow(sql: AnySql, tenantId: string): Promise<TenantRow | null> {
  const [row] = await sql<TenantRow[]>`
    select /* tenant.read */ id, form, subscription, usage_credit, quota_turns_per_day, running_turns, queued_turns, rate_limit, stored_mib, monetization,
      has_budgets, deleting_at is not null as deleting, clock_timestamp() as now
    from tenants where id = ${tenantId} and deleted_at is null`;
  return row ?? null;
}

/** Returns the tenant of a row. */
export function showTenant(row: TenantRow): Tenant {
  return {
    id: row.id,
    form: row.form,
    subscription: row.subscription,
    usageCredit: row.usageCredit,
    quotaTurnsPerDay: row.quotaTurnsPerDay,
    runningTurns: row.runningTurns,
    queuedTurns: row.queuedTurns,
    rateLimit: row.rateLimit,
    storedMib: row.storedMib,
    monetization: row.monetization,
    hasBudgets: row.hasBudgets,
    deleting: row.deleting,
  };
}
