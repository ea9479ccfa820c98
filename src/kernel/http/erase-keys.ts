import type { AnySql } from "../database/client.ts";
import { eraseRowsMax, type Pace } from "../database/pace.ts";

/** Deletes the Idempotency-Keys of a tenant that has ended, in batches. */
export async function eraseTenantKeys(sql: AnySql, tenantId: string, pace: Pace): Promise<void> {
  for (;;) {
    pace.step();
    const { count } = await sql`
      delete from idempotency_keys where (tenant_id, key) in (
        select tenant_id, key from idempotency_keys where tenant_id = ${tenantId} limit ${eraseRowsMax})`;
    if (count < eraseRowsMax) return;
  }
}
