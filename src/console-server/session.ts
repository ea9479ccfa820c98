import { consoleOperator } from "../installation/operator-audit.ts";
import type { Ctx } from "../kernel/context.ts";
import { retryWhileUnavailable } from "../kernel/database/retry.ts";
import { ApiError } from "../kernel/errors.ts";
import { waitsUntil } from "../kernel/http/request.ts";
import type { IdOf } from "../kernel/ids.ts";
import { sameText } from "../kernel/seal.ts";
import { secretsIn } from "./cookie.ts";
import type { Person } from "./oidc/person.ts";
import { requireCsrfToken, requireOwnPage } from "./own-page.ts";
import type { Secret } from "./secret.ts";
import { type StoredSession, usePageSession } from "./store.ts";

/** As whom requests of a session are made: each of them is checked with it again, so the session ends with its key, token or member. */
export type Sender = { readonly credential: string } | { readonly memberId: IdOf<"member"> };

interface Common {
  readonly secret: Secret;
  readonly expiresAt: Date;
  /** Who signed in by the identity provider; null: somebody with a key or a token. */
  readonly person: SessionPerson | null;
}

/** Who sent a request of the page. A `person` has chosen neither a tenant nor to be an operator. */
export type PageSession = Common &
  (
    | { readonly kind: "tenant"; readonly tenantId: string; readonly sender: Sender }
    | { readonly kind: "operator"; readonly account: string }
    | { readonly kind: "person" }
  );

/** A person as the session has them. */
export interface SessionPerson extends Person {
  readonly emailKey: string;
  /** By the group of operators, as the provider said at the sign-in. */
  readonly isOperator: boolean;
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
  return sessionOf(ctx, secret, stored);
}

function sessionOf(ctx: Ctx, secret: Secret, stored: StoredSession): PageSession {
  const { tenantId, memberId, emailKey, asOperator, expiresAt } = stored;
  const credential = secret.unlock(stored.lockedCredential);
  if (emailKey === null) {
    const common = { secret, expiresAt, person: null };
    if (tenantId !== null) return { ...common, kind: "tenant", tenantId, sender: { credential } };
    if (!isOperatorToken(ctx, credential)) throw signedOut();
    return { ...common, kind: "operator", account: consoleOperator.id };
  }
  const said = JSON.parse(credential) as Person;
  const person = { ...said, emailKey, isOperator: isOperatorByGroup(ctx, said) };
  const common = { secret, expiresAt, person };
  if (tenantId !== null && memberId !== null) return { ...common, kind: "tenant", tenantId, sender: { memberId } };
  if (asOperator && person.isOperator) return { ...common, kind: "operator", account: person.email };
  return { ...common, kind: "person" };
}

/** Returns the session of an operator, whose requests share a bound with other operators'. Throws as `requirePageSession`, and 404 for any other session. */
export async function requireOperator(
  ctx: Ctx,
  request: Request,
): Promise<Extract<PageSession, { readonly kind: "operator" }>> {
  const session = await requirePageSession(ctx, request);
  if (session.kind !== "operator") throw new ApiError("not_found");
  await ctx.slots.identify(request, { id: "operator", form: "b" });
  return session;
}

/** Returns whether a credential is OPERATOR_TOKEN. */
export function isOperatorToken({ config }: Ctx, credential: string): boolean {
  return config.operatorToken !== null && sameText(credential, config.operatorToken);
}

/** Returns whether a person is in the group of operators. */
export function isOperatorByGroup({ config }: Ctx, { groups }: Pick<Person, "groups">): boolean {
  const group = config.consoleOidc?.operatorGroup ?? null;
  return group !== null && groups.includes(group);
}

/** Returns the error 401 of a request without a session. */
export function signedOut(): ApiError {
  return new ApiError("unauthorized", { message: "Sign in to the console." });
}
