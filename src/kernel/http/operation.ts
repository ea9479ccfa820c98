import { type Static, type TObject, type TSchema, Type } from "@sinclair/typebox";
import { takeBodyPlace } from "../admission/large-bodies.ts";
import { requireRoom } from "../admission/stored-bytes.ts";
import type { Principal } from "../auth/authenticator.ts";
import { requestGate } from "../auth/gates.ts";
import type { Proof } from "../auth/proof.ts";
import { requireRole } from "../auth/roles.ts";
import { requireStanding, type StandingRule } from "../auth/standing.ts";
import type { Ctx } from "../context.ts";
import type { Sql, Tx } from "../database/client.ts";
import { readFrom } from "../database/replica.ts";
import { tx } from "../database/transaction.ts";
import { ApiError, type ErrorCause, type Form, invalidAs } from "../errors.ts";
import type { IdOf } from "../ids.ts";
import { noteDoing } from "../telemetry/work.ts";
import { withinReach } from "./agent-reach.ts";
import { type AuditNote, type AuditRule, AuditTrail } from "./audit-trail.ts";
import { asSender } from "./authenticate.ts";
import { jsonBodyOf, nothing, pointingIn, readBody, type SentRequest } from "./checked-body.ts";
import type { ClientRequest, Narrowed } from "./client-reach.ts";
import { askedForm, type FormChange, showIn } from "./form.ts";
import { type IdempotencyKey, type KeptResponse, readIdempotencyKey } from "./idempotency.ts";
import { namingMissing } from "./missing.ts";
import { queryFields } from "./query-fields.ts";
import { Reply } from "./reply.ts";
import { rememberForm, rememberLimits, rememberProtocol, requestIdOf } from "./request.ts";
import { type Reservation, underKey } from "./reservation.ts";
import type { ResponseHeader } from "./response-headers.ts";
import { validateFields } from "./validate.ts";

/** What a handler is given: everything checked, in form B. */
export interface Input<P extends TObject, Q extends TObject, B extends TSchema, A extends TSchema = B> {
  readonly principal: Principal;
  readonly tenantId: IdOf<"tenant">;
  readonly form: Form;
  readonly params: Static<P>;
  readonly query: Static<Q>;
  readonly body: Static<B> | Static<A>;
  readonly request: Request;
  readonly requestId: string;
  /** The pool, for reads and for what no response is kept of. No transaction is open and no connection held while a handler runs. */
  readonly sql: Sql;
  readonly commit: Commit;
  /** Writes the audit event, for an operation whose change has a transaction of its own; `commit` does it by itself. */
  readonly audit: AuditTrail;
  /** The request's Idempotency-Key, reserved; null when it has none. */
  readonly reservation: Reservation | null;
}

/**
 * Runs the one transaction of an operation that writes, for who still may (`standing.ts`), and stores in it its audit event,
 * which the work may complete, and its response when the request has an Idempotency-Key: a crash leaves both or neither. The handler returns
 * what this returns. The work gets only the database: the transaction is repeated after a
 * passing error, and holds a connection.
 */
export type Commit = (work: (inner: Tx, note: AuditNote) => Promise<unknown>) => Promise<Committed>;

/** A response whose transaction is committed. */
class Committed {
  readonly response: KeptResponse;

  constructor(response: KeptResponse) {
    this.response = response;
  }
}

/** The body of a response: JSON of a schema, an event stream (a schema with that `contentMediaType`), or a file. */
export type ResponseBody = TSchema | "bytes";

/** The errors of an Idempotency-Key, where a POST remembers its response (see `idempotency.ts`). */
export const keyErrors: readonly ErrorCause[] = ["idempotency_key_reused", "idempotency_in_progress"];

/** An operation's name for programs, as a client calls it: a noun in the plural, and a verb. */
export type OperationId = `${string}.${string}`;

