import { type MemberRoles, memberRoleColumns, roleOfMember } from "../kernel/auth/member.ts";
import type { AccessRole } from "../kernel/auth/roles.ts";
import type { AnySql, Tx } from "../kernel/database/client.ts";
import { newIdSql } from "../kernel/database/new-id-sql.ts";
import type { IdOf } from "../kernel/ids.ts";
import { addressKey } from "./address.ts";

/** Tenants of one person that are shown. */
const tenantsOfPersonMax = 1_000;

/** Somebody who has signed in: the identity provider has verified the address. */
export interface SignedInPerson {
  readonly email: string;
  readonly name: string | null;
  readonly groups: readonly string[];
}

/** A tenant that a person is a member of. */
export interface PersonTenant {
  readonly tenantId: IdOf<"tenant">;
  readonly name: string;
  readonly role: AccessRole;
  readonly memberId: IdOf<"member">;
}

/**
 * Notes that a person has signed in: what the provider calls them, their groups, and that they took their invitations. Who has a group
 * with a role in a tenant becomes a member of it.
 */
export async function enterPerson(inner: Tx, { email, name, groups }: SignedInPerson): Promise<void> {
  const [key, names] = [addressKey(email), groups as string[]];
  await inner`
    insert into members (id, tenant_id, email, email_key)
    select ${newIdSql(inner, "member")}, g.tenant_id, ${email}, ${key}
    from (select distinct tenant_id from tenant_groups where name = any(${names}::text[])) g
      join tenants t on t.id = g.tenant_id and t.deleted_at is null
    where not exists (select 1 from members m where m.tenant_id = g.tenant_id and m.email_key = ${key})
    order by g.tenant_id
    on conflict (tenant_id, email_key) do nothing`;
  // In one order, so that two sign-ins of a person never wait for each other's rows.
  await inner`
    update members m set name = coalesce(${name}, m.name), groups = ${names}::text[], signed_in_at = now(),
      invited_until = case when m.invited_until > now() then null else m.invited_until end
    where m.id in (select id from members where email_key = ${key} order by id for no key update)
      and (m.invited_until is null or m.invited_until > now() or exists (
        select 1 from tenant_groups g where g.tenant_id = m.tenant_id and g.name = any(${names}::text[])))`;
}

/** Returns the tenants of a person by name, with the role that they have there now. */
export async function tenantsOfPerson(sql: AnySql, emailKey: string): Promise<PersonTenant[]> {
  const rows = await sql<(Omit<PersonTenant, "role"> & MemberRoles)[]>`
    select t.id as tenant_id, t.name, m.id as member_id, ${memberRoleColumns(sql)}
    from members m join tenants t on t.id = m.tenant_id and t.deleted_at is null
    where m.email_key = ${emailKey} order by t.name, t.id limit ${tenantsOfPersonMax}`;
  return rows.flatMap(({ tenantId, name, memberId, ...roles }) => {
    const role = roleOfMember(roles);
    return role === null ? [] : [{ tenantId, name, role, memberId }];
  });
}

/** Deletes members who came by a group only and have not signed in for `unusedDays`, a batch. Returns how many. */
export async function sweepGroupMembers(sql: AnySql, unusedDays: number, rowsMax: number): Promise<number> {
  const { count } = await sql`
    delete from members where id in (
      select id from members
      where role is null and coalesce(signed_in_at, created_at) < now() - make_interval(days => ${unusedDays}) limit ${rowsMax})`;
  return count;
}
