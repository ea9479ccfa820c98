import { type AnySql, json, type Tx } from "../kernel/database/client.ts";
import { tx } from "../kernel/database/transaction.ts";
import { ApiError } from "../kernel/errors.ts";
import type { IdOf } from "../kernel/ids.ts";
import type { BillingEnvironment, BillingProviderName, GuardRule, MerchantConnection } from "./schema.ts";

/** A connection as the database holds it. Its credential is sealed under its id. */
export interface MerchantConnectionRow {
  readonly id: IdOf<"merchantConnection">;
  readonly tenantId: string;
  readonly provider: BillingProviderName;
  readonly environment: BillingEnvironment;
  readonly status: "active" | "disconnected";
  readonly merchantAccountId: string;
  readonly sealedCredential: Uint8Array;
  readonly keyFragment: string;
  readonly guard: GuardRule;
  readonly configVersion: number;
  readonly retired: boolean;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** The fields of a new connection; `id` is chosen before, because the credential is sealed under it. */
export type NewMerchantConnection = Omit<
  MerchantConnectionRow,
  "status" | "configVersion" | "retired" | "createdAt" | "updatedAt"
>;

/** The fields that an update changes; what is undefined stays. */
export interface MerchantConnectionChange {
  readonly sealedCredential: Uint8Array | undefined;
  readonly keyFragment: string | undefined;
  readonly status: "active" | "disconnected" | undefined;
  readonly guard: GuardRule | undefined;
}

function columns(sql: AnySql) {
  return sql`id, tenant_id, provider, environment, status, merchant_account_id,
    sealed_credential, key_fragment, guard, config_version,
    retired_at is not null as retired, created_at, updated_at`;
}

/** Returns the tenant's current connection; null when it has none. */
export async function findCurrentConnection(sql: AnySql, tenantId: string): Promise<MerchantConnectionRow | null> {
  const [row] = await sql<MerchantConnectionRow[]>`
    select ${columns(sql)} from merchant_connections where tenant_id = ${tenantId} and retired_at is null`;
  return row ?? null;
}

/** Returns the tenant's current connection. Throws 404 `merchant_connection_not_found`. */
export async function getCurrentConnection(sql: AnySql, tenantId: string): Promise<MerchantConnectionRow> {
  const row = await findCurrentConnection(sql, tenantId);
  if (row === null) throw new ApiError("merchant_connection_not_found");
  return row;
}

/** Returns any connection, also a replaced or deleted one, because its events are delivered with it. */
export async function findMerchantConnection(sql: AnySql, id: string): Promise<MerchantConnectionRow | null> {
  const [row] = await sql<MerchantConnectionRow[]>`select ${columns(sql)} from merchant_connections where id = ${id}`;
  return row ?? null;
}

/** Stores a connection in place of the current one, which is retired with its bindings. */
export function replaceCurrentConnection(sql: AnySql, made: NewMerchantConnection): Promise<MerchantConnectionRow> {
  return tx(sql, async (inner) => {
    // The tenant's row is the lock that makes concurrent replacements run one after the other.
    await inner`select 1 from tenants where id = ${made.tenantId} for no key update`;
    await retire(inner, made.tenantId);
    const [row] = await inner<MerchantConnectionRow[]>`
      insert into merchant_connections
        (id, tenant_id, provider, environment, merchant_account_id, sealed_credential, key_fragment, guard)
      values (${made.id}, ${made.tenantId}, ${made.provider}, ${made.environment}, ${made.merchantAccountId},
        ${made.sealedCredential}, ${made.keyFragment}, ${json(inner, made.guard)})
      returning ${columns(inner)}`;
    return row as MerchantConnectionRow;
  });
}

/**
 * Changes a connection while it is current, and returns it as it was and as it is. Its version rises with each change that
 * says anything, what is there already too: by that a caller has customers asked for anew (`guard.ts`). Throws 404
 * `merchant_connection_not_found`.
 */
export async function changeMerchantConnection(
  inner: Tx,
  id: IdOf<"merchantConnection">,
  change: MerchantConnectionChange,
): Promise<{ before: MerchantConnectionRow; after: MerchantConnectionRow }> {
  const [before] = await inner<MerchantConnectionRow[]>`
    select ${columns(inner)} from merchant_connections where id = ${id} and retired_at is null for no key update`;
  if (before === undefined) throw new ApiError("merchant_connection_not_found");
  const { sealedCredential = before.sealedCredential, keyFragment = before.keyFragment } = change;
  const { status = before.status, guard = before.guard } = change;
  if (Object.values(change).every((value) => value === undefined)) return { before, after: before };
  const [after] = await inner<MerchantConnectionRow[]>`
    update merchant_connections set sealed_credential = ${sealedCredential}, key_fragment = ${keyFragment},
      status = ${status}, guard = ${json(inner, guard)}, config_version = config_version + 1, updated_at = now()
    where id = ${id} returning ${columns(inner)}`;
  return { before, after: after as MerchantConnectionRow };
}

/** Retires the tenant's current connection. Throws 404 `merchant_connection_not_found`. */
export async function deleteCurrentConnection(sql: AnySql, tenantId: string): Promise<void> {
  if ((await retire(sql, tenantId)) === 0) throw new ApiError("merchant_connection_not_found");
}

async function retire(sql: AnySql | Tx, tenantId: string): Promise<number> {
  const { count } = await sql`
    update merchant_connections set retired_at = now() where tenant_id = ${tenantId} and retired_at is null`;
  return count;
}

/** Retires the connections of a deleted tenant. A credential that pending events still need is deleted with the last of them. */
export async function retireTenantConnections(sql: AnySql, tenantId: string): Promise<void> {
  await retire(sql, tenantId);
  const rows = await sql<
    { id: IdOf<"merchantConnection"> }[]
  >`select id from merchant_connections where tenant_id = ${tenantId}`;
  for (const { id } of rows) await deleteUnneededCredential(sql, id);
}

/** Deletes the credential of a connection whose tenant is deleted, unless events of it are still to be sent. */
export async function deleteUnneededCredential(sql: AnySql, id: string): Promise<void> {
  await sql`
    update merchant_connections c set sealed_credential = '', key_fragment = ''
    from tenants t
    where c.id = ${id} and t.id = c.tenant_id and t.deleted_at is not null and not exists (
      select 1 from merchant_events e
      where e.connection_id = c.id and e.status = 'pending' and (e.sending_by is not null or e.next_attempt_at is not null))`;
}

/** Returns a row in the interface's form. */
export function showMerchantConnection(row: MerchantConnectionRow): MerchantConnection {
  const { id, provider, environment, status, merchantAccountId, keyFragment, guard, configVersion } = row;
  return {
    id,
    provider,
    environment,
    status,
    merchantAccountId,
    keyFragment,
    guard,
    configVersion,
    createdAt: row.createdAt.toISOString(),
    updatedAt: row.updatedAt.toISOString(),
  };
}