/** One operation of the interface: what it takes, its response, what can go wrong, and the function that does it. */
export interface Operation<P extends TObject, Q extends TObject, B extends TSchema, A extends TSchema = B>
  extends StandingRule {
  readonly id: OperationId;
  /** One line for the OpenAPI document. */
  readonly summary: string;
  /** What a caller has to know beyond that line, in Markdown. */
  readonly description?: string;
  readonly params?: P;
  readonly query?: Q;
  /** `raw`: the handler reads the request's body itself. Left out: the operation takes none. */
  readonly body?: B | "raw";
  /** What form A takes where it differs: fewer query fields; the body as `change.up` leaves it. */
  readonly queryInA?: TObject;
  readonly bodyInA?: A;
  /** Form A's body as the client sends it, for the OpenAPI document, where `change.up` leaves another one. */
  readonly shownInA?: TSchema;
  /** What a `raw` body may be, by media type, for the OpenAPI document. */
  readonly rawBody?: Readonly<Record<string, ResponseBody>>;
  readonly success: 200 | 201 | 202 | 204;
  /** The response of a success, described for the OpenAPI document only; left out where there is no body. */
  readonly response?: ResponseBody | readonly ResponseBody[];
  readonly responseInA?: TSchema;
  /** The headers of a success that a caller may need, for the OpenAPI document. */
  readonly headers?: readonly ResponseHeader[];
  /** Further statuses of success, with their bodies. */
  readonly otherwise?: Readonly<Partial<Record<202 | 204, ResponseBody | null>>>;
  /** How bodies of requests and responses differ in form A. */
  readonly change?: FormChange;
  /** Causes beyond the shared ones (400 for broken fields, 401, 402, 429, 500, 503). */
  readonly errors?: readonly ErrorCause[];
  /** The cause of a broken field rule, where the operation has one of its own. */
  readonly invalidAs?: ErrorCause;
  /** Which form mounts it; left out: both. */
  readonly onlyForm?: Form;
  /** Its errors have the fields of the Open Responses protocol too: `type` and `param`. */
  readonly protocolErrors?: true;
  /** Its response waits for a turn, streamed or not: it counts as an open stream of its tenant. */
  readonly streams?: true;
  /** It stores something, so it is 429 once the tenant stores as much as it may. `own`: what it calls checks that, where more is known. */
  readonly stores?: "body" | "own";
  /** `own`: the handler treats the Idempotency-Key itself (turns join instead of repeating). Any other POST writes by `commit`. */
  readonly idempotency?: "own";
  /**
   * Narrows what was asked with a client token to what that is good for; throws what is said of
   * the rest, such as 404 for another user's session. Left out: no client token is good for
   * the operation, which is 403.
   */
  clientTokens?(
    asked: ClientRequest<Static<P>, Static<Q>, Static<B> | Static<A>>,
  ): Promise<Narrowed<Static<Q>, Static<B> | Static<A>>>;
  /**
   * `in statement`: its handler can be given a principal whose API key was not looked up (`Principal.proof`), and hands it
   * to a statement that looks the key up itself.
   */
  readonly proof?: Proof;
  /** Its handler only reads, from `sql`, which may be a replica's then: for lists and transcripts, never for what decides. */
  readonly reads?: "replica";
  /** It takes a client token in its query too (`query-token.ts`). */
  readonly queryToken?: true;
  /** What it leaves in the audit events. An operation that is no GET has to say. */
  readonly audit?: AuditRule;
  handle(input: Input<P, Q, B, A>): Promise<unknown>;
}

/** An operation with any fields, for code that only describes it. */
export type AnyOperation = Omit<Operation<TObject, TObject, TSchema, TSchema>, "handle">;

/** A route's handler that remembers the operation it was made of. */
export type OperationHandler = ((context: RouteContext) => Promise<Response>) & { readonly spec: AnyOperation };

/** The part of Elysia's context that an operation needs. */
interface RouteContext {
  readonly request: Request;
  /** Null where the path's encoding is broken. */
  readonly params: Record<string, string | null>;
}

/**
 * Returns an Elysia handler of an operation. It checks in this order: the header
 * `API-Form` (400), credential (401), subscription (402), request rate (429), whether a client
 * token is good for the operation and what its role may do (403), whether the form has it (404), path and query fields
 * (400), body (400, 413), what of it is in reach of a credential that is limited to some agents, or of a client token (403, 404, 400),
 * Idempotency-Key (400, 409, 422); then it calls the handler. Elysia routes;
 * checking stays here so that the order is the same everywhere and bodies are read
 * with our own bound.
 */
export function operation<
  P extends TObject = TObject<Record<never, never>>,
  Q extends TObject = TObject<Record<never, never>>,
  B extends TSchema = TObject<Record<never, never>>,
  A extends TSchema = B,
