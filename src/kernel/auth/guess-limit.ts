import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from "rate-limiter-flexible";
import type { RedisClient } from "../relay/redis-connection.ts";

/** Wrong sign-ins of one address within `guessWindowSeconds`. */
export const guessesMax = 20;
const guessWindowSeconds = 60;

/** Counts wrong sign-ins by the address that they come from. */
export interface GuessLimiter {
  /** Counts a sign-in, before it is known whether it is right. Returns 0 while its address has guesses left, else the seconds to wait. */
  count(address: string): Promise<number>;
  /** Takes a sign-in back that was right. */
  forgive(address: string): Promise<void>;
}

/** Returns the limiter of sign-ins. With Redis it is shared by all HTTP processes; while Redis is away each process counts for itself. */
export function createGuessLimiter(redis: RedisClient | null): GuessLimiter {
  const local = { points: guessesMax, duration: guessWindowSeconds, keyPrefix: "parley:guess" };
  const memory = new RateLimiterMemory(local);
  const limiter =
    redis === null ? memory : new RateLimiterRedis({ ...local, storeClient: redis, insuranceLimiter: memory });
  return {
    async count(address) {
      try {
        await limiter.consume(blockOf(address));
        return 0;
      } catch (refusal) {
        if (refusal instanceof RateLimiterRes) return Math.max(1, Math.ceil(refusal.msBeforeNext / 1000));
        throw refusal;
      }
    },
    async forgive(address) {
      await limiter.reward(blockOf(address));
    },
  };
}

/** Returns what is counted together: an IPv4 address, or the first half of an IPv6 address, of which one machine may have all. */
function blockOf(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped !== undefined || !address.includes(":")) return mapped ?? address;
  const [head = "", tail] = address.toLowerCase().split("::");
  const groups = head === "" ? [] : head.split(":");
  const after = tail === undefined || tail === "" ? [] : tail.split(":");
  const missing = tail === undefined ? 0 : 8 - groups.length - after.length;
  return [...groups, ...Array<string>(Math.max(0, missing)).fill("0"), ...after].slice(0, 4).join(":");
}
