import type { Principal } from "../auth/authenticator.ts";
import { isProven, type Proof, ProofNeededError } from "../auth/proof.ts";
import type { Ctx } from "../context.ts";
import { retryWhileUnavailable } from "../database/retry.ts";
import { ApiError, spell } from "../errors.ts";
import { memberOf, rememberClient, waitsUntil } from "./request.ts";

/**
 * Returns what `work` returns for who sent a request. With `in statement`, an API key that was looked up a moment ago is
 * not looked up first, but by the statement that does the work. Where the work is refused before that, the key is looked up after all, and the
 * work begins anew: who has no good credential is told nothing else. Throws as `authenticateRequest` and `work`.
 */
export async function asSender(
  ctx: Ctx,
  request: Request,
  proof: Proof,
  work: (principal: Principal) => Promise<Response>,
): Promise<Response> {
  const principal = await authenticateRequest(ctx, request, proof);
  try {
    const response = await work(principal);
    if (!isProven(principal)) throw new Error("A response was made for a credential that nobody has looked up.");
    noteUse(ctx, principal);
    return response;
  } catch (error) {
    if (isProven(principal)) noteUse(ctx, principal);
    if (isProven(principal) || !isRefusal(error)) throw error;
  }
  const known = await authenticateRequest(ctx, request, "known");
  noteUse(ctx, known);
  return work(known);
}

function noteUse({ keyUses }: Ctx, { keyId }: Principal): void {
  if (keyId !== null) keyUses.note(keyId);
}

/** Returns whether an error says that nothing was done. */
function isRefusal(error: unknown): boolean {
  return error instanceof ProofNeededError || (error instanceof ApiError && spell(error.reason, "b").status < 500);
}

/**
 * Returns who sent a request, which counts as that tenant's from here on. Throws 401, 429 `rate_limited` when the
 * tenant has too many requests in flight, 503.
 */
async function authenticateRequest(ctx: Ctx, request: Request, proof: Proof): Promise<Principal> {
  const authorization = request.headers.get("authorization");
  const recalled =
    proof === "in statement" && memberOf(request) === null ? ctx.authenticator.recall(authorization) : null;
  const principal = recalled ?? (await lookUp(ctx, request, authorization));
  if (principal.client !== null) rememberClient(request, principal.client);
  await ctx.slots.identify(request, principal.tenant);
  return principal;
}

async function lookUp(ctx: Ctx, request: Request, authorization: string | null): Promise<Principal> {
  const limitMs = waitsUntil(request) - Date.now();
  const member = memberOf(request);
  const find = () =>
    member === null ? ctx.authenticator.authenticate(authorization) : ctx.authenticator.authenticateMember(member);
  return retryWhileUnavailable(find, { limitMs }).catch((error: unknown) => {
    if (error instanceof ApiError && error.reason === "unauthorized") ctx.slots.refuse(request);
    throw error;
  });
}
