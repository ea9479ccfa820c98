import type { ProviderType } from "../kernel/config.ts";
import type { AnySql, Tx } from "../kernel/database/client.ts";
import { violatedConstraint } from "../kernel/database/failure.ts";
import { olderThan, placeInTime, type TimePlace } from "../kernel/database/keyset.ts";
import { tx } from "../kernel/database/transaction.ts";
import { ApiError } from "../kernel/errors.ts";
import { byTime, type ListPartQuery, readListPart } from "../kernel/http/list-part.ts";
import type { IdOf } from "../kernel/ids.ts";
import { providersPerTenantMax } from "./schema.ts";

/** A provider as the database holds it. Its key is sealed under its id. */
export interface ProviderRow {
  readonly id: IdOf<"provider">;
  readonly tenantId: string;
  readonly name: string;
  readonly providerType: ProviderType;
  readonly baseUrl: string | null;
  readonly sealedKey: Uint8Array;
  readonly keyFragment: string;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** The fields of a new provider; `id` is chosen first, because the key is sealed under it. */
export type NewProvider = Omit<ProviderRow, "tenantId" | "createdAt" | "updatedAt">;

function columns(sql: AnySql) {
  return sql`id, tenant_id, name, provider_type, base_url,
    sealed_key, key_fragment, created_at, updated_at`;
}

/** Returns a tenant's provider; null when there is none or it is another tenant's. */
export async function findProvider(sql: AnySql, tenantId: string, providerId: string): Promise<ProviderRow | null> {
  const [row] = await sql<ProviderRow[]>`
    select ${columns(sql)} from providers where id = ${providerId} and tenant_id = ${tenantId}`;
  return row ?? null;
}

/**
 * Returns a tenant's provider and keeps it from being deleted until the transaction ends;
 * null when there is none. Every caller that saves a reference to a provider calls this
 * first: a concurrent delete then either sees the reference or makes this return null.
 */
export async function lockProvider(tx: Tx, tenantId: string, providerId: string): Promise<ProviderRow | null> {
  const [row] = await tx<ProviderRow[]>`
    select ${columns(tx)} from providers where id = ${providerId} and tenant_id = ${tenantId} for key share`;
  return row ?? null;
}

/** Returns a tenant's providers, most recently updated first. Throws 400 as `readListPart`. */
export function listProviders(sql: AnySql, tenantId: string, query: ListPartQuery) {
  return readListPart(["providers", tenantId], query, byTime, (place, rowsMax) => {
    return sql<(ProviderRow & TimePlace)[]>`
      select ${columns(sql)}, ${placeInTime(sql, "updated_at")} from providers
      where tenant_id = ${tenantId} ${olderThan(sql, place, "updated_at", "id")}
      order by updated_at desc, id desc limit ${rowsMax}`;
  });
}

/** Stores a provider and returns its row. Throws 400 `provider_limit_reached`, 409 `provider_name_conflict`. */
export function createProvider(sql: AnySql, tenantId: string, provider: NewProvider): Promise<ProviderRow> {
  const { id, name, providerType, baseUrl, sealedKey, keyFragment } = provider;
  return tx(sql, async (inner) => {
    // The lock on the tenant's row keeps concurrent creations from exceeding the limit.
    await inner`select 1 from tenants where id = ${tenantId} for no key update`;
    const [count] = await inner<{ providers: number }[]>`
      select count(*)::int as providers from providers where tenant_id = ${tenantId}`;
    if ((count?.providers ?? 0) >= providersPerTenantMax) throw new ApiError("provider_limit_reached");
    const [row] = await orNameConflict(
      inner<ProviderRow[]>`
        insert into providers (id, tenant_id, name, provider_type, base_url, sealed_key, key_fragment)
        values (${id}, ${tenantId}, ${name}, ${providerType}, ${baseUrl}, ${sealedKey}, ${keyFragment})
        returning ${columns(inner)}`,
    );
    return row as ProviderRow;
  });
}

/** Renames a provider and returns its row. Throws 404 `provider_not_found`, 409 `provider_name_conflict`. */
export async function renameProvider(sql: AnySql, tenantId: string, id: string, name: string): Promise<ProviderRow> {
  const [row] = await orNameConflict(
    sql<ProviderRow[]>`
      update providers set name = ${name}, updated_at = now()
      where id = ${id} and tenant_id = ${tenantId} returning ${columns(sql)}`,
  );
  if (row === undefined) throw new ApiError("provider_not_found");
  return row;
}

async function orNameConflict<T>(write: PromiseLike<T>): Promise<T> {
  try {
    return await write;
  } catch (error) {
    if (violatedConstraint(error) === "providers_name") throw new ApiError("provider_name_conflict");
    throw error;
  }
}
