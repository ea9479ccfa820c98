import { ApiError } from "../errors.ts";

/** `Retry-After` of a request that finds no room in its process, in seconds. */
const retryAfterSeconds = 1;

/** Returns the 429 `rate_limited` for a request that finds no room in its process. */
export function tooMany(message: string): ApiError {
  return new ApiError("rate_limited", { message, headers: { "Retry-After": String(retryAfterSeconds) } });
}
