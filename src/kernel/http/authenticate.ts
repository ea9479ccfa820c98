import type { Principal } from "../auth/authenticator.ts";
import type { Ctx } from "../context.ts";
import { retryWhileUnavailable } from "../database/retry.ts";
import { ApiError } from "../errors.ts";
import { rememberClient, waitsUntil } from "./request.ts";

/**
 * Returns who sent a request, which counts as that tenant's from here on. Throws 401, 429
 * `rate_limited` when the tenant has too many requests in flight, 503.
 */
export async function authenticateRequest(ctx: Ctx, request: Request): Promise<Principal> {
  const principal = await retryWhileUnavailable(
    () => ctx.authenticator.authenticate(request.headers.get("authorization")),
    { limitMs: waitsUntil(request) - Date.now() },
  ).catch((error: unknown) => {
    if (error instanceof ApiError && error.reason === "unauthorized") ctx.slots.refuse(request);
    throw error;
  });
  if (principal.client !== null) rememberClient(request, principal.client);
  await ctx.slots.identify(request, principal.tenant);
  return principal;
}
