import type { Tenant } from "../auth/tenant.ts";
import type { AnySql, Sql, Tx } from "../database/client.ts";
import { ApiError, limitHeaders } from "../errors.ts";
import { idempotencyKeepHours } from "../limits.ts";

/**
 * What a tenant stores (docs/decisions/stored-bytes.md). It is added up when somebody asks: sessions
 * have their part in a column, the rest is summed from sizes without reading what is stored. Of a tenant without a limit
 * nothing is asked when something is stored.
 */

/** A tenant, and how much it may store. */
type Limited = Pick<Tenant, "id" | "storedMib">;

interface Known {
  readonly countedAtMs: number;
  readonly tookMs: number;
  /** With what was let in since. */
  bytes: number;
}

const mib = 1024 * 1024;
/** What is known is counted anew after this long, or this many times what counting took, so that it takes a twentieth of a connection at most. */
const knownMsMin = 1_000;
const knownMsMax = 60_000;
const restFactor = 20;
/** Tenants of which that is remembered. */
const knownMax = 10_000;
/** `Retry-After` of a refusal, in seconds: nothing gets free by itself but what retention deletes, every minute. */
const retryAfterSeconds = 60;

const known = new Map<string, Known>();

/**
 * Checks that a tenant may store `bytes` more. What is let in counts at once in this process, and in others once they
 * count again. Throws 429 `quota_exceeded`; before that it is counted anew, because something may have been deleted.
 */
export async function requireRoom(
  sql: AnySql,
  tenant: Limited,
  bytes: number,
  { areWritten = false }: { readonly areWritten?: boolean } = {},
): Promise<void> {
  const { id, storedMib } = tenant;
  if (storedMib === null) return;
  const max = storedMib * mib;
  const fits = (stored: Known) => stored.bytes < max && stored.bytes + bytes <= max;
  let stored = known.get(id);
  const ageMs = stored === undefined ? Number.POSITIVE_INFINITY : performance.now() - stored.countedAtMs;
  const restMs = (stored?.tookMs ?? 0) * restFactor;
  const isOld = ageMs > Math.min(knownMsMax, Math.max(knownMsMin, restMs));
  if (stored === undefined || isOld || (!fits(stored) && ageMs > Math.min(knownMsMax, restMs)))
    stored = await countAnew(sql, id, areWritten ? bytes : 0);
  if (!fits(stored)) throw storedTooMuch(storedMib, stored.bytes);
  stored.bytes += bytes;
}

/** Returns the bytes of what a turn is asked with, as JSON; of a tenant without a limit they are not counted. */
export function askedSize({ storedMib }: Limited, fields: readonly unknown[]): number {
  return storedMib === null ? 0 : Buffer.byteLength(JSON.stringify(fields));
}

/**
 * Returns the tenant of a workspace or an agent where it has a limit, else undefined. One statement, so it may go in one trip
 * with those that write: `requireRoomWritten` then says whether they may stay.
 */
export async function limitedTenant(
  sql: AnySql,
  place: { readonly workspaceId: string } | { readonly tenantId: string },
): Promise<Limited | undefined> {
  const [tenant] = await sql<Limited[]>`
    select id, stored_mib from tenants where stored_mib is not null and id = ${
      "tenantId" in place
        ? sql`${place.tenantId}`
        : sql`(select tenant_id from workspaces where id = ${place.workspaceId})`
    }`;
  return tenant;
}

/** Does what `requireRoom` does for `bytes` that this transaction has written already. Throws as that does. */
export async function requireRoomWritten(inner: Tx, tenant: Limited | undefined, bytes: number): Promise<void> {
  if (tenant !== undefined) await requireRoom(inner, tenant, bytes, { areWritten: true });
}

function storedTooMuch(storedMib: number, bytes: number): ApiError {
  return new ApiError("quota_exceeded", {
    message: `The tenant may store ${storedMib} MiB, and that would be more. Delete something, or ask the operator for more.`,
    details: { storedMib, storedBytes: bytes },
    headers: limitHeaders(storedMib, retryAfterSeconds),
  });
}

/** Counts what a tenant stores, less the `written` of this transaction, which are let in only afterwards. */
async function countAnew(sql: AnySql, tenantId: string, written: number): Promise<Known> {
  const startedMs = performance.now();
  const bytes = (await countStored(sql, tenantId)) - written;
  const countedAtMs = performance.now();
  const stored = { bytes, countedAtMs, tookMs: countedAtMs - startedMs };
  known.delete(tenantId);
  const [oldest] = known.keys();
  if (oldest !== undefined && known.size >= knownMax) known.delete(oldest);
  known.set(tenantId, stored);
  return stored;
}

