import { recordAudit } from "../kernel/audit/record.ts";
import type { Principal } from "../kernel/auth/authenticator.ts";
import { requestGate } from "../kernel/auth/gates.ts";
import type { Ctx } from "../kernel/context.ts";
import { tx } from "../kernel/database/transaction.ts";
import { ApiError } from "../kernel/errors.ts";
import { readJson } from "../kernel/http/json-body.ts";
import { requestIdOf } from "../kernel/http/request.ts";
import { Closed, Nullable } from "../kernel/http/request-fields.ts";
import { validateBody } from "../kernel/http/validate.ts";
import { Id } from "../kernel/ids.ts";
import { tenantsOfPerson } from "../members/person.ts";
import { authenticate } from "./authenticate.ts";
import { noCookie } from "./cookie.ts";
import { type PageSession, requirePageSession, type SessionPerson, signedOut } from "./session.ts";
import { describeTenant, operatorShown, type PrincipalShown, personShown, showSession } from "./shown.ts";
import { choose, deletePageSession, type PersonChoice } from "./store.ts";

const choiceBytesMax = 4 * 1024;
const ChosenTenant = Closed({ tenantId: Nullable(Id("tenant")) });

/** Returns the session of the page. Throws 401, 402, 429 as any operation. */
export async function respondWithSession(ctx: Ctx, request: Request): Promise<Response> {
  return respondWith(ctx, request, await requirePageSession(ctx, request));
}

/**
 * Chooses the tenant that a person works in; null: to be an operator. Returns the session. Throws 400, 401, 403 `foreign_request`, and 404 for what
 * the person is not, and for who signed in with a key or token, which is of one tenant.
 */
export async function respondToChoice(ctx: Ctx, request: Request): Promise<Response> {
  const session = await requirePageSession(ctx, request);
  const { tenantId } = validateBody(ChosenTenant, await readJson(request, "console", choiceBytesMax));
  const { person, secret } = session;
  if (person === null) throw new ApiError("not_found");
  const choice = await choiceOf(ctx, person, tenantId);
  await tx(ctx.sql, async (inner) => {
    if (!(await choose(inner, secret, choice))) throw signedOut();
    await recordChoice(inner, person, choice, requestIdOf(request));
  });
  return respondWith(ctx, request, await requirePageSession(ctx, request));
}

/** Ends the session of the page. Responds with where the identity provider ends its session, where it has one. Throws 401, 403 `foreign_request`. */
export async function respondToSignOut(ctx: Ctx, request: Request): Promise<Response> {
  const { secret, person } = await requirePageSession(ctx, request);
  await deletePageSession(ctx.sql, secret);
  const headers = { "Set-Cookie": noCookie(ctx.publicUrl) };
  if (person === null || person.endSessionUrl === null) return new Response(null, { status: 204, headers });
  return Response.json({ endSessionUrl: person.endSessionUrl }, { headers });
}

/** Writes down that a person works in a tenant, or is an operator, from now on. */
export async function recordChoice(
  inner: Parameters<typeof recordAudit>[0],
  { email }: { readonly email: string },
  { tenantId, memberId, asOperator }: PersonChoice,
  requestId: string,
): Promise<void> {
  if (!asOperator && tenantId === null) return;
  const actor = asOperator ? ({ type: "operator", id: email } as const) : ({ type: "member", id: memberId } as const);
  await recordAudit(inner, {
    tenantId,
    actor,
    action: "console_session.create",
    resourceId: null,
    requestId,
    changes: [],
  });
}

async function choiceOf(
  ctx: Ctx,
  { emailKey, isOperator }: SessionPerson,
  tenantId: string | null,
): Promise<PersonChoice> {
  if (tenantId === null) {
    if (!isOperator) throw new ApiError("not_found");
    return { tenantId: null, memberId: null, asOperator: true };
  }
  const found = (await tenantsOfPerson(ctx.authSql, emailKey)).find((one) => one.tenantId === tenantId);
  if (found === undefined) throw new ApiError("not_found", { message: "You are no member of this tenant." });
  return { tenantId, memberId: found.memberId, asOperator: false };
}

async function respondWith(ctx: Ctx, request: Request, session: PageSession): Promise<Response> {
  const { secret, expiresAt, person } = session;
  const acting = session.kind === "tenant" ? await actingIn(ctx, request, session) : null;
  const tenants = person === null ? [] : await tenantsOfPerson(ctx.authSql, person.emailKey);
  const principal = acting ?? (session.kind === "operator" ? operatorShown : personShown);
  if (principal === personShown && tenants.length === 0 && person?.isOperator !== true) {
    // Removed everywhere: nothing is left that the session is good for.
    await deletePageSession(ctx.sql, secret);
    throw signedOut();
  }
  return Response.json(showSession(ctx, { principal, secret, expiresAt, person, tenants }));
}

/** Returns who acts in the session's tenant; null where a person was removed from it, and may choose another one. */
async function actingIn(
  ctx: Ctx,
  request: Request,
  { sender, person }: Extract<PageSession, { readonly kind: "tenant" }>,
): Promise<PrincipalShown | null> {
  let principal: Principal;
  try {
    principal = await authenticate(ctx, request, sender);
  } catch (error) {
    if (person !== null && error instanceof ApiError && error.reason === "unauthorized") return null;
    throw error;
  }
  await ctx.slots.identify(request, principal.tenant);
  await requestGate(principal, ctx.rateLimiter);
  return (await describeTenant(ctx, principal)).principal;
}
