import { tokenBodyLength } from "../kernel/auth/authenticator.ts";
import { clientTokenPrefix } from "../kernel/auth/bearer.ts";
import type { ClientAbility, ClientScope } from "../kernel/auth/client-scope.ts";
import { randomToken } from "../kernel/auth/random-token.ts";
import type { AnySql, Sql, Tx } from "../kernel/database/client.ts";
import { eraseRowsMax, type Pace } from "../kernel/database/pace.ts";
import { ApiError } from "../kernel/errors.ts";
import { type IdOf, newId } from "../kernel/ids.ts";
import { digest } from "../kernel/seal.ts";
import { clientTokensPerTenantMax, originsPerTenantMax } from "./schema.ts";

/** Browsers on pages of an origin may still read errors this long after the last token for it has expired. */
const originsKeptHours = 24;

/** A client token that is asked for. */
export interface ClientTokenRequest extends ClientScope {
  readonly tenantId: IdOf<"tenant">;
  /** The API key that asks; null for a person. */
  readonly keyId: string | null;
  /** The member who asks; null for a key or a dashboard user. */
  readonly memberId: string | null;
  readonly expiresInSeconds: number;
}

/** A client token as its maker gets it; the token is stored nowhere. */
export interface ClientToken {
  readonly id: IdOf<"clientToken">;
  readonly token: string;
  readonly can: readonly ClientAbility[];
  readonly expiresAt: string;
}

/**
 * Creates a client token, which expires no later than the key that asks for it. Throws 404
 * when there is no such agent, or no such session of this user with it, 400
 * `invalid_request` at the tenant's limits of tokens and origins.
 */
export async function createClientToken(inner: Tx, asked: ClientTokenRequest): Promise<ClientToken> {
  const { tenantId, keyId, memberId, agentId, userId, sessionId, expiresInSeconds, can, origins } = asked;
  // The lock makes the counts hold.
  await inner`select pg_advisory_xact_lock(hashtextextended(${`client-tokens:${tenantId}`}, 0))`;
  const keyEndsAt = keyId === null ? null : await requireKey(inner, tenantId, keyId);
  if (memberId !== null) await requireMember(inner, tenantId, memberId);
  await requireScope(inner, asked);
  await requireRoom(inner, tenantId);
  const [id, token] = [newId("clientToken"), randomToken(clientTokenPrefix, tokenBodyLength)];
  const [row] = await inner<{ expiresAt: Date }[]>`
    insert into client_tokens (id, tenant_id, key_id, member_id, digest, agent_id, user_id, session_id, can, origins, expires_at)
    values (${id}, ${tenantId}, ${keyId}, ${memberId}, ${digest(token)}, ${agentId}, ${userId}, ${sessionId}, ${can as string[]}, ${origins as string[]},
      least(now() + make_interval(secs => ${expiresInSeconds}), ${keyEndsAt}::timestamptz))
    returning expires_at`;
  const { expiresAt } = row as { expiresAt: Date };
  await keepOrigins(inner, asked, expiresAt);
  return { id, token, can, expiresAt: expiresAt.toISOString() };
}

/** Returns when the key expires, if it does. Throws 401 for one that was deleted meanwhile. */
async function requireKey(inner: Tx, tenantId: string, keyId: string): Promise<Date | null> {
  const [key] = await inner<{ expiresAt: Date | null }[]>`
    select expires_at from api_keys where id = ${keyId} and tenant_id = ${tenantId} for key share`;
  if (key === undefined) throw new ApiError("unauthorized");
  return key.expiresAt;
}

/** Throws 401 for a member who was removed meanwhile. */
async function requireMember(inner: Tx, tenantId: string, memberId: string): Promise<void> {
  const rows = await inner`select 1 from members where id = ${memberId} and tenant_id = ${tenantId} for key share`;
  if (rows.length === 0) throw new ApiError("unauthorized");
}

