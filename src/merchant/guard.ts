import type { Tenant } from "../kernel/auth/tenant.ts";
import type { Ctx } from "../kernel/context.ts";
import type { Sql } from "../kernel/database/client.ts";
import { ApiError } from "../kernel/errors.ts";
import type { IdOf } from "../kernel/ids.ts";
import { openMerchantAccount } from "./connect.ts";
import { EligibilityCache } from "./eligibility.ts";
import { faultOf } from "./fault.ts";
import { checkTimeoutMs, type Eligibility } from "./provider.ts";
import { findCurrentConnection, type MerchantConnectionRow } from "./store.ts";

/** One cache per process, kept with its context. */
const caches = new WeakMap<Ctx, EligibilityCache>();

/**
 * The merchant guard, which every new turn passes, however it is sent:
 * it checks the end user's plan or balance with the tenant's billing provider
 * (docs/decisions/billing.md). Costs nothing while the tenant's monetization is
 * off.
 *
 * Throws 402 `merchant_subscription_required` or `merchant_balance_required`, 403
 * `merchant_customer_unmapped`, 503 `merchant_eligibility_unavailable`.
 */
export async function merchantGuard(ctx: Ctx, tenant: Tenant, userId: string): Promise<void> {
  if (!tenant.monetization) return;
  const connection = await findCurrentConnection(ctx.sql, tenant.id);
  if (connection === null || !connection.guard.enabled) return;
  if (connection.status !== "active") throw new ApiError("merchant_eligibility_unavailable");
  const customerId = await customerOf(ctx.sql, connection.id, userId);
  if (customerId === null) throw new ApiError("merchant_customer_unmapped");
  const { subscribed, funded } = await eligibilityOf(ctx, connection, customerId);
  if (!subscribed) throw new ApiError("merchant_subscription_required");
  if (!funded) throw new ApiError("merchant_balance_required");
}

async function customerOf(sql: Sql, connectionId: IdOf<"merchantConnection">, userId: string): Promise<string | null> {
  const [row] = await sql<{ customerId: string }[]>`
    select customer_id from merchant_bindings where connection_id = ${connectionId} and user_id = ${userId}`;
  return row?.customerId ?? null;
}

async function eligibilityOf(ctx: Ctx, connection: MerchantConnectionRow, customerId: string): Promise<Eligibility> {
  const cache = caches.get(ctx) ?? new EligibilityCache();
  caches.set(ctx, cache);
  const key = `${connection.id}:${connection.configVersion}:${customerId}`;
  try {
    return await cache.read(key, () =>
      openMerchantAccount(ctx, connection, checkTimeoutMs).eligibility(customerId, connection.guard),
    );
  } catch (error) {
    const { kind, reason } = faultOf(error);
    ctx.log.warn({ tenantId: connection.tenantId, kind, reason }, "an end user's plan cannot be checked");
    throw new ApiError("merchant_eligibility_unavailable");
  }
}