>(ctx: Ctx, spec: Operation<P, Q, B, A>): OperationHandler {
  const handler = async ({ request, params }: RouteContext) => {
    if (spec.protocolErrors === true) rememberProtocol(request);
    const asked = askedForm(request);
    if (asked !== null) rememberForm(request, asked);
    const sent = { request, asked, params: params ?? {}, readJsonBody: jsonBodyOf(request) };
    return asSender(ctx, request, spec.proof ?? "known", (principal) => respondAs(principal, sent));
  };
  return Object.assign(handler, { spec: spec as unknown as AnyOperation });

  async function respondAs(principal: Principal, sent: SentRequest): Promise<Response> {
    const { request } = sent;
    const form = sent.asked ?? principal.tenant.form;
    rememberForm(request, form);
    await requestGate(principal, ctx.rateLimiter);
    if (principal.client !== null && spec.clientTokens === undefined) throw new ApiError("client_token_refused");
    if (principal.client === null) requireRole(principal, spec);
    if (spec.streams === true) ctx.slots.openStream(request, principal.tenant.id);
    if (spec.onlyForm !== undefined && spec.onlyForm !== form) throw new ApiError("not_found");

    // Who reads the body himself has it as long as he works.
    const release = spec.body === "raw" ? await takeBodyPlace(request, principal.tenant.id) : null;
    try {
      return await respondTo(principal, form, sent);
    } catch (cause) {
      throw errorOf(spec, cause);
    } finally {
      release?.();
    }
  }

  async function respondTo(principal: Principal, form: Form, { request, params, readJsonBody }: SentRequest) {
    const checkedParams = validateFields(spec.params ?? nothing, Object.entries(params)) as Static<P>;
    const querySchema = (form === "a" ? spec.queryInA : undefined) ?? spec.query ?? nothing;
    const sentQuery = validateFields(querySchema, queryFields(request.url)) as Static<Q>;
    const sentBody = (await readBody(spec, { request, readJsonBody, form, tenantId: principal.tenant.id })) as
      | Static<B>
      | Static<A>;
    const asked = await withinReach(ctx.sql, principal, { params: checkedParams, query: sentQuery, body: sentBody });
    if (principal.agentIds !== null) rememberLimits(request, principal.agentIds);
    const narrowed = await narrowedFor(principal, asked);
    if (narrowed.response !== undefined) return respond(narrowed.response, spec, form);
    const { query = asked.query, body = asked.body } = narrowed;
    const requestId = requestIdOf(request);
    const lastId = Object.keys(spec.params?.properties ?? {}).at(-1);
    const named = lastId === undefined ? undefined : (checkedParams as Record<string, string>)[lastId];
    const audit = new AuditTrail({
      rule: spec.audit,
      standing: spec,
      principal,
      requestId,
      named,
      params: asked.params,
      body,
      schema: bodySchema(spec, form),
    });
    const handle: Handle = (attempt) =>
      pointingIn(form, spec.change, async () => {
        if (spec.stores === "body") await requireRoom(ctx.sql, principal.tenant, sizeOf(principal, request, body));
        const given = { principal, tenantId: principal.tenant.id, form, query, body, request, requestId, audit };
        const run = (sql: Sql) => spec.handle({ ...given, params: asked.params, sql, ...attempt });
        return spec.reads === undefined ? run(ctx.sql) : readFrom({ replica: ctx.replica, primary: ctx.sql }, run);
      });

    const key =
      request.method === "POST" && spec.idempotency !== "own"
        ? readIdempotencyKey(request, principal.tenant.id, form, body)
        : null;
    return respondUnder(ctx, { key, principal, audit, rules: spec, form }, handle);
  }

  async function narrowedFor(
    { client, tenant }: Principal,
    asked: Pick<ClientRequest<Static<P>, Static<Q>, Static<B> | Static<A>>, "params" | "query" | "body">,
  ) {
    if (client === null) return {};
    if (spec.clientTokens === undefined) throw new ApiError("client_token_refused");
    return spec.clientTokens({ ...asked, client, tenantId: tenant.id, sql: ctx.sql });
  }
}

