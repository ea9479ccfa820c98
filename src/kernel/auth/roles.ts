import { ApiError } from "../errors.ts";
import type { IdOf } from "../ids.ts";

/** What a credential may do, from the least: each role may do all that those before it may (docs/roles.md). */
export const roles = ["reader", "approver", "runner", "editor", "admin"] as const;
export type AccessRole = (typeof roles)[number];

/** The role that does nothing but read. */
export const leastRole: AccessRole = roles[0];
/** The role of a credential of which none is said. */
export const roleDefault: AccessRole = "admin";

/** What decides about a request: whatever sends it, a key, a person or a page, has a role and agents. */
export interface Permission {
  readonly role: AccessRole;
  /** The agents that it is limited to; null: all of the tenant. */
  readonly agentIds: readonly IdOf<"agent">[] | null;
}

/** What an operation needs of whoever asks for it. */
export interface RoleRule {
  /** The least role. */
  readonly role: AccessRole;
  /** It concerns agents that there are not yet, so who is limited to some may not do it. */
  readonly allAgents?: true;
}

/** Returns whether a text names a role. */
export function isRole(text: unknown): text is AccessRole {
  return roles.some((role) => role === text);
}

/** Returns whether a role may do what needs another one. */
export function mayDo(role: AccessRole, needs: AccessRole): boolean {
  return roles.indexOf(role) >= roles.indexOf(needs);
}

/** Returns the highest of some roles; null where there is none. */
export function higherRole(some: readonly (AccessRole | null)[]): AccessRole | null {
  return roles.findLast((role) => some.includes(role)) ?? null;
}

/** Throws 403 `forbidden` where a credential may not do what needs this. */
export function requireRole({ role, agentIds }: Permission, { role: needs, allAgents }: RoleRule): void {
  if (!mayDo(role, needs)) {
    const message = `The role ${role} may not do this; it takes ${needs}${needs === "admin" ? "" : " or more"}.`;
    throw new ApiError("forbidden", { message, details: { role, needs } });
  }
  if (allAgents === true && agentIds !== null) throw beyondAgents(role, needs);
}

/** Returns the error 403 `forbidden` of what only a credential for all agents may do, or one for more than it has. */
export function beyondAgents(role: AccessRole, needs: AccessRole): ApiError {
  const message = "The credential is limited to some agents, and this concerns others.";
  return new ApiError("forbidden", { message, details: { role, needs } });
}

/** Throws 403 `forbidden` where somebody would give another one more than they have themselves. */
export function requireNoMore(giver: Permission, given: Permission, needs: AccessRole): void {
  requireRole(giver, { role: given.role });
  const { agentIds } = giver;
  if (agentIds === null) return;
  if (given.agentIds === null || given.agentIds.some((id) => !agentIds.includes(id)))
    throw beyondAgents(giver.role, needs);
}

/** Returns a resource as somebody may see it: who may change no credential sees no end of one either. */
export function withFragmentFor<T extends object>({ role }: Permission, shown: T): T {
  if (mayDo(role, "editor")) return shown;
  const fields = Object.entries(shown).map(([name, value]) => [name, name.endsWith("Fragment") ? "" : value]);
  return Object.fromEntries(fields) as T;
}
