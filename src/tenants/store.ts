import { createManagedAgent } from "../agents/managed.ts";
import { createApiKey } from "../apikeys/store.ts";
import { countStored } from "../kernel/admission/stored-bytes.ts";
import type { AccessRole } from "../kernel/auth/roles.ts";
import { lockAccess } from "../kernel/auth/standing.ts";
import type { AnySql, Tx } from "../kernel/database/client.ts";
import { tx } from "../kernel/database/transaction.ts";
import type { Form } from "../kernel/errors.ts";
import { type IdOf, newId } from "../kernel/ids.ts";
import { type GroupRole, groupsOf, setGroups } from "../members/groups.ts";

/** The largest number of the columns of type `integer`. */
export const integerMax = 2_147_483_647;
/** API keys that an operator may let a tenant have at once. */
export const apiKeysMaxMax = 1_000;
/** A tenant counts at most so much beside others. */
export const weightMax = 100;

/** A tenant as the operator's commands show it. */
export interface TenantRecord {
  readonly tenantId: string;
  readonly name: string;
  readonly form: Form;
  /** `deleting`: no new turns; it ends once its last turn has. */
  readonly status: "active" | "deleting";
  readonly subscription: "active" | "inactive";
  /** Tokens left; null is unlimited. */
  readonly usageCredit: number | null;
  readonly quotaTurnsPerDay: number | null;
  /** Requests a second; null is unlimited. */
  readonly rateLimit: number | null;
  readonly monetization: boolean;
  readonly pauseHours: number;
  /** Null: sessions are kept. */
  readonly retentionDays: number | null;
  /** Turns that run at once, over all workers; null is unlimited. */
  readonly runningTurns: number | null;
  /** Turns that are accepted and do not run yet; null is unlimited. */
  readonly queuedTurns: number | null;
  /** Its share of a worker's slots beside other tenants. */
  readonly weight: number;
  /** Mebibytes that it may store; null is unlimited. */
  readonly storedMib: number | null;
  /** API keys that it may have at once. */
  readonly apiKeysMax: number;
  /** What it stores, in bytes. */
  readonly storedBytes: number;
  /** Groups of the identity provider, each with its role in the tenant. */
  readonly groups: Readonly<Record<string, AccessRole>>;
  readonly createdAt: string;
}

/** What an operator may change of a tenant. A field left out stays; null lifts a limit. */
export interface TenantChange {
  readonly name?: string;
  readonly subscription?: "active" | "inactive";
  readonly usageCredit?: number | null;
  readonly quotaTurnsPerDay?: number | null;
  readonly rateLimit?: number | null;
  readonly monetization?: boolean;
  readonly pauseHours?: number;
  readonly retentionDays?: number | null;
  readonly runningTurns?: number | null;
  readonly queuedTurns?: number | null;
  readonly weight?: number;
  readonly storedMib?: number | null;
  readonly apiKeysMax?: number;
  readonly form?: Form;
  /** Groups of the identity provider with their roles in the tenant; null takes one away. */
  readonly groups?: readonly GroupRole[];
}

/** A tenant would have more groups with a role than it may. */
export class TooManyGroups extends Error {
  override readonly name = "TooManyGroups";
}

/** Creates a tenant without credentials and returns its id. */
export async function createTenant(sql: AnySql, { name, form }: { name: string; form: Form }): Promise<IdOf<"tenant">> {
  const id = newId("tenant");
  await sql`insert into tenants (id, name, form) values (${id}, ${name}, ${form})`;
  return id;
}

/** The options of `tenant create`. */
export interface NewTenant {
  readonly name: string;
  readonly form: Form;
  /** Whether the platform-managed agent is created with it. */
  readonly adminAgent: boolean;
}

/** Creates a tenant with its first API key, whose token is returned here and stored nowhere. */
export function createTenantWithKey(
  sql: AnySql,
  tenant: NewTenant,
): Promise<{ tenantId: IdOf<"tenant">; token: string }> {
  return tx(sql, async (inner) => {
    const tenantId = await createTenant(inner, tenant);
    const { token } = await createApiKey(inner, tenantId, "first key", null);
    if (tenant.adminAgent) await createManagedAgent(inner, tenantId);
    return { tenantId, token };
  });
}

