import type { AnySql, Tx } from "../database/client.ts";
import { inOneTrip } from "../database/transaction.ts";
import { ApiError } from "../errors.ts";
import type { AuditActor } from "./actor.ts";
import type { Principal } from "./authenticator.ts";
import { type MemberRoles, memberMay, memberRoleColumns, roleOfMember } from "./member.ts";
import { type AccessRole, type RoleRule, requireRole } from "./roles.ts";

/**
 * Removal against use. A request is looked at when it comes, and writes later: its body may take its time, and its
 * transaction may wait for another one. So a transaction that writes for a key or a member asks again whether they still may, under a lock
 * of their tenant that such transactions share, and that a removal has alone. Once a removal is answered, nothing more is
 * written for who was removed.
 *
 * The lock is the first thing that a transaction takes, so that no holder of it waits for one who wants it. Postgres hands it out in
 * the order in which it was asked for: a flood of requests does not keep a removal waiting for longer than those before it take.
 */

/** What decides about a transaction that writes for somebody. */
export interface StandingRule extends RoleRule {
  /** It ends an access, or makes it less. */
  readonly endsAccess?: true;
}

/** Keeps those who may from being removed or lowered until the transaction ends; it has to come first in it. Throws 401, or 403 `forbidden`, for who may no more. */
export async function requireStanding(inner: Tx, principal: Principal, rule: StandingRule): Promise<void> {
  const { tenant, keyId, memberId } = principal;
  if (rule.endsAccess !== true && keyId === null && memberId === null) return;
  const locked = rule.endsAccess === true ? lockAccess(inner, tenant.id) : shareAccess(inner, tenant.id);
  // A statement sees what was committed before it began, so the lock has a separate one.
  const [, role] = await inOneTrip([locked, roleNow(inner, principal)]);
  if (role === null) throw new ApiError("unauthorized");
  requireRole({ role, agentIds: principal.agentIds }, rule);
}

/** Returns whether who began something may still do what needs a role, where that was a member. */
export async function mayStill(sql: AnySql, { type, id }: AuditActor, needs: AccessRole): Promise<boolean> {
  if (type !== "member") return true;
  const found = await sql`select /* access.began */ 1 from members m where m.id = ${id} and ${memberMay(sql, needs)}`;
  return found.length > 0;
}

/** The same for a transaction, until it ends; it has to come first in it. */
export async function holdStanding(
  inner: Tx,
  tenantId: string,
  actor: AuditActor,
  needs: AccessRole,
): Promise<boolean> {
  const [, may] = await inOneTrip([shareAccess(inner, tenantId), mayStill(inner, actor, needs)]);
  return may;
}

/** Waits for all who write with an access to a tenant, and keeps others waiting, until the transaction ends; it has to come first in it. */
export async function lockAccess(inner: Tx, tenantId: string): Promise<void> {
  await inner`select /* access.end */ pg_advisory_xact_lock(hashtextextended(${lockOf(tenantId)}, 0))`;
}

async function shareAccess(inner: Tx, tenantId: string): Promise<void> {
  await inner`select /* access.use */ pg_advisory_xact_lock_shared(hashtextextended(${lockOf(tenantId)}, 0))`;
}

function lockOf(tenantId: string): string {
  return `access:${tenantId}`;
}

/** Returns the role that somebody has now; null where the key or the member is gone. */
async function roleNow(inner: Tx, { keyId, memberId, role }: Principal): Promise<AccessRole | null> {
  if (keyId !== null) {
    // The role of a key is fixed.
    const found = await inner`
      select /* access.key */ 1 from api_keys where id = ${keyId} and (expires_at is null or expires_at > now())`;
    return found.length > 0 ? role : null;
  }
  if (memberId === null) return role;
  const [member] = await inner<MemberRoles[]>`
    select /* access.member */ ${memberRoleColumns(inner)} from members m where m.id = ${memberId}`;
  return member === undefined ? null : roleOfMember(member);
}
