import { retry } from "../async/retry.ts";
import { within } from "../async/wait.ts";
import { databaseWaitMs } from "../limits.ts";
import { DeadlineError } from "./deadline.ts";
import { isTransient } from "./failure.ts";

/** Pauses between the attempts. */
const pauseMsMin = 50;
const pauseMsMax = 1_000;

/** An overrun of less than this is not worth a timer. */
const timerWorthMs = 500;

interface RetryWhileUnavailableOptions {
  /** For all attempts together. */
  readonly limitMs?: number;
  /** Which errors are worth another attempt. */
  readonly retryIf?: (error: unknown) => boolean;
}

/**
 * Repeats a query that met an unavailable database: a short outage is not an error.
 * Only for reads, and for writes that may be done twice. Returns what the first
 * successful attempt returns; throws the last error, or a `DeadlineError` when the
 * last attempt outlives the limit.
 */
export async function retryWhileUnavailable<T>(
  query: () => PromiseLike<T>,
  { limitMs = databaseWaitMs, retryIf = isTransient }: RetryWhileUnavailableOptions = {},
): Promise<T> {
  const attempt = (leftMs: number) => {
    // A query keeps to `databaseWaitMs` by itself; a timer costs too much where that is the nearer limit.
    if (leftMs > databaseWaitMs - timerWorthMs) return query();
    return within(query(), leftMs, () => {
      throw new DeadlineError("The database did not come back in time.");
    });
  };
  return retry(attempt, { limitMs, pauseMsMin, pauseMsMax, retryIf });
}
