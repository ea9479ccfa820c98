import type { AccessRole } from "../kernel/auth/roles.ts";
import type { AnySql, Tx } from "../kernel/database/client.ts";

/** Groups that may have a role in a tenant. */
export const groupsPerTenantMax = 100;

/** A group of the identity provider, and the role that it has in a tenant; null: none any more. */
export type GroupRole = readonly [group: string, role: AccessRole | null];

/**
 * Gives groups their roles in a tenant, whose row the caller has locked. It counts from the next request of their members on. Returns
 * whether anything is other than before, or `full` where there would be too many.
 */
export async function setGroups(inner: Tx, tenantId: string, given: readonly GroupRole[]): Promise<boolean | "full"> {
  let changed = 0;
  for (const [name, role] of given) {
    const { count } =
      role === null
        ? await inner`delete from tenant_groups where tenant_id = ${tenantId} and name = ${name}`
        : await inner`
            insert into tenant_groups as g (tenant_id, name, role) values (${tenantId}, ${name}, ${role})
            on conflict (tenant_id, name) do update set role = excluded.role where g.role <> excluded.role`;
    changed += count;
  }
  const [row] = await inner<{ total: number }[]>`
    select count(*)::int as total from tenant_groups where tenant_id = ${tenantId}`;
  return (row?.total ?? 0) > groupsPerTenantMax ? "full" : changed > 0;
}

/** Returns all groups that have a role, with it, by their tenant. */
export async function groupsOf(sql: AnySql): Promise<ReadonlyMap<string, Readonly<Record<string, AccessRole>>>> {
  const rows = await sql<{ tenantId: string; groups: Record<string, AccessRole> }[]>`
    select tenant_id, json_object_agg(name, role order by name) as groups from tenant_groups group by tenant_id`;
  return new Map(rows.map(({ tenantId, groups }) => [tenantId, groups]));
}