async function requireScope(inner: Tx, { tenantId, agentId, userId, sessionId }: ClientTokenRequest): Promise<void> {
  const [agent] = await inner`select 1 from agents where id = ${agentId} and tenant_id = ${tenantId} for key share`;
  if (agent === undefined) throw new ApiError("not_found", { message: "/agentId: There is no such agent." });
  if (sessionId === null) return;
  const [session] = await inner`
    select 1 from sessions
    where id = ${sessionId} and tenant_id = ${tenantId} and agent_id = ${agentId} and user_id = ${userId} and deleted_at is null`;
  if (session === undefined)
    throw new ApiError("not_found", { message: "/sessionId: This user has no such session with the agent." });
}

async function requireRoom(inner: Tx, tenantId: string): Promise<void> {
  const [count] = await inner<{ tokens: number }[]>`
    select count(*)::int as tokens from client_tokens c
    where c.tenant_id = ${tenantId} and c.expires_at > now()
      and (c.key_id is null or c.key_id in (select id from api_keys where tenant_id = ${tenantId}))
      and (c.member_id is null or c.member_id in (select id from members where tenant_id = ${tenantId}))`;
  if ((count?.tokens ?? 0) < clientTokensPerTenantMax) return;
  throw new ApiError("invalid_request", {
    message: `A tenant has at most ${clientTokensPerTenantMax} client tokens that are valid. Delete some, let them expire sooner, or use one token per user.`,
  });
}

/** Notes for how long browsers are told that pages of these origins may ask. One row serves many tokens and is written about once a day. */
async function keepOrigins(inner: Tx, { tenantId, agentId, origins }: ClientTokenRequest, until: Date): Promise<void> {
  if (origins.length === 0) return;
  // A row that was inserted was locked by no transaction before (`xmax` is 0); one that was updated was, by this one.
  const written = await inner<{ isNew: boolean }[]>`
    insert into client_origins as o (origin, agent_id, tenant_id, expires_at)
    select origin, ${agentId}, ${tenantId}, ${until}::timestamptz + make_interval(hours => ${2 * originsKeptHours})
    from unnest(${origins as string[]}::text[]) origin order by origin
    on conflict (origin, agent_id) do update set expires_at = excluded.expires_at
    where o.expires_at < excluded.expires_at - make_interval(hours => ${originsKeptHours})
    returning o.xmax = 0 as is_new`;
  if (!written.some(({ isNew }) => isNew)) return;
  const [count] = await inner<{ origins: number }[]>`
    select count(*)::int as origins from client_origins where tenant_id = ${tenantId}`;
  if ((count?.origins ?? 0) <= originsPerTenantMax) return;
  throw new ApiError("invalid_request", {
    message: `The client tokens of a tenant have at most ${originsPerTenantMax} origins, each agent's counted apart.`,
  });
}

/** Deletes a client token; its next request is 401. Throws 404. */
export async function deleteClientToken(sql: AnySql, tenantId: string, id: string): Promise<void> {
  const { count } = await sql`delete from client_tokens where id = ${id} and tenant_id = ${tenantId}`;
  if (count === 0) throw new ApiError("not_found");
}

/** Deletes the client tokens of a deleted agent, in batches. */
export async function purgeClientTokens(
  { sql, pace }: { readonly sql: Sql; readonly pace: Pace },
  agentId: string,
): Promise<void> {
  for (;;) {
    pace.step();
    const { count } = await sql`
      delete from client_tokens where id in (select id from client_tokens where agent_id = ${agentId} limit ${eraseRowsMax})`;
    if (count < eraseRowsMax) break;
  }
  await sql`delete from client_origins where agent_id = ${agentId}`;
}

/** Part of the job `keys.sweep`: deletes the client tokens that have expired, and the origins that no token is for any more, in batches. */
export async function sweepClientTokens(sql: Sql): Promise<void> {
  for (;;) {
    const { count } = await sql`
      delete from client_tokens where id in (select id from client_tokens where expires_at < now() limit ${eraseRowsMax})`;
    if (count < eraseRowsMax) break;
  }
  for (;;) {
    const { count } = await sql`
      delete from client_origins where (origin, agent_id) in (
        select origin, agent_id from client_origins where expires_at < now() limit ${eraseRowsMax})`;
    if (count < eraseRowsMax) break;
  }
}
