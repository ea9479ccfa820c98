import type { JWTPayload } from "jose";
import { Batcher } from "../async/batcher.ts";
import type { AnySql } from "../database/client.ts";
import { statementTimeoutMs } from "../database/pooler-limits.ts";
import { ApiError } from "../errors.ts";
import { type IdOf, isId } from "../ids.ts";
import { userIdLengthMax } from "../limits.ts";
import { digest } from "../seal.ts";
import { type AuditActor, systemActor } from "./actor.ts";
import { bearerOf, clientTokenPrefix, keyPrefix } from "./bearer.ts";
import type { ClientAbility, ClientScope } from "./client-scope.ts";
import { type DashboardJwtConfig, jwtVerifier } from "./dashboard-jwt.ts";
import { type MemberOwnerRow, memberMay, readMember, roleOfMember } from "./member.ts";
import type { Proof } from "./proof.ts";
import { type RecalledKey, RecalledKeys } from "./recalled-keys.ts";
import { type AccessRole, isRole, type Permission, roleDefault } from "./roles.ts";
import { readTenantRow, showTenant, type Tenant, type TenantRow } from "./tenant.ts";

/** Who sent a request. */
export interface Principal extends Permission {
  readonly tenant: Tenant;
  readonly kind: "api_key" | "client_token" | "dashboard" | "member" | "tenant";
  /** The digest of the API key, in hexadecimal digits; null for every other credential. */
  readonly key: string | null;
  /** The API key's id; null for every other credential. */
  readonly keyId: IdOf<"apiKey"> | null;
  /** The member who is signed in to the console; null for every other credential. */
  readonly memberId: IdOf<"member"> | null;
  /** Once it is `known` it stays so. */
  proof: Proof;
  /** The dashboard user, when the token names one. */
  readonly authUserId: string | null;
  /** What a client token is good for; null for every other credential, which is good for all that its tenant has. */
  readonly client: ClientScope | null;
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
    key: null,
    keyId: null,
    memberId: null,
    proof: "known",
    role: roleDefault,
    agentIds: null,
    authUserId: null,
    client: null,
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
  /** Returns a member of a tenant, with the role as it is now. Throws 401 for one who is there no more, or may do nothing. */
  authenticateMember(memberId: IdOf<"member">): Promise<Principal>;
  /**
   * Returns who sent a request with this header if its API key still is whose it was a moment ago, which the statement
   * that does the request's work has to prove; null where that is not known.
   */
  recall(authorization: string | null): Principal | null;
  /**
   * Returns whether client tokens are, or were a day ago, for pages of this origin: tokens of one agent, or, with
   * null, of any. A browser asks that without the token.
   */
  knowsOrigin(origin: string, agentId: IdOf<"agent"> | null): Promise<boolean>;
}

/** Who may make client tokens. */
export const clientTokenRole: AccessRole = "runner";
/** Characters of a token behind its prefix. */
export const tokenBodyLength = 40;

const tokenPattern = patternOf(keyPrefix);
const clientTokenPattern = patternOf(clientTokenPrefix);
interface KeyOwnerRow extends TenantRow {
  keyId: IdOf<"apiKey">;
  role: AccessRole;
  agentIds: IdOf<"agent">[] | null;
  digest: string;
}

/** Finds the owner of a key by its digest in hexadecimal digits; undefined when there is none. */
type KeyOwners = Batcher<string, KeyOwnerRow | undefined>;

/** Finds a client token by its digest; undefined when there is none. */
type ClientTokens = Batcher<string, ClientTokenRow | undefined>;

/** One statement looks up at most so many keys. */
const keyGroupMax = 100;
/** A look-up waits at most this long for the one before it, so that a connection that does not answer holds up nobody else. */
const keyPatienceMs = 50;

interface ClientTokenRow extends TenantRow {
  digest: string;
  agentId: IdOf<"agent">;
  userId: string;
  sessionId: IdOf<"session"> | null;
  can: ClientAbility[];
  origins: string[];
}

