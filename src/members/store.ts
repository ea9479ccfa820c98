import type postgres from "postgres";
import type { AuditActor } from "../kernel/auth/actor.ts";
import { type MemberRoles, memberMay, memberRoleColumns, roleOfMember } from "../kernel/auth/member.ts";
import { type AccessRole, higherRole } from "../kernel/auth/roles.ts";
import type { AnySql, Tx } from "../kernel/database/client.ts";
import { olderThan, placeInTime, type TimePlace } from "../kernel/database/keyset.ts";
import { ApiError } from "../kernel/errors.ts";
import { type Page, readTimeCursor, timePage } from "../kernel/http/page.ts";
import { type IdOf, newId } from "../kernel/ids.ts";
import { addressKey } from "./address.ts";
import { invitationDays, membersPerTenantMax } from "./schema.ts";

/** A member as the database holds it. */
interface MemberRow extends Pick<MemberRoles, "groupRoles"> {
  readonly id: IdOf<"member">;
  readonly email: string;
  readonly name: string | null;
  /** As it was given, also where the invitation is over. */
  readonly givenRole: AccessRole | null;
  /** What of it holds. */
  readonly role: AccessRole | null;
  readonly invitedUntil: Date | null;
  readonly signedInAt: Date | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

function columns(sql: AnySql): postgres.Fragment {
  return sql`m.id, m.email, m.name, m.role as given_role, ${memberRoleColumns(sql)}, m.invited_until, m.signed_in_at, m.created_at,
    m.updated_at`;
}

/** A member in the interface's form. */
export type MemberShown = ReturnType<typeof showMember>;

/** Makes somebody a member, invited for `invitationDays`. Throws 409 `member_exists`, 400 `member_limit_reached`. */
export async function createMember(
  inner: Tx,
  tenantId: string,
  { email, role }: { readonly email: string; readonly role: AccessRole },
): Promise<MemberShown> {
  await lockMembers(inner, tenantId);
  const key = addressKey(email);
  const known = await inner`select 1 from members where tenant_id = ${tenantId} and email_key = ${key}`;
  if (known.length > 0) throw new ApiError("member_exists");
  await requireRoom(inner, tenantId);
  const [row] = await inner<MemberRow[]>`
    insert into members as m (id, tenant_id, email, email_key, role, invited_until)
    values (${newId("member")}, ${tenantId}, ${email}, ${key}, ${role}, now() + make_interval(days => ${invitationDays}))
    on conflict (tenant_id, email_key) do nothing returning ${columns(inner)}`;
  // Somebody of this address signed in by a group at this moment.
  if (row === undefined) throw new ApiError("member_exists");
  return showMember(row);
}

/** Returns a page of a tenant's members, newest first. Throws 400 `invalid_cursor`. */
export async function listMembers(
  sql: AnySql,
  tenantId: string,
  { cursor, limit }: { readonly cursor: string | undefined; readonly limit: number },
): Promise<Page<MemberShown>> {
  const place = readTimeCursor("members", cursor);
  const rows = await sql<(MemberRow & TimePlace)[]>`
    select ${columns(sql)}, ${placeInTime(sql, "m.created_at")} from members m
    where m.tenant_id = ${tenantId} ${olderThan(sql, place, "m.created_at", "m.id")}
    order by m.created_at desc, m.id desc limit ${limit + 1}`;
  return timePage("members", rows, limit, showMember);
}

/** Returns a tenant's member. Throws 404. */
export async function getMember(sql: AnySql, tenantId: string, id: string): Promise<MemberShown> {
  return showMember(await findMember(sql, tenantId, id));
}

/** A change of a member, and who asks for it. */
interface MemberChange {
  readonly tenantId: string;
  readonly id: string;
  readonly actor: AuditActor;
}

/**
 * Gives a member another role. One who has not signed in yet is invited anew. Returns the member before and after. Throws 404, 409
 * `last_admin`, 400 `member_limit_reached`.
 */
export async function changeMember(
  inner: Tx,
  change: MemberChange,
  role: AccessRole,
): Promise<{ readonly before: MemberShown; readonly after: MemberShown }> {
  const { tenantId, id } = change;
  await lockMembers(inner, tenantId);
  const before = await findMember(inner, tenantId, id);
  if (role !== "admin") await requireOtherAdmin(inner, change, before, before.groupRoles);
  if (before.givenRole === null) await requireRoom(inner, tenantId);
  const [row] = await inner<MemberRow[]>`
    update members m set role = ${role}, updated_at = now(),
      invited_until = case when m.signed_in_at is null then now() + make_interval(days => ${invitationDays}) end
    where m.id = ${id} and m.tenant_id = ${tenantId} returning ${columns(inner)}`;
  return { before: showMember(before), after: showMember(row as MemberRow) };
}

/** Removes a member, whose next request is refused. Who has a group with a role may sign in by that again. Throws 404, 409 `last_admin`. */
export async function removeMember(inner: Tx, change: MemberChange): Promise<void> {
  const { tenantId, id } = change;
  await lockMembers(inner, tenantId);
  await requireOtherAdmin(inner, change, await findMember(inner, tenantId, id), []);
  await inner`delete from members where id = ${id} and tenant_id = ${tenantId}`;
}

/** The tenant's row is the lock that makes counts of members hold: two admins who lower each other come one after the other. */
async function lockMembers(inner: Tx, tenantId: string): Promise<void> {
  await inner`select 1 from tenants where id = ${tenantId} for no key update`;
}

async function findMember(sql: AnySql, tenantId: string, id: string): Promise<MemberRow> {
  const [row] = await sql<MemberRow[]>`
    select ${columns(sql)} from members m where m.id = ${id} and m.tenant_id = ${tenantId}`;
  if (row === undefined) throw new ApiError("not_found");
  return row;
}

async function requireRoom(inner: Tx, tenantId: string): Promise<void> {
  const [count] = await inner<{ total: number }[]>`
    select count(*)::int as total from members where tenant_id = ${tenantId} and role is not null`;
  if ((count?.total ?? 0) >= membersPerTenantMax) throw new ApiError("member_limit_reached");
}

/**
 * Throws 409 `last_admin` where a member would leave the tenant without an admin among its members. Who comes with a key
 * or token of an admin may: that one can make another.
 */
async function requireOtherAdmin(
  inner: Tx,
  { tenantId, actor }: MemberChange,
  member: MemberRow,
  keptRoles: readonly AccessRole[],
): Promise<void> {
  const isAdmin = roleOfMember(member) === "admin" && !keptRoles.includes("admin");
  if (actor.type !== "member" || !isAdmin) return;
  const others = await inner`
    select 1 from members m where m.tenant_id = ${tenantId} and m.id <> ${member.id} and ${memberMay(inner, "admin")} limit 1`;
  if (others.length === 0) throw new ApiError("last_admin");
}

function showMember(row: MemberRow) {
  return {
    id: row.id,
    email: row.email,
    name: row.name,
    role: row.givenRole,
    groupRole: higherRole(row.groupRoles),
    invitedUntil: row.invitedUntil?.toISOString() ?? null,
    lastSignInAt: row.signedInAt?.toISOString() ?? null,
    createdAt: row.createdAt.toISOString(),
    updatedAt: row.updatedAt.toISOString(),
  };
}
