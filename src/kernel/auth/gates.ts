import { ApiError, limitHeaders } from "../errors.ts";
import type { IdOf } from "../ids.ts";
import type { Principal } from "./authenticator.ts";
import type { RateLimiter } from "./rate-limit.ts";
import type { Tenant } from "./tenant.ts";

/** Checks every request: the tenant's subscription and its rate. Throws 402 or 429. */
export async function requestGate(principal: Principal, limiter: RateLimiter): Promise<void> {
  const { tenant } = principal;
  if (tenant.subscription !== "active") throw new ApiError("subscription_required");
  if (tenant.rateLimit === null) return;
  await rateGate(limiter, tenant.id, tenant.rateLimit);
}

/** Counts one request of a tenant or of a chat connection. Throws 429 `rate_limited` with `Retry-After` when this second has had all of its requests. */
export async function rateGate(
  limiter: RateLimiter,
  id: IdOf<"tenant"> | IdOf<"chatConnection">,
  perSecond: number,
): Promise<void> {
  const retryAfterSeconds = await limiter.take(id, perSecond);
  if (retryAfterSeconds > 0) {
    throw new ApiError("rate_limited", {
      message: `Too many requests: at most ${perSecond} a second.`,
      headers: limitHeaders(perSecond, retryAfterSeconds),
    });
  }
}

/**
 * Checks every new turn, wherever it comes from, before anything is written. The
 * day's quota is counted in the accepting statement itself. Throws 402, 409.
 */
export function turnGate(tenant: Tenant): void {
  if (tenant.subscription !== "active") throw new ApiError("subscription_required");
  if (tenant.deleting) throw new ApiError("tenant_deleting");
  if (tenant.usageCredit !== null && tenant.usageCredit <= 0) throw new ApiError("usage_credit_required");
}

/** Returns the error 429 `quota_exceeded`, with the seconds until the next UTC day as `Retry-After`. */
export function quotaExceeded(now: Date, turnsPerDay: number): ApiError {
  const midnight = Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate() + 1);
  const seconds = Math.max(1, Math.ceil((midnight - now.getTime()) / 1000));
  return new ApiError("quota_exceeded", {
    message: `The tenant's ${turnsPerDay} turns of this UTC day are used up.`,
    headers: limitHeaders(turnsPerDay, seconds),
  });
}
