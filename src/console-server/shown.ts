import type { Principal } from "../kernel/auth/authenticator.ts";
import type { AccessRole } from "../kernel/auth/roles.ts";
import type { Ctx } from "../kernel/context.ts";
import { version } from "../kernel/version.ts";
import type { PersonTenant } from "../members/person.ts";
import type { Secret } from "./secret.ts";
import type { SessionPerson } from "./session.ts";
import { sessionIdleSeconds } from "./store.ts";

/** Who is signed in, as the page shows it. */
export interface PrincipalShown {
  /** `person`: signed in, and no tenant is chosen yet. */
  readonly kind: "tenant" | "operator" | "person";
  readonly tenantId: string | null;
  readonly tenantName: string | null;
  readonly keyId: string | null;
  readonly keyName: string | null;
  readonly userId: string | null;
  readonly memberId: string | null;
  /** Null: of who is no tenant's. */
  readonly role: AccessRole | null;
  readonly agentIds: readonly string[] | null;
}

const nothing = {
  tenantId: null,
  tenantName: null,
  keyId: null,
  keyName: null,
  userId: null,
  memberId: null,
  role: null,
  agentIds: null,
};
/** An operator, by token or by group. */
export const operatorShown: PrincipalShown = { kind: "operator", ...nothing };
/** A person who has chosen nothing. */
export const personShown: PrincipalShown = { kind: "person", ...nothing };

/** Returns who acts in a tenant, and when the API key that was signed in with ends. */
export async function describeTenant(
  { sql }: Ctx,
  { tenant, keyId, memberId, role, agentIds, authUserId: userId }: Principal,
): Promise<{ readonly principal: PrincipalShown; readonly endsAt: Date | null }> {
  const [row] = await sql<{ tenantName: string; keyName: string | null; endsAt: Date | null }[]>`
    select t.name as tenant_name, k.name as key_name, k.expires_at as ends_at
    from tenants t left join api_keys k on k.id = ${keyId} and k.tenant_id = t.id where t.id = ${tenant.id}`;
  const { tenantName, keyName, endsAt } = row ?? { tenantName: "", keyName: null, endsAt: null };
  const who = { tenantId: tenant.id, tenantName, keyId, keyName, userId, memberId, role, agentIds };
  return { principal: { kind: "tenant", ...who }, endsAt };
}

/** A session with who is signed in. */
interface Shown {
  readonly principal: PrincipalShown;
  readonly secret: Secret;
  readonly expiresAt: Date;
  readonly person: SessionPerson | null;
  /** The tenants of a person. */
  readonly tenants: readonly PersonTenant[];
}

/** Returns a session as the page is told it. */
export function showSession({ publicUrl }: Ctx, { principal, secret, expiresAt, person, tenants }: Shown) {
  const { tenantId, tenantName, role } = principal;
  const own = tenantId === null || role === null ? [] : [{ tenantId, name: tenantName ?? "", role }];
  return {
    principal,
    // Of the person only what the page shows: the address of the sign-out has a token in it.
    person: person === null ? null : { email: person.email, name: person.name, isOperator: person.isOperator },
    tenants: person === null ? own : tenants.map(({ tenantId, name, role }) => ({ tenantId, name, role })),
    csrfToken: secret.csrfToken,
    expiresAt: expiresAt.toISOString(),
    idleSeconds: sessionIdleSeconds,
    installation: { version, publicUrl },
  };
}
