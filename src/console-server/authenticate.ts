import type { Principal } from "../kernel/auth/authenticator.ts";
import type { Ctx } from "../kernel/context.ts";
import { retryWhileUnavailable } from "../kernel/database/retry.ts";
import { ApiError } from "../kernel/errors.ts";
import { waitsUntil } from "../kernel/http/request.ts";
import type { Sender } from "./session.ts";

/** Returns who holds an API key or a dashboard JWT, or is a member. Throws 401 for any other credential, and for who is a member no more. */
export async function authenticate(ctx: Ctx, request: Request, sender: Sender): Promise<Principal> {
  const find = () =>
    "memberId" in sender
      ? ctx.authenticator.authenticateMember(sender.memberId)
      : ctx.authenticator.authenticate(`Bearer ${sender.credential}`);
  const principal = await retryWhileUnavailable(find, { limitMs: waitsUntil(request) - Date.now() });
  if (!["api_key", "dashboard", "member"].includes(principal.kind)) throw new ApiError("unauthorized");
  return principal;
}
