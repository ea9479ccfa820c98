import { sleep } from "../async/wait.ts";

/** A statement that changes a table waits this long for its lock: as long, everybody who comes after it waits too. */
export const schemaLockMs = 2_000;
/** Then it lets them pass for this long, and tries again. */
const pauseMs = 500;
/** It is tried for this long. */
const patienceMs = 60_000;
/** Postgres' code for a lock that was not got in time. */
const lockNotAvailable = "55P03";

/**
 * Does work whose statements give up on a lock after `schemaLockMs`, again and again until
 * it gets its locks, or for a minute. The work is one transaction, or safe to repeat.
 * Throws what it throws.
 */
export async function withShortLocks<T>(work: () => Promise<T>): Promise<T> {
  const expiresAt = Date.now() + patienceMs;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      const { code } = (error ?? {}) as { readonly code?: unknown };
      if (code !== lockNotAvailable || Date.now() > expiresAt) throw error;
      await sleep(pauseMs);
    }
  }
}