/** Returns what a body of a form is checked against; null where the handler reads it itself. */
function bodySchema({ body, bodyInA }: Pick<AnyOperation, "body" | "bodyInA">, form: Form): TSchema | null {
  if (body === undefined || body === "raw") return null;
  return (form === "a" ? bodyInA : undefined) ?? body;
}

/** Returns an error as an operation spells it. */
function errorOf(spec: Pick<AnyOperation, "id" | "params" | "invalidAs">, cause: unknown): unknown {
  const error = namingMissing(spec, cause);
  return spec.invalidAs === undefined ? error : invalidAs(spec.invalidAs, error);
}

/** Returns the bytes of a body; of a raw one that announces no length nobody knows, and of a tenant without a limit nobody asks. */
function sizeOf({ tenant }: Principal, { headers }: Request, body: unknown): number {
  if (tenant.storedMib === null) return 0;
  const announced = headers.get("content-length");
  return announced === null ? Buffer.byteLength(JSON.stringify(body ?? null)) : Number(announced);
}

/** A handler whose input lacks only what the Idempotency-Key decides. */
type Handle = (attempt: { readonly commit: Commit; readonly reservation: Reservation | null }) => Promise<unknown>;

/** What a response is made under. */
interface Attempted {
  readonly key: IdempotencyKey | null;
  readonly principal: Principal;
  readonly audit: AuditTrail;
  readonly rules: ResponseRules;
  readonly form: Form;
}

/** Returns the response of a handler, or the one stored under the request's Idempotency-Key. */
async function respondUnder(
  ctx: Ctx,
  { key, principal, audit, rules, form }: Attempted,
  handle: Handle,
): Promise<Response> {
  const attempt = (reservation: Reservation | null) => {
    const commit: Commit = (work) =>
      tx(ctx.sql, async (inner) => {
        await requireStanding(inner, principal, rules);
        const note: AuditNote = {};
        const result = await work(inner, note);
        await audit.record(inner, note, result);
        const response = toKept(result, rules, form);
        await reservation?.keep(inner, response);
        return new Committed(response);
      });
    return handle({ commit, reservation });
  };
  if (key === null) return respond(await attempt(null), rules, form);
  const kept = await underKey(ctx.sql, ctx.sealer, key, async (reservation) => {
    const result = await attempt(reservation);
    if (result instanceof Committed) return result.response;
    throw new Error("An operation whose response is kept for an Idempotency-Key must write by `commit`.");
  });
  return fromKept(kept);
}

type RespondedInput = Pick<Input<TObject, TObject, TObject>, "request" | "principal" | "tenantId" | "form" | "audit">;

/**
 * Returns the one response for the request's Idempotency-Key, for an operation that reads its
 * body itself (`body: "raw"`, `idempotency: "own"`). `meaning` is what tells the
 * body from another one; `work` is what `Commit` runs.
 */
export function respondOnce(
  ctx: Ctx,
  { request, principal, tenantId, form, audit }: RespondedInput,
  rules: ResponseRules,
  meaning: unknown,
  work: Parameters<Commit>[0],
): Promise<Response> {
  const key = readIdempotencyKey(request, tenantId, form, meaning);
  return respondUnder(ctx, { key, principal, audit, rules, form }, ({ commit }) => commit(work));
}

type ResponseRules = StandingRule & { readonly success: number; readonly change?: FormChange };

function toKept(result: unknown, spec: ResponseRules, form: Form): KeptResponse {
  if (result instanceof Response) throw new Error("A response that is committed is a value or a Reply.");
  const reply = result instanceof Reply ? result : new Reply(result);
  const status = reply.status ?? spec.success;
  const shown = showIn(form, spec.change, reply.value);
  return { status, headers: reply.headers, body: status === 204 ? null : JSON.stringify(shown) };
}

function respond(result: unknown, spec: ResponseRules, form: Form): Response {
  if (result instanceof Response) return result;
  noteDoing("response to a request");
  return fromKept(result instanceof Committed ? result.response : toKept(result, spec, form));
}

function fromKept({ status, headers, body }: KeptResponse): Response {
  const all = body === null ? headers : { "Content-Type": "application/json", ...headers };
  return new Response(body, { status, headers: all });
}

/** Path fields of one id, the common case: `pathIds({ agentId: Id("agent") })`. */
export function pathIds<T extends Record<string, TSchema>>(ids: T) {
  return Type.Object(ids, { additionalProperties: false });
}
