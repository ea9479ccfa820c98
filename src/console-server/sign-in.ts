import { Type } from "@sinclair/typebox";
import { decodeJwt } from "jose";
import { consoleOperator } from "../installation/operator-audit.ts";
import { StrangeBodies } from "../kernel/admission/strange-bodies.ts";
import { recordAudit } from "../kernel/audit/record.ts";
import type { Principal } from "../kernel/auth/authenticator.ts";
import { requestGate } from "../kernel/auth/gates.ts";
import type { Ctx } from "../kernel/context.ts";
import { tx } from "../kernel/database/transaction.ts";
import { ApiError, invalid } from "../kernel/errors.ts";
import { jsonOfPieces } from "../kernel/http/json-body.ts";
import { requestIdOf, waitAnew } from "../kernel/http/request.ts";
import { Closed } from "../kernel/http/request-fields.ts";
import { validateBody } from "../kernel/http/validate.ts";
import { peerAddress } from "../kernel/runtime.ts";
import { authenticate } from "./authenticate.ts";
import { secretsIn, sessionCookie } from "./cookie.ts";
import { requireOwnOrigin } from "./own-page.ts";
import { newSecret, readSecret, type Secret } from "./secret.ts";
import { isOperatorToken } from "./session.ts";
import { describeTenant, operatorShown, showSession } from "./shown.ts";
import { deletePageSession, insertPageSession, takeLink } from "./store.ts";

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
  const shown =
    who.kind === "tenant" ? await describeTenant(ctx, who.principal) : { principal: operatorShown, endsAt: null };
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
  const session = showSession(ctx, { principal: shown.principal, secret, expiresAt, person: null, tenants: [] });
  return Response.json(session, { headers: { "Set-Cookie": cookie } });
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
  return { kind: "tenant", credential, principal: await authenticate(ctx, request, { credential }) };
}

async function credentialOf(ctx: Ctx, code: Secret | null): Promise<string> {
  const credential = code === null ? null : await takeLink(ctx.authSql, code);
  if (credential === null)
    throw new ApiError("unauthorized", {
      message: "This link was used before, or is too old. Sign in with an API key.",
    });
  return credential;
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