/** Returns the authenticator for API keys, client tokens and, when the configuration names a secret or a JWKS, dashboard JWTs. */
export function createAuthenticator(sql: AnySql, config: DashboardJwtConfig): Authenticator {
  const verify = jwtVerifier(config);
  const owners = keyOwners(sql);
  const clientTokens = clientTokensOf(sql);
  const recalled = new RecalledKeys();
  return {
    recall(authorization) {
      const credential = bearerOf(authorization);
      if (credential === null || !tokenPattern.test(credential)) return null;
      const key = digestOf(credential);
      const known = recalled.recall(key);
      return known === null ? null : { ...ofKey(key, known), proof: "in statement" };
    },
    async authenticate(authorization) {
      const credential = bearerOf(authorization);
      if (credential === null) throw new ApiError("unauthorized");
      if (tokenPattern.test(credential)) return principalOfKey(owners, recalled, digestOf(credential));
      if (clientTokenPattern.test(credential)) return principalOfClientToken(clientTokens, digestOf(credential));
      const claims = await verify(credential);
      return principalOfClaims(sql, claims);
    },
    async authenticateMember(memberId) {
      const row = await readMember(sql, memberId);
      const role = row === null ? null : roleOfMember(row);
      if (row === null || role === null) throw new ApiError("unauthorized", { message: noMember });
      return { ...ofMember(row, role), writeBefore: writeBefore(row) };
    },
    async knowsOrigin(origin, agentId) {
      const [row] = await sql`
        select /* origin.find */ 1 from client_origins
        where origin = ${origin} and expires_at > now() ${agentId === null ? sql`` : sql`and agent_id = ${agentId}`} limit 1`;
      return row !== undefined;
    },
  };
}

/** Returns whether a text has the shape of a client token. */
export function isClientToken(text: string): boolean {
  return clientTokenPattern.test(text);
}

function patternOf(prefix: string): RegExp {
  return new RegExp(`^${prefix}[A-Za-z0-9]{${tokenBodyLength}}$`);
}

/** Keys of requests that come at once are looked up in one statement: one for each was a third of what a turn sends to Postgres. */
function keyOwners(sql: AnySql): KeyOwners {
  const find = async (digests: readonly string[]) => {
    const rows = await sql<KeyOwnerRow[]>`
      select /* key.find */ encode(k.digest, 'hex') as digest, k.id as key_id, k.role, k.agent_ids, t.id, t.form, t.subscription, t.usage_credit, t.quota_turns_per_day,
        t.running_turns, t.queued_turns, t.rate_limit, t.stored_mib, t.monetization, t.has_budgets, t.deleting_at is not null as deleting, clock_timestamp() as now
      from api_keys k join tenants t on t.id = k.tenant_id
      where k.digest = any(array(select decode(asked, 'hex') from unnest(${digests as string[]}::text[]) asked))
        and (k.expires_at is null or k.expires_at > now()) and t.deleted_at is null`;
    const byDigest = new Map(rows.map((row) => [row.digest, row]));
    return digests.map((asked) => byDigest.get(asked));
  };
  return new Batcher(find, { countMax: keyGroupMax, gathers: true, patienceMs: keyPatienceMs });
}

const noMember = "You are no member of this tenant (any more). Sign in again, or choose another tenant.";

function ofMember(row: MemberOwnerRow, role: AccessRole): Omit<Principal, "writeBefore"> {
  return {
    tenant: showTenant(row),
    kind: "member",
    key: null,
    keyId: null,
    memberId: row.memberId,
    proof: "known",
    role,
    agentIds: null,
    authUserId: null,
    client: null,
    actor: { type: "member", id: row.memberId },
  };
}

const digestOf = (key: string) => digest(key).toString("hex");

