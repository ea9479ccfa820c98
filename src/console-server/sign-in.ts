import { Type } from "@sinclair/typebox";
import { decodeJwt } from "jose";
import { consoleOperator } from "../installation/operator-audit.ts";
import { StrangeBodies } from "../kernel/admission/strange-bodies.ts";
import { recordAudit } from "../kernel/audit/record.ts";
import type { Principal } from "../kernel/auth/authenticator.ts";
import { requestGate } from "../kernel/auth/gates.ts";
import type { AccessRole } from "../kernel/auth/roles.ts";
import type { Ctx } from "../kernel/context.ts";
import { retryWhileUnavailable } from "../kernel/database/retry.ts";
import { tx } from "../kernel/database/transaction.ts";
import { ApiError, invalid } from "../kernel/errors.ts";
import { jsonOfPieces } from "../kernel/http/json-body.ts";
import { requestIdOf, waitAnew, waitsUntil } from "../kernel/http/request.ts";
import { Closed } from "../kernel/http/request-fields.ts";
import { validateBody } from "../kernel/http/validate.ts";
import { peerAddress } from "../kernel/runtime.ts";
import { version } from "../kernel/version.ts";
import { noCookie, secretsIn, sessionCookie } from "./cookie.ts";
import { requireOwnOrigin } from "./own-page.ts";
import { newSecret, readSecret, type Secret } from "./secret.ts";
import { isOperatorToken, requirePageSession } from "./session.ts";
import { deletePageSession, insertPageSession, sessionIdleSeconds, takeLink } from "./store.ts";

/** A sign-in is a credential and nothing else; its sender is not known yet, and may send no more than that. */
const signInBytesMax = 16 * 1024;
const SignIn = Closed({
  apiKey: Type.Optional(Type.String({ minLength: 1 })),
  token: Type.Optional(Type.String({ minLength: 1 })),
  code: Type.Optional(Type.String({ minLength: 1 })),
});

/** Sign-ins whose bodies come at once: 16 MiB at most, and each within milliseconds where the sender does not delay it. */
const bodiesMax = 1_024;
const bodies = new StrangeBodies(bodiesMax);

/** Whom a credential stands for. */
type SignedIn =
  | { readonly kind: "operator"; readonly credential: string }
  | { readonly kind: "tenant"; readonly credential: string; readonly principal: Principal };

/** Signs in: makes a session and its cookie. Throws 400, 401, 402, 403 `foreign_request`, 429 after too many wrong credentials. */
export async function respondToSignIn(ctx: Ctx, request: Request): Promise<Response> {
  requireOwnOrigin(request, ctx.publicUrl);
  const given = await readSignIn(request);
  const operator = "credential" in given && isOperatorToken(ctx, given.credential) ? given.credential : null;
  // Right away, and with separate places: nothing that strangers do keeps operators out when they are needed.
  if (operator !== null) await ctx.slots.identify(request, { id: "operator", form: "b" });
  await ctx.slots.resume(request);
  const who: SignedIn =
    operator === null
      ? await countingGuesses(ctx, request, () => findWho(ctx, request, given))
      : { kind: "operator", credential: operator };
  if (who.kind === "tenant") {
    await ctx.slots.identify(request, who.principal.tenant);
    await requestGate(who.principal, ctx.rateLimiter);
  }
  const secret = newSecret();
  const shown = who.kind === "tenant" ? await describeTenant(ctx, who.principal) : operatorShown;
  const before = secretsIn(request, ctx.publicUrl);
  const tenantId = who.kind === "tenant" ? who.principal.tenant.id : null;
  const endsAt = earlier(who.kind === "tenant" ? expiryOfToken(who) : null, shown.endsAt);
  const expiresAt = await tx(ctx.sql, async (inner) => {
    for (const secret of before) await deletePageSession(inner, secret);
    await recordAudit(inner, {
      tenantId,
      actor: who.kind === "tenant" ? who.principal.actor : consoleOperator,
      action: "console_session.create",
      resourceId: null,
      requestId: requestIdOf(request),
      changes: [],
    });
    return insertPageSession(inner, { secret, tenantId, credential: who.credential, endsAt });
  });
  const cookie = sessionCookie(ctx.publicUrl, secret, expiresAt);
  return Response.json(sessionShown(ctx, shown.principal, secret, expiresAt), { headers: { "Set-Cookie": cookie } });
}

/** Returns the session of the page. Throws 401, 402, 429 as any operation. */
export async function respondWithSession(ctx: Ctx, request: Request): Promise<Response> {
  const session = await requirePageSession(ctx, request);
  if (session.kind === "operator")
    return Response.json(sessionShown(ctx, operatorShown.principal, session.secret, session.expiresAt));
  const principal = await authenticate(ctx, request, session.credential);
  await ctx.slots.identify(request, principal.tenant);
  await requestGate(principal, ctx.rateLimiter);
  const { principal: shown } = await describeTenant(ctx, principal);
  return Response.json(sessionShown(ctx, shown, session.secret, session.expiresAt));
}

/** Ends the session of the page. Throws 401, 403 `foreign_request`. */
export async function respondToSignOut(ctx: Ctx, request: Request): Promise<Response> {
  const session = await requirePageSession(ctx, request);
  await deletePageSession(ctx.sql, session.secret);
  return new Response(null, { status: 204, headers: { "Set-Cookie": noCookie(ctx.publicUrl) } });
}

/** What was sent to sign in with. */
type Given = { readonly credential: string } | { readonly code: Secret | null };