/** Returns all tenants that have not ended, oldest first. */
export async function listTenants(sql: AnySql): Promise<TenantRecord[]> {
  const rows = await sql<(Omit<TenantRecord, "createdAt" | "groups"> & { createdAt: Date })[]>`
    select id as tenant_id, name, form, case when deleting_at is null then 'active' else 'deleting' end as status,
      subscription, usage_credit, quota_turns_per_day,
      rate_limit, monetization, pause_hours, retention_days, running_turns, queued_turns, weight, stored_mib, api_keys_max,
      coalesce(stored_bytes, 0) as stored_bytes, created_at
    from tenants where deleted_at is null order by created_at, id`;
  const groups = await groupsOf(sql);
  const tenants: TenantRecord[] = [];
  for (const row of rows) {
    // What takes too long to be added up is shown as it was when that was done last.
    const storedBytes = await countStored(sql, row.tenantId).catch(() => Number(row.storedBytes));
    tenants.push({
      ...row,
      groups: groups.get(row.tenantId) ?? {},
      storedBytes,
      createdAt: row.createdAt.toISOString(),
    });
  }
  return tenants;
}

/** Returns whether a tenant is there and not being deleted, and keeps it so until the transaction ends. */
export async function isActiveTenant(inner: Tx, tenantId: string): Promise<boolean> {
  const rows = await inner`
    select 1 from tenants where id = ${tenantId} and deleting_at is null and deleted_at is null for no key update`;
  return rows.length > 0;
}

/** A field of a tenant that has another value now. Of groups it is known only that they changed. */
export type ChangedField =
  | { readonly field: "groups" }
  | {
      readonly field: Exclude<keyof TenantChange, "groups">;
      readonly before: string | number | boolean | null;
      readonly after: string | number | boolean | null;
    };

/** Changes a tenant. Returns the fields that have another value now; null when there is no tenant of this id. Throws `TooManyGroups`. */
export function changeTenant(
  sql: AnySql,
  tenantId: string,
  change: TenantChange,
): Promise<readonly ChangedField[] | null> {
  const columns = {
    ...(change.name !== undefined && { name: change.name }),
    ...(change.subscription !== undefined && { subscription: change.subscription }),
    ...(change.usageCredit !== undefined && { usage_credit: change.usageCredit }),
    ...(change.quotaTurnsPerDay !== undefined && { quota_turns_per_day: change.quotaTurnsPerDay }),
    ...(change.rateLimit !== undefined && { rate_limit: change.rateLimit }),
    ...(change.monetization !== undefined && { monetization: change.monetization }),
    ...(change.runningTurns !== undefined && { running_turns: change.runningTurns }),
    ...(change.queuedTurns !== undefined && { queued_turns: change.queuedTurns }),
    ...(change.weight !== undefined && { weight: change.weight }),
    ...(change.storedMib !== undefined && { stored_mib: change.storedMib }),
    ...(change.apiKeysMax !== undefined && { api_keys_max: change.apiKeysMax }),
    ...(change.pauseHours !== undefined && { pause_hours: change.pauseHours }),
    ...(change.retentionDays !== undefined && { retention_days: change.retentionDays }),
    ...(change.form !== undefined && { form: change.form }),
  };
  return tx(sql, async (inner) => {
    if (change.groups !== undefined) await lockAccess(inner, tenantId);
    const [before] = await inner<TenantChange[]>`
      select ${inner(["id", ...Object.keys(columns)])} from tenants where id = ${tenantId} and deleted_at is null for no key update`;
    if (before === undefined) return null;
    const { groups = [], ...fields } = change;
    if (Object.keys(columns).length > 0) await inner`update tenants set ${inner(columns)} where id = ${tenantId}`;
    if (typeof change.quotaTurnsPerDay === "number") await countToday(inner, tenantId);
    const groupsChanged = groups.length > 0 && (await setGroups(inner, tenantId, groups));
    if (groupsChanged === "full") throw new TooManyGroups();
    const changed = (Object.keys(fields) as (keyof typeof fields)[])
      .filter((field) => fields[field] !== before[field])
      .map((field) => ({ field, before: before[field] ?? null, after: fields[field] ?? null }));
    return groupsChanged ? [...changed, { field: "groups" as const }] : changed;
  });
}

/**
 * The day's turns are counted as they are accepted only while a quota is set, and a quota covers those accepted
 * earlier that day too. What is counted already stays when it is more: the rows of some turns may have been deleted.
 */
async function countToday(sql: AnySql, tenantId: string): Promise<void> {
  await sql`
    insert into turn_quota_days (tenant_id, day, turns)
    select ${tenantId}, (now() at time zone 'utc')::date, count(*)::int from turns
    where tenant_id = ${tenantId} and accepted_at >= date_trunc('day', now(), 'UTC')
    on conflict (tenant_id, day) do update set turns = greatest(turn_quota_days.turns, excluded.turns)`;
}
