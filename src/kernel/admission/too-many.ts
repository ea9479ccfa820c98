import { ApiError, limitHeaders } from "../errors.ts";

/** `Retry-After` of a request that finds no room in its process, in seconds. */
const retryAfterSeconds = 1;

/** Returns the 429 `rate_limited` for a request that finds no room in its process, where this many have it at once. */
export function tooMany(message: string, limit: number): ApiError {
  return new ApiError("rate_limited", {
    message: `${message} At most ${limit}.`,
    headers: limitHeaders(limit, retryAfterSeconds),
  });
}