async function principalOfKey(owners: KeyOwners, recalled: RecalledKeys, key: string): Promise<Principal> {
  const row = await owners.add(key);
  const found =
    row === undefined
      ? null
      : { tenant: showTenant(row), keyId: row.keyId, role: row.role, agentIds: row.agentIds, now: row.now };
  recalled.note(key, found);
  if (row === undefined || found === null) throw new ApiError("unauthorized");
  return { ...ofKey(key, { ...found, writeBefore: writeBefore(row) }), proof: "known" };
}

function ofKey(key: string, { tenant, keyId, role, agentIds, writeBefore }: RecalledKey): Omit<Principal, "proof"> {
  return {
    tenant,
    kind: "api_key",
    key,
    keyId,
    memberId: null,
    role,
    agentIds,
    authUserId: null,
    client: null,
    actor: { type: "api_key", id: keyId },
    writeBefore,
  };
}

/**
 * Client tokens are looked up together too: so a flood of invented ones costs a statement for a hundred, and new ones
 * wait for little. One is valid as long as its agent and the key that made it exist, or the member who made it may make one.
 */
function clientTokensOf(sql: AnySql): ClientTokens {
  const find = async (digests: readonly string[]) => {
    const rows = await sql<ClientTokenRow[]>`
      select /* client_token.find */ encode(c.digest, 'hex') as digest, c.agent_id, c.user_id, c.session_id, c.can, c.origins, t.id, t.form, t.subscription,
        t.usage_credit, t.quota_turns_per_day, t.running_turns, t.queued_turns, t.rate_limit, t.stored_mib, t.monetization,
        t.has_budgets, t.deleting_at is not null as deleting, clock_timestamp() as now
      from client_tokens c join tenants t on t.id = c.tenant_id
      where c.digest = any(array(select decode(asked, 'hex') from unnest(${digests as string[]}::text[]) asked))
        and c.expires_at > now() and t.deleted_at is null
        and exists (select 1 from agents a where a.id = c.agent_id)
        and (c.key_id is null or exists (select 1 from api_keys k where k.id = c.key_id))
        and (c.member_id is null or exists (select 1 from members m where m.id = c.member_id and ${memberMay(sql, clientTokenRole)}))`;
    const byDigest = new Map(rows.map((row) => [row.digest, row]));
    return digests.map((asked) => byDigest.get(asked));
  };
  return new Batcher(find, { countMax: keyGroupMax, gathers: true, patienceMs: keyPatienceMs });
}

async function principalOfClientToken(tokens: ClientTokens, tokenDigest: string): Promise<Principal> {
  const row = await tokens.add(tokenDigest);
  if (row === undefined) throw new ApiError("unauthorized");
  const { agentId, userId, sessionId, can, origins } = row;
  return {
    tenant: showTenant(row),
    kind: "client_token",
    key: null,
    keyId: null,
    memberId: null,
    proof: "known",
    // What it was made for says what it may do, and of which agent.
    role: "runner",
    agentIds: null,
    authUserId: null,
    client: { agentId, userId, sessionId, can, origins },
    actor: { type: "chat_user", id: userId },
    writeBefore: writeBefore(row),
  };
}

async function principalOfClaims(sql: AnySql, claims: JWTPayload): Promise<Principal> {
  const { tenantId, authUserId, role = roleDefault } = claims;
  if (typeof tenantId !== "string" || !isId("tenant", tenantId)) throw new ApiError("unauthorized");
  if (!isRole(role)) throw new ApiError("unauthorized", { message: "The token names a role that there is not." });
  const userId = typeof authUserId === "string" && authUserId !== "" ? authUserId : null;
  if (userId !== null && !isStorableUserId(userId)) throw new ApiError("unauthorized");
  const row = await readTenantRow(sql, tenantId);
  if (row === null) throw new ApiError("unauthorized");
  return {
    tenant: showTenant(row),
    kind: "dashboard",
    key: null,
    keyId: null,
    memberId: null,
    proof: "known",
    role,
    agentIds: null,
    authUserId: userId,
    client: null,
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
