import type { Ctx } from "../kernel/context.ts";
import { retryWhileUnavailable } from "../kernel/database/retry.ts";
import { ApiError } from "../kernel/errors.ts";
import { waitsUntil } from "../kernel/http/request.ts";
import { sameText } from "../kernel/seal.ts";
import { secretsIn } from "./cookie.ts";
import { requireCsrfToken, requireOwnPage } from "./own-page.ts";
import type { Secret } from "./secret.ts";
import { usePageSession } from "./store.ts";

/** Who sent a request of the page. */
export interface PageSession {
  readonly kind: "tenant" | "operator";
  readonly secret: Secret;
  /** What was signed in with. Each request is checked with it again, so a session ends with its key or token. */
  readonly credential: string;
  readonly expiresAt: Date;
}

/**
 * Returns the session of a request of the page. Throws 401 `unauthorized` without one, 403
 * `foreign_request` for a request from elsewhere or without the page's token.
 */
export async function requirePageSession(ctx: Ctx, request: Request): Promise<PageSession> {
  requireOwnPage(request, ctx.publicUrl);
  const secrets = secretsIn(request, ctx.publicUrl);
  if (secrets.length === 0) throw signedOut();
  const limitMs = waitsUntil(request) - Date.now();
  const found = await Promise.all(
    secrets.map(async (secret) => {
      const stored = await retryWhileUnavailable(() => usePageSession(ctx.authSql, secret), { limitMs });
      return stored === null ? [] : [{ secret, stored }];
    }),
  );
  const [live, ...others] = found.flat();
  // A left-over cookie has no session. Of two sessions one may be a stranger's, whose page could set it.
  if (live === undefined || others.length > 0) {
    ctx.slots.refuse(request);
    throw signedOut();
  }
  const { secret, stored } = live;
  requireCsrfToken(request, secret);
  const credential = secret.unlock(stored.lockedCredential);
  const kind = stored.tenantId === null ? "operator" : "tenant";
  if (kind === "operator" && !isOperatorToken(ctx, credential)) throw signedOut();
  return { kind, secret, credential, expiresAt: stored.expiresAt };
}

/** Returns the session of an operator, whose requests share a bound with other operators'. Throws as `requirePageSession`, and 404 for a tenant's session. */
export async function requireOperator(ctx: Ctx, request: Request): Promise<PageSession> {
  const session = await requirePageSession(ctx, request);
  if (session.kind !== "operator") throw new ApiError("not_found");
  await ctx.slots.identify(request, { id: "operator", form: "b" });
  return session;
}

/** Returns whether a credential is OPERATOR_TOKEN. */
export function isOperatorToken({ config }: Ctx, credential: string): boolean {
  return config.operatorToken !== null && sameText(credential, config.operatorToken);
}

function signedOut(): ApiError {
  return new ApiError("unauthorized", { message: "Sign in to the console." });
}
