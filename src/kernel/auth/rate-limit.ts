import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from "rate-limiter-flexible";
import type { IdOf } from "../ids.ts";
import type { RedisClient } from "../relay/redis-connection.ts";

/** Counts requests: a tenant's, and those that a platform makes for one chat connection. */
export interface RateLimiter {
  /** Counts one request of this second. Returns 0 when it is allowed, else the seconds to wait. */
  take(id: IdOf<"tenant"> | IdOf<"chatConnection">, perSecond: number): Promise<number>;
}

const windowSeconds = 1;

/**
 * Returns the limiter of request rates: a tenant's over all its keys, a chat connection's over all
 * senders. With Redis it is shared by all HTTP processes; while Redis is away each process counts for itself.
 */
export function createRateLimiter(redis: RedisClient | null): RateLimiter {
  const limiters = new Map<number, RateLimiterMemory | RateLimiterRedis>();
  const limiterFor = (perSecond: number) => {
    let limiter = limiters.get(perSecond);
    if (limiter === undefined) {
      const local = { points: perSecond, duration: windowSeconds, keyPrefix: `rate:${perSecond}` };
      limiter =
        redis === null
          ? new RateLimiterMemory(local)
          : new RateLimiterRedis({
              ...local,
              storeClient: redis,
              keyPrefix: `parley:rate:${perSecond}`,
              insuranceLimiter: new RateLimiterMemory(local),
            });
      limiters.set(perSecond, limiter);
    }
    return limiter;
  };
  return {
    async take(id, perSecond) {
      if (perSecond === 0) return windowSeconds;
      try {
        await limiterFor(perSecond).consume(id);
        return 0;
      } catch (refusal) {
        if (refusal instanceof RateLimiterRes) return Math.max(1, Math.ceil(refusal.msBeforeNext / 1000));
        throw refusal;
      }
    },
  };
}