/**
 * Returns the SQL of the bytes that a row of `turns` was asked with, as Postgres stores them and without reading
 * them. Its metadata counts twice, because the row of `usage` has it too.
 */
export function askedBytes(sql: AnySql, turn: ReturnType<AnySql>) {
  return sql`(coalesce(pg_column_size(${turn}.input), 0) + 2 * pg_column_size(${turn}.metadata)
    + coalesce(pg_column_size(${turn}.response_format), 0) + coalesce(pg_column_size(${turn}.caller_options), 0))`;
}

/**
 * Returns the bytes that a tenant stores: transcripts and what turns were asked with, stateless generations, files of
 * workspaces and skills, memories, versions and pictures of agents, prompts, tasks and their runs, and the metadata of all these.
 */
export async function countStored(sql: AnySql, tenantId: string): Promise<number> {
  const [row] = await sql<{ bytes: number }[]>`
    select (
      (select coalesce(sum(coalesce(bytes, 0) + pg_column_size(metadata)), 0) from sessions where tenant_id = ${tenantId} and visible and deleted_at is null)
      + (select coalesce(sum(${askedBytes(sql, sql`t`)}), 0) from turns t
        where tenant_id = ${tenantId} and status in ('enqueued', 'queued', 'running', 'waiting'))
      + (select coalesce(sum(pg_column_size(workspaces.metadata) + coalesce(w.bytes, 0)), 0) from workspaces cross join lateral (
          select sum(size) as bytes from workspace_files where workspace_id = workspaces.id) w
        where workspaces.tenant_id = ${tenantId})
      + (select coalesce(sum(pg_column_size(library_skills.metadata) + coalesce(f.bytes, 0)), 0) from library_skills cross join lateral (
          select sum(octet_length(content)) as bytes from skill_files where skill_id = library_skills.id) f
        where library_skills.tenant_id = ${tenantId})
      + (select coalesce(sum(octet_length(template) + pg_column_size(metadata)), 0) from prompts where tenant_id = ${tenantId})
      + (select coalesce(sum(pg_column_size(k.prompt) + pg_column_size(k.metadata) + coalesce(pg_column_size(k.response_format), 0)
            + r.bytes), 0) from tasks k
          cross join lateral (
            select coalesce(sum(pg_column_size(prompt) + pg_column_size(metadata) + coalesce(pg_column_size(response_format), 0)), 0) as bytes
            from task_runs where task_id = k.id) r
        where k.tenant_id = ${tenantId} and k.deleted_at is null)
      + (select coalesce(sum(coalesce(octet_length(a.avatar), 0) + v.bytes + m.bytes + s.bytes + g.bytes), 0) from agents a
        cross join lateral (select coalesce(sum(pg_column_size(config)), 0) as bytes from agent_versions where agent_id = a.id) v
        cross join lateral (select coalesce(sum(octet_length(text)), 0) as bytes from memories where agent_id = a.id) m
        cross join lateral (
          select coalesce(sum(octet_length(f.content)), 0) as bytes
          from agent_skills join skill_files f on f.skill_id = agent_skills.id where agent_skills.agent_id = a.id) s
        cross join lateral (
          select coalesce(sum(${askedBytes(sql, sql`t`)} + coalesce(pg_column_size(answer), 0)), 0) as bytes from turns t
          where agent_id = a.id and session_id is null and status in ('succeeded', 'failed', 'canceled')
            and accepted_at > now() - make_interval(hours => ${idempotencyKeepHours + 1})) g
        where a.tenant_id = ${tenantId})
    )::float8 as bytes`;
  return row?.bytes ?? 0;
}

/** Tenants are counted for this long in one run of the job, in milliseconds, those first that were not for the longest time. */
const countJobMsMax = 5_000;
const tenantsPerPage = 50;

/** Part of the job `storage.count`: notes with each tenant what it stores, for lists. */
export async function noteStored(sql: Sql): Promise<void> {
  const endsAtMs = performance.now() + countJobMsMax;
  const [begun] = await sql<{ at: Date }[]>`select clock_timestamp() as at`;
  for (;;) {
    const tenants = await sql<{ id: string }[]>`
      select id from tenants where deleted_at is null and (stored_at is null or stored_at < ${begun?.at as Date})
      order by stored_at nulls first, id limit ${tenantsPerPage}`;
    for (const { id } of tenants) {
      if (performance.now() > endsAtMs) return;
      // One that takes too long keeps the number that it had.
      const bytes = await countStored(sql, id).catch(() => null);
      await sql`
        update tenants set stored_bytes = coalesce(${bytes}::bigint, stored_bytes), stored_at = clock_timestamp() where id = ${id}`;
    }
    if (tenants.length < tenantsPerPage) return;
  }
}
