import type postgres from "postgres";
import type { AnySql } from "../database/client.ts";
import type { IdOf } from "../ids.ts";
import { type AccessRole, higherRole, roles } from "./roles.ts";
import type { TenantRow } from "./tenant.ts";

/** What decides about a member: the role that an admin gave, and those that groups have. */
export interface MemberRoles {
  /** Null: none, or one whose invitation is over. */
  readonly role: AccessRole | null;
  readonly groupRoles: readonly AccessRole[];
}

/** Returns the columns of `MemberRoles` of the member `m`. */
export function memberRoleColumns(sql: AnySql): postgres.Fragment {
  return sql`case when m.invited_until is null or m.invited_until > now() then m.role end as role,
    array(select g.role from tenant_groups g where g.tenant_id = m.tenant_id and g.name = any(m.groups)) as group_roles`;
}

/** Returns the condition that the member `m` may do now what needs a role. */
export function memberMay(sql: AnySql, needs: AccessRole): postgres.Fragment {
  const enough = roles.slice(roles.indexOf(needs)) as string[];
  return sql`((m.role = any(${enough}::text[]) and (m.invited_until is null or m.invited_until > now()))
    or exists (select 1 from tenant_groups g where g.tenant_id = m.tenant_id and g.name = any(m.groups) and g.role = any(${enough}::text[])))`;
}

/** Returns what a member may do, by the highest of the roles; null: nothing. */
export function roleOfMember({ role, groupRoles }: MemberRoles): AccessRole | null {
  return higherRole([role, ...groupRoles]);
}

/** A member's row with the tenant's. */
export interface MemberOwnerRow extends TenantRow, MemberRoles {
  readonly memberId: IdOf<"member">;
  readonly email: string;
}

/** Returns a member with the tenant, as both are now; null where there is none (any more). */
export async function readMember(sql: AnySql, memberId: IdOf<"member">): Promise<MemberOwnerRow | null> {
  const [row] = await sql<MemberOwnerRow[]>`
    select /* member.find */ m.id as member_id, m.email, ${memberRoleColumns(sql)},
      t.id, t.form, t.subscription, t.usage_credit, t.quota_turns_per_day, t.running_turns, t.queued_turns, t.rate_limit, t.stored_mib,
      t.monetization, t.deleting_at is not null as deleting, clock_timestamp() as now
    from members m join tenants t on t.id = m.tenant_id
    where m.id = ${memberId} and t.deleted_at is null`;
  return row ?? null;
}
