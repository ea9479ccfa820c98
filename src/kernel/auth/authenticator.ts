import type { JWTPayload } from "jose";
import { type AnySql, statementTimeoutMs } from "../database/client.ts";
import { ApiError, type Form } from "../errors.ts";
import { type IdOf, isId } from "../ids.ts";
import { userIdLengthMax } from "../limits.ts";
import { digest } from "../seal.ts";
import { type AuditActor, systemActor } from "./actor.ts";
import { type DashboardJwtConfig, jwtVerifier } from "./dashboard-jwt.ts";

/** What the gates need to know of a tenant, read again with every request. */
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
  readonly monetization: boolean;
  readonly deleting: boolean;
}

/** Who sent a request. */
export interface Principal {
  readonly tenant: Tenant;
  readonly kind: "api_key" | "dashboard" | "tenant";
  /** The dashboard user, when the token names one. */
  readonly authUserId: string | null;
  /** How what the principal does is signed. */
  readonly actor: AuditActor;
  /**
   * A time by the database's clock: a statement that starts later writes nothing,
   * because its caller has got a 503 by then.
   */
  readonly writeBefore: Date;
}

/** Returns the tenant itself as the principal, for what comes without a credential: schedules and chat messages. */
export function tenantPrincipal(tenant: Tenant): Principal {
  return {
    tenant,
    kind: "tenant",
    authUserId: null,
    actor: systemActor,
    writeBefore: new Date(Date.now() + internalWriteMs),
  };
}

/** A turn that a job accepts has no caller that stops waiting; this is long enough for any difference of the clocks. */
const internalWriteMs = 60 * 60 * 1000;

/** Turns a credential into a principal. */
export interface Authenticator {
  /**
   * Returns who sent a request with this header. Throws 401 `unauthorized` when the header is missing or the
   * credential is not valid, 503 when that cannot be checked now.
   */
  authenticate(authorization: string | null): Promise<Principal>;
}

/** Every token of the service begins with this. */
export const tokenPrefix = "parley_";
/** Characters of a token behind its prefix. */
export const tokenBodyLength = 40;

const tokenPattern = new RegExp(`^${tokenPrefix}[A-Za-z0-9]{${tokenBodyLength}}$`);
/** Credentials are far shorter; a longer text is refused before it costs time to hash or parse. */
const credentialLengthMax = 8_192;

interface KeyOwnerRow extends TenantRow {
  keyId: IdOf<"apiKey">;
}

interface TenantRow {
  id: IdOf<"tenant">;
  form: Form;
  subscription: "active" | "inactive";
  usageCredit: number | null;
  quotaTurnsPerDay: number | null;
  runningTurns: number | null;
  queuedTurns: number | null;
  rateLimit: number | null;
  monetization: boolean;
  deleting: boolean;
  now: Date;
}

/** Returns the authenticator for API keys and, when the configuration names a secret or a JWKS, dashboard JWTs. */
export function createAuthenticator(sql: AnySql, config: DashboardJwtConfig): Authenticator {
  const verify = jwtVerifier(config);
  return {
    async authenticate(authorization) {
      const credential = /^Bearer +([^\s]+)$/i.exec(authorization ?? "")?.[1];
      if (credential === undefined || credential.length > credentialLengthMax) throw new ApiError("unauthorized");
      if (tokenPattern.test(credential)) return principalOfKey(sql, credential);
      const claims = await verify(credential);
      return principalOfClaims(sql, claims);
    },
  };
}

async function principalOfKey(sql: AnySql, token: string): Promise<Principal> {
  const [row] = await sql<KeyOwnerRow[]>`
    select k.id as key_id, t.id, t.form, t.subscription, t.usage_credit, t.quota_turns_per_day, t.running_turns, t.queued_turns, t.rate_limit, t.monetization,
      t.deleting_at is not null as deleting, clock_timestamp() as now
    from api_keys k join tenants t on t.id = k.tenant_id
    where k.digest = ${digest(token)} and (k.expires_at is null or k.expires_at > now()) and t.deleted_at is null`;
  if (row === undefined) throw new ApiError("unauthorized");
  const actor = { type: "api_key", id: row.keyId } as const;
  return { tenant: showTenant(row), kind: "api_key", authUserId: null, actor, writeBefore: writeBefore(row) };
}

async function principalOfClaims(sql: AnySql, claims: JWTPayload): Promise<Principal> {
  const { tenantId, authUserId } = claims;
  if (typeof tenantId !== "string" || !isId("tenant", tenantId)) throw new ApiError("unauthorized");
  const userId = typeof authUserId === "string" && authUserId !== "" ? authUserId : null;
  if (userId !== null && !isStorableUserId(userId)) throw new ApiError("unauthorized");
  const row = await readTenant(sql, tenantId);
  if (row === null) throw new ApiError("unauthorized");
  return {
    tenant: showTenant(row),
    kind: "dashboard",
    authUserId: userId,
    actor: { type: "dashboard_user", id: userId },
    writeBefore: writeBefore(row),
  };
}

/** Returns whether the database can hold a user id: it takes neither NUL nor half of a surrogate pair. */
function isStorableUserId(userId: string): boolean {
  return userId.isWellFormed() && !userId.includes("\0") && [...userId].length <= userIdLengthMax;
}

function writeBefore(row: TenantRow): Date {
  return new Date(row.now.getTime() + statementTimeoutMs);
}

/** Returns a tenant by its id; null when there is none (any more). */
export async function findTenant(sql: AnySql, tenantId: string): Promise<Tenant | null> {
  const row = await readTenant(sql, tenantId);
  return row === null ? null : showTenant(row);
}

async function readTenant(sql: AnySql, tenantId: string): Promise<TenantRow | null> {
  const [row] = await sql<TenantRow[]>`
    select id, form, subscription, usage_credit, quota_turns_per_day, running_turns, queued_turns, rate_limit, monetization,
      deleting_at is not null as deleting, clock_timestamp() as now
    from tenants where id = ${tenantId} and deleted_at is null`;
  return row ?? null;
}

function showTenant(row: TenantRow): Tenant {
  return {
    id: row.id,
    form: row.form,
    subscription: row.subscription,
    usageCredit: row.usageCredit,
    quotaTurnsPerDay: row.quotaTurnsPerDay,
    runningTurns: row.runningTurns,
    queuedTurns: row.queuedTurns,
    rateLimit: row.rateLimit,
    monetization: row.monetization,
    deleting: row.deleting,
  };
}