async function readSignIn(request: Request): Promise<Given> {
  const sent = await bodies.read("sign-in", request, signInBytesMax).finally(() => waitAnew(request));
  const body = await jsonOfPieces(request, "console", [sent]);
  const bearer = /^Bearer +([^\s]+)$/i.exec(request.headers.get("authorization") ?? "")?.[1];
  if (body === undefined && bearer !== undefined) return { credential: bearer };
  const fields = validateBody(SignIn, body);
  const [given, ...others] = Object.entries(fields);
  if (given === undefined) throw invalid("/apiKey", "is required, or `token` or `code` in its place");
  if (others.length > 0) throw invalid(`/${others[0]?.[0]}`, "must not be given beside another one");
  const [name, text] = given;
  return name === "code" ? { code: readSecret(text) } : { credential: text.trim() };
}

/**
 * Counts a sign-in as a guess of its address unless it is right. Beyond the limit a wrong one is
 * 429. Keys, tokens and codes cannot be guessed, OPERATOR_TOKEN with its 16 bytes or more included: so who has one
 * signs in while others try from the same address, which behind a proxy is one for everybody.
 */
async function countingGuesses<T>(ctx: Ctx, request: Request, find: () => Promise<T>): Promise<T> {
  const address = peerAddress(request) ?? "unknown";
  const waitSeconds = await ctx.guesses.count(address);
  try {
    const found = await find();
    if (waitSeconds === 0) await ctx.guesses.forgive(address);
    return found;
  } catch (error) {
    const isWrong = error instanceof ApiError && error.reason === "unauthorized";
    if (!isWrong && waitSeconds === 0) await ctx.guesses.forgive(address);
    if (!isWrong || waitSeconds === 0) throw error;
    throw new ApiError("rate_limited", {
      message: "Too many wrong sign-ins from this address.",
      headers: { "Retry-After": String(waitSeconds) },
    });
  }
}

async function findWho(ctx: Ctx, request: Request, given: Given): Promise<SignedIn> {
  const credential = "credential" in given ? given.credential : await credentialOf(ctx, given.code);
  if (isOperatorToken(ctx, credential)) return { kind: "operator", credential };
  return { kind: "tenant", credential, principal: await authenticate(ctx, request, credential) };
}

async function credentialOf(ctx: Ctx, code: Secret | null): Promise<string> {
  const credential = code === null ? null : await takeLink(ctx.authSql, code);
  if (credential === null)
    throw new ApiError("unauthorized", {
      message: "This link was used before, or is too old. Sign in with an API key.",
    });
  return credential;
}

/** Returns who holds an API key or a dashboard JWT. Throws 401 for any other credential. */
async function authenticate(ctx: Ctx, request: Request, credential: string): Promise<Principal> {
  const principal = await retryWhileUnavailable(() => ctx.authenticator.authenticate(`Bearer ${credential}`), {
    limitMs: waitsUntil(request) - Date.now(),
  });
  if (principal.kind !== "api_key" && principal.kind !== "dashboard") throw new ApiError("unauthorized");
  return principal;
}

/** Returns when a dashboard JWT, which was verified, ends; null for an API key. */
function expiryOfToken({ credential, principal }: { credential: string; principal: Principal }): Date | null {
  const expiry = principal.kind === "dashboard" ? decodeJwt(credential).exp : undefined;
  // An `exp` may lie beyond what a date can hold.
  const at = new Date((expiry ?? Number.NaN) * 1000);
  return Number.isNaN(at.getTime()) ? null : at;
}

function earlier(left: Date | null, right: Date | null): Date | null {
  if (left === null || right === null) return left ?? right;
  return left < right ? left : right;
}

/** Who is signed in, as the page shows it. */
interface PrincipalShown {
  readonly kind: "tenant" | "operator";
  readonly tenantId: string | null;
  readonly tenantName: string | null;
  readonly keyId: string | null;
  readonly keyName: string | null;
  readonly userId: string | null;
  /** Null: an operator's, who is no tenant's. */
  readonly role: AccessRole | null;
  readonly agentIds: readonly string[] | null;
}

const nobody = {
  tenantId: null,
  tenantName: null,
  keyId: null,
  keyName: null,
  userId: null,
  role: null,
  agentIds: null,
};
const operatorShown = { principal: { kind: "operator", ...nobody } satisfies PrincipalShown, endsAt: null };

async function describeTenant(
  { sql }: Ctx,
  { tenant, keyId, role, agentIds, authUserId: userId }: Principal,
): Promise<{ readonly principal: PrincipalShown; readonly endsAt: Date | null }> {
  const [row] = await sql<{ tenantName: string; keyName: string | null; endsAt: Date | null }[]>`
    select t.name as tenant_name, k.name as key_name, k.expires_at as ends_at
    from tenants t left join api_keys k on k.id = ${keyId} and k.tenant_id = t.id where t.id = ${tenant.id}`;
  const { tenantName, keyName, endsAt } = row ?? { tenantName: "", keyName: null, endsAt: null };
  const who = { kind: "tenant", tenantId: tenant.id, tenantName, keyId, keyName, userId, role, agentIds } as const;
  return { principal: who, endsAt };
}

function sessionShown({ publicUrl }: Ctx, principal: PrincipalShown, { csrfToken }: Secret, expiresAt: Date) {
  const installation = { version, publicUrl };
  return { principal, csrfToken, expiresAt: expiresAt.toISOString(), idleSeconds: sessionIdleSeconds, installation };
}
