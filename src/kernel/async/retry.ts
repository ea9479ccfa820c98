import { sleep } from "./wait.ts";

interface RetryOptions {
  /** For all attempts together. An attempt that is under way at its end is not cut off. */
  readonly limitMs: number;
  /** The first pause. Each further one is twice as long, up to `pauseMsMax`. */
  readonly pauseMsMin: number;
  readonly pauseMsMax: number;
  /** Which errors are worth another attempt. */
  readonly retryIf: (error: unknown) => boolean;
}

/**
 * Repeats an attempt until it succeeds, with pauses that grow. An attempt is told how
 * many milliseconds are left. Returns its result; throws its error when `retryIf`
 * refuses it, or when the next attempt would begin after the limit.
 */
export async function retry<T>(
  attempt: (leftMs: number) => PromiseLike<T>,
  { limitMs, pauseMsMin, pauseMsMax, retryIf }: RetryOptions,
): Promise<T> {
  const expiresAt = Date.now() + limitMs;
  for (let pauseMs = pauseMsMin; ; pauseMs = Math.min(pauseMs * 2, pauseMsMax)) {
    try {
      return await attempt(expiresAt - Date.now());
    } catch (error) {
      if (!retryIf(error) || Date.now() + pauseMs > expiresAt) throw error;
      await sleep(pauseMs);
    }
  }
}
