import { randomUUID } from "node:crypto";
import { clearInterval, setInterval } from "node:timers";
import { waitAtMost } from "../async/wait.ts";
import { json, type Sql, type Tx } from "../database/client.ts";
import { retryWhileUnavailable } from "../database/retry.ts";
import { ApiError } from "../errors.ts";
import { idempotencyKeepHours, idempotencyLeaseMs } from "../limits.ts";
import type { Sealer } from "../seal.ts";
import { resourcesOf } from "./erase-keys.ts";
import { type IdempotencyKey, type KeptResponse, lockNameOf, recallKey } from "./idempotency.ts";

/**
 * The states of a key's row (`idempotency_keys`), except a turn's, which `keepTurnsSql` writes:
 *
 *     no row, or one that is too old ──a request reserves it──▶ in progress
 *     in progress ──the transaction that writes──▶ done: the stored response
 *                 ──an error──▶ no row; where `made_id` says that something was written: lease over
 *                 ──the process dies──▶ lease over ──a repeat reserves it──▶ in progress
 *
 * `owner` names the request that holds the row until `leased_until`. Every move is
 * guarded by it, so a request whose lease was taken over writes nothing. No transaction
 * is open between the moves: the request's work holds no connection.
 */

/** A key that a request holds. */
export interface Reservation {
  /** What an earlier request under the key has written before it ended without a response; null: nothing. */
  readonly madeId: string | null;
  /** Stores what the transaction writes, when a response comes later. A repeat finds it in `madeId`. Throws as `keep`. */
  remember(inner: Tx, id: string): Promise<void>;
  /** Stores the response, in the transaction that writes what it tells. Throws 409 when a repeat has taken the key over. */
  keep(inner: Tx, response: KeptResponse): Promise<void>;
}

/** A failed request waits this long until its key is free; a longer wait is the lease's. */
const letGoWaitMs = 1_000;
/** A key that is let go by others while it is asked for is asked for again, this often. */
const reserveAttemptsMax = 5;

/**
 * Returns the response stored under a key; else runs `work`, which stores its response by
 * `keep`. Throws what `work` throws, and then the key is free again; 409
 * `idempotency_in_progress` while another request holds the key; 422 when the key was
 * used for another request.
 */
export async function underKey(
  sql: Sql,
  sealer: Sealer,
  key: IdempotencyKey,
  work: (reservation: Reservation) => Promise<KeptResponse>,
): Promise<KeptResponse> {
  const owner = randomUUID();
  const found = await reserveOrRecall(sql, sealer, key, owner);
  if ("response" in found) return found.response;
  const renewal = setInterval(() => renew(sql, key, owner).catch(() => {}), idempotencyLeaseMs / 3);
  try {
    return await work(reservationOf(sealer, key, owner, found.madeId));
  } catch (error) {
    // When the database is away, the lease ends by itself.
    await waitAtMost(letGo(sql, key, owner), letGoWaitMs).catch(() => {});
    throw error;
  } finally {
    clearInterval(renewal);
  }
}

type Found = { readonly response: KeptResponse } | { readonly madeId: string | null };

async function reserveOrRecall(sql: Sql, sealer: Sealer, key: IdempotencyKey, owner: string): Promise<Found> {
  for (let attempt = 1; attempt <= reserveAttemptsMax; attempt++) {
    const reserved = await retryWhileUnavailable(() => reserve(sql, key, owner));
    if (reserved !== undefined) return reserved;
    const known = await retryWhileUnavailable(() => recallKey(sql, sealer, key));
    if (known?.response) return { response: known.response };
    if (known !== null) break;
  }
  throw inProgress();
}

/** Takes the key if it is free. A repeat of this statement by the same owner changes nothing. */
async function reserve(
  sql: Sql,
  { tenantId, key, requestDigest }: IdempotencyKey,
  owner: string,
): Promise<{ madeId: string | null } | undefined> {
  const [row] = await sql<{ madeId: string | null }[]>`
    insert /* reservation.take */ into idempotency_keys as k (tenant_id, key, request_digest, owner, leased_until)
    values (${tenantId}, ${key}, ${requestDigest}, ${owner}, now() + ${idempotencyLeaseMs} * interval '1 millisecond')
    on conflict (tenant_id, key) do update set request_digest = excluded.request_digest, owner = excluded.owner,
      leased_until = excluded.leased_until, turn_id = null, status = null, headers = null, sealed_body = null,
      resource_ids = null, created_at = now(),
      made_id = case when k.created_at > now() - make_interval(hours => ${idempotencyKeepHours}) then k.made_id end
    where k.created_at <= now() - make_interval(hours => ${idempotencyKeepHours}) or k.owner = excluded.owner
      or (k.leased_until <= now() and k.request_digest = excluded.request_digest)
    returning made_id`;
  return row;
}

async function renew(sql: Sql, { tenantId, key }: IdempotencyKey, owner: string): Promise<void> {
  await sql`
    update /* reservation.renew */ idempotency_keys set leased_until = now() + ${idempotencyLeaseMs} * interval '1 millisecond'
    where tenant_id = ${tenantId} and key = ${key} and owner = ${owner}`;
}

/** Frees the key of a request that failed. It waits for a commit whose end is unknown, and leaves its response. */
async function letGo(sql: Sql, { tenantId, key }: IdempotencyKey, owner: string): Promise<void> {
  await sql`
    with /* reservation.free */ freed as (
      delete from idempotency_keys
      where tenant_id = ${tenantId} and key = ${key} and owner = ${owner} and made_id is null
    )
    update idempotency_keys set leased_until = now()
    where tenant_id = ${tenantId} and key = ${key} and owner = ${owner} and made_id is not null`;
}

function reservationOf(sealer: Sealer, key: IdempotencyKey, owner: string, madeId: string | null): Reservation {
  const { tenantId, key: name } = key;
  return {
    madeId,
    remember: async (inner, id) => {
      const { count } = await inner`
        update /* reservation.note_made */ idempotency_keys set made_id = ${id} where tenant_id = ${tenantId} and key = ${name} and owner = ${owner}`;
      if (count === 0) throw inProgress();
    },
    keep: async (inner, { status, headers, body }) => {
      const sealedBody = body === null ? null : sealer.seal(body, lockNameOf(key));
      const { count } = await inner`
        update /* reservation.answer */ idempotency_keys set status = ${status}, headers = ${json(inner, headers)}, sealed_body = ${sealedBody},
          owner = null, leased_until = null, made_id = null, resource_ids = ${resourcesOf(key.path, body)}
        where tenant_id = ${tenantId} and key = ${name} and owner = ${owner}`;
      if (count === 0) throw inProgress();
    },
  };
}

function inProgress(): ApiError {
  return new ApiError("idempotency_in_progress", { headers: { "Retry-After": "1" } });
}
