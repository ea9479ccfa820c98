import { createHash } from "node:crypto";
import type postgres from "postgres";
import type { AnySql, Tx } from "../database/client.ts";
import { ApiError, type Form } from "../errors.ts";
import type { IdOf } from "../ids.ts";
import { idempotencyKeepHours, idempotencyKeyLengthMax } from "../limits.ts";
import type { Sealer } from "../seal.ts";
import { canonicalJson } from "./canonical-json.ts";
import { clientOf, limitsOf } from "./request.ts";

/** A request's Idempotency-Key with what it stands for. */
export interface IdempotencyKey {
  readonly tenantId: IdOf<"tenant">;
  readonly key: string;
  /** SHA-256 of form, method, path, query, body and the agents that the sender is limited to: another request under the same key is refused. */
  readonly requestDigest: Buffer;
  /** The request's path, which names resources. */
  readonly path: string;
}

/** A response as it was sent the first time. */
export interface KeptResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
}

/**
 * Returns the request's Idempotency-Key; null when it has none. The keys of a client token are
 * apart from all others of its tenant: they are its user's with its agent. Throws 400 when
 * it is empty or too long.
 */
export function readIdempotencyKey(
  request: Request,
  tenantId: IdOf<"tenant">,
  form: Form,
  body: unknown,
): IdempotencyKey | null {
  const key = request.headers.get("idempotency-key");
  if (key === null) return null;
  if (key === "" || key.length > idempotencyKeyLengthMax) {
    const rule = `must have 1 to ${idempotencyKeyLengthMax} characters`;
    throw new ApiError("validation_failed", {
      message: `Idempotency-Key ${rule}.`,
      details: { issues: [{ path: "Idempotency-Key", message: rule }] },
    });
  }
  const { pathname, search } = new URL(request.url);
  // Of who is limited to some agents it is another request than the same one of who reaches more: the response to that may say more, such as a key for all.
  const agentIds = limitsOf(request);
  const reach = agentIds === null ? [] : [[...agentIds].sort()];
  const meaning = canonicalJson([form, request.method, pathname, search, body, ...reach]);
  return {
    tenantId,
    key: ownKey(request, key),
    requestDigest: createHash("sha256").update(meaning).digest(),
    path: pathname,
  };
}

/** No header has a line break, so no key of another credential is the same. */
function ownKey(request: Request, key: string): string {
  const client = clientOf(request);
  if (client === null) return key;
  const owner = createHash("sha256").update(canonicalJson([client.agentId, client.userId]));
  return `${owner.digest("base64url")}\n${key}`;
}

/**
 * Returns what is stored under a key: a turn, a response, or neither while a request is
 * under way; null when nothing is. Throws 422 when the key was used for another request, or
 * for one whose response was erased because what it tells of was deleted.
 */
export async function recallKey(
  sql: AnySql,
  sealer: Sealer,
  key: IdempotencyKey,
): Promise<{ turnId: IdOf<"turn"> | null; response: KeptResponse | null } | null> {
  const [row] = await sql<KeyRow[]>`
    select /* idempotency.find */ request_digest, turn_id, status, headers, sealed_body from idempotency_keys
    where tenant_id = ${key.tenantId} and key = ${key.key} and created_at > now() - make_interval(hours => ${idempotencyKeepHours})`;
  if (row === undefined) return null;
  if (!row.requestDigest.equals(key.requestDigest)) throw new ApiError("idempotency_key_reused");
  if (row.status === null) return { turnId: row.turnId, response: null };
  if (row.headers === null) throw keyOfDeleted();
  const body = row.sealedBody === null ? null : sealer.open(row.sealedBody, lockNameOf(key));
  return { turnId: row.turnId, response: { status: row.status, headers: row.headers, body } };
}

/** Returns the 422 of a repeat whose first request made something that is deleted since. */
export function keyOfDeleted(): ApiError {
  return new ApiError("idempotency_key_reused", {
    message: "What this Idempotency-Key was used for is deleted, and so is the response. Use another key.",
  });
}

interface KeyRow {
  requestDigest: Buffer;
  turnId: IdOf<"turn"> | null;
  status: number | null;
  headers: Record<string, string> | null;
  sealedBody: Buffer | null;
}

/** Waits for the key's lock: a repeated turn joins the first one as soon as it is accepted. */
export async function waitForKey(inner: Tx, key: IdempotencyKey): Promise<void> {
  await inner`select /* idempotency.lock */ pg_advisory_xact_lock(hashtextextended(${lockNameOf(key)}, 0))`;
}

/**
 * Stores which continuation a key stands for, in the place of a row that is too old.
 * Throws 422 when another operation has reserved the key meanwhile.
 */
export async function keepContinuation(inner: Tx, key: IdempotencyKey, continuationId: string): Promise<void> {
  const { count } = await inner`
    insert /* idempotency.store */ into idempotency_keys as k (tenant_id, key, request_digest, turn_id)
    values (${key.tenantId}, ${key.key}, ${key.requestDigest}, ${continuationId})
    on conflict (tenant_id, key) do update set request_digest = excluded.request_digest, turn_id = excluded.turn_id,
      status = null, headers = null, sealed_body = null, owner = null, leased_until = null, made_id = null,
      resource_ids = null,
      created_at = now()
    where k.created_at <= now() - make_interval(hours => ${idempotencyKeepHours})`;
  if (count === 0) throw new ApiError("idempotency_key_reused");
}

/** Returns the SQL of: something is stored under the key of a row of `asked`, however old. */
export function keyIsKnownSql(sql: AnySql): postgres.Fragment {
  return sql`asked.idempotency_key is not null and exists (
    select 1 from idempotency_keys k where k.tenant_id = asked.tenant_id and k.key = asked.idempotency_key)`;
}

/**
 * Returns the insert that stores which turns keys stand for, for the rows of `accepted` and `asked`, in one order for all statements
 * that do. The key of a hidden session's turn is free again when that session goes by itself (`freeKeysOf`).
 */
export function keepTurnsSql(sql: AnySql): postgres.Fragment {
  return sql`
    insert into idempotency_keys (tenant_id, key, request_digest, turn_id, resource_ids)
    select asked.tenant_id, idempotency_key, request_digest, turn_id, case when new_session and not visible then array[asked.session_id] end
    from accepted join asked on turn_id = id where idempotency_key is not null order by 1, 2`;
}

/** Deletes what is stored under a key if it is too old. Returns whether it was. */
export async function dropOldKey(sql: AnySql, { tenantId, key }: IdempotencyKey): Promise<boolean> {
  const { count } = await sql`
    delete /* key.drop_old */ from idempotency_keys
    where tenant_id = ${tenantId} and key = ${key} and created_at <= now() - make_interval(hours => ${idempotencyKeepHours})`;
  return count > 0;
}

/** How many keys one statement of the sweep deletes. */
const sweepBatchRows = 5_000;

/** The job `keys.sweep`: deletes keys older than `idempotencyKeepHours`, in batches. */
export async function sweepKeys(sql: AnySql): Promise<void> {
  for (;;) {
    const { count } = await sql`
      delete /* idempotency.purge */ from idempotency_keys where (tenant_id, key) in (
        select tenant_id, key from idempotency_keys
        where created_at < now() - make_interval(hours => ${idempotencyKeepHours}) limit ${sweepBatchRows})`;
    if (count < sweepBatchRows) return;
  }
}

/** Returns the name of a key's lock, which its stored response is also sealed for. */
export function lockNameOf(key: { readonly tenantId: string; readonly key: string }): string {
  return `idempotency:${key.tenantId}:${key.key}`;
}
