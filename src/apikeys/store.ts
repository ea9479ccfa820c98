import { tokenBodyLength } from "../kernel/auth/authenticator.ts";
import { keyPrefix } from "../kernel/auth/bearer.ts";
import { randomToken } from "../kernel/auth/random-token.ts";
import type { AnySql } from "../kernel/database/client.ts";
import { newerThan, placeInTime, type TimePlace } from "../kernel/database/keyset.ts";
import { tx } from "../kernel/database/transaction.ts";
import { ApiError } from "../kernel/errors.ts";
import { byTime, type ListPartEnd, type ListPartQuery, readListPart } from "../kernel/http/list-part.ts";
import { type IdOf, newId } from "../kernel/ids.ts";
import { digest, fragment } from "../kernel/seal.ts";
import { type ApiKey, apiKeysPerTenantMax } from "./schema.ts";

interface ApiKeyRow {
  id: IdOf<"apiKey">;
  name: string;
  fragment: string;
  createdAt: Date;
  expiresAt: Date | null;
}

/**
 * Creates a key; its token is returned here and stored nowhere. Throws 400
 * `invalid_request` at the cap of five, expired keys included.
 */
export function createApiKey(
  sql: AnySql,
  tenantId: string,
  name: string,
  expiresAt: Date | null,
): Promise<{ apiKey: ApiKey; token: string }> {
  const token = randomToken(keyPrefix, tokenBodyLength);
  return tx(sql, async (inner) => {
    // The tenant's row is the lock that makes the count hold.
    await inner`select 1 from tenants where id = ${tenantId} for no key update`;
    const [count] = await inner<
      { keys: number }[]
    >`select count(*)::int as keys from api_keys where tenant_id = ${tenantId}`;
    if ((count?.keys ?? 0) >= apiKeysPerTenantMax) {
      throw new ApiError("invalid_request", {
        message: `A tenant has at most ${apiKeysPerTenantMax} API keys; delete one first.`,
      });
    }
    const [row] = await inner<ApiKeyRow[]>`
      insert into api_keys (id, tenant_id, name, digest, fragment, expires_at)
      values (${newId("apiKey")}, ${tenantId}, ${name}, ${digest(token)}, ${fragment(token)}, ${expiresAt})
      returning id, name, fragment, created_at, expires_at`;
    return { apiKey: showApiKey(row as ApiKeyRow), token };
  });
}

/** Returns a tenant's keys, oldest first. Throws 400 as `readListPart`. */
export async function listApiKeys(
  sql: AnySql,
  tenantId: string,
  query: ListPartQuery,
): Promise<{ apiKeys: ApiKey[] } & ListPartEnd> {
  const { rows, end } = await readListPart(["apikeys", tenantId], query, byTime, (place, rowsMax) => {
    return sql<(ApiKeyRow & TimePlace)[]>`
      select id, name, fragment, created_at, expires_at, ${placeInTime(sql, "created_at")} from api_keys
      where tenant_id = ${tenantId} ${newerThan(sql, place, "created_at", "id")}
      order by created_at, id limit ${rowsMax}`;
  });
  return { apiKeys: rows.map(showApiKey), ...end };
}

/** Deletes a key for good; its next request is 401. Throws 404. */
export async function deleteApiKey(sql: AnySql, tenantId: string, id: string): Promise<void> {
  const { count } = await sql`delete from api_keys where id = ${id} and tenant_id = ${tenantId}`;
  if (count === 0) throw new ApiError("not_found");
}

function showApiKey(row: ApiKeyRow): ApiKey {
  return {
    id: row.id,
    name: row.name,
    keyFragment: row.fragment,
    createdAt: row.createdAt.toISOString(),
    expiresAt: row.expiresAt?.toISOString() ?? null,
  };
}
