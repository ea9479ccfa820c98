import type { ClientScope } from "../auth/client-scope.ts";
import type { Form } from "../errors.ts";
import { type IdOf, newId } from "../ids.ts";
import { databaseWaitMs } from "../limits.ts";
import { workHere } from "../telemetry/work.ts";

const ids = new WeakMap<Request, string>();
/** A caller may name its own request id, if it is harmless in logs and headers. */
const acceptableId = /^[A-Za-z0-9._-]{8,128}$/;

/** Returns the request's id: the caller's `X-Request-Id`, or one of ours. The same at every call. */
export function requestIdOf(request: Request): string {
  const known = ids.get(request);
  if (known !== undefined) return known;
  const asked = request.headers.get("x-request-id");
  const id = asked !== null && acceptableId.test(asked) ? asked : newId("request");
  ids.set(request, id);
  return id;
}

const routes = new WeakMap<Request, string>();

/** Notes which route a request took, for the metrics and traces of requests, and the watchdog. */
export function rememberRoute(request: Request, route: string): void {
  routes.set(request, route);
  const work = workHere();
  if (work !== null) work.route = `${request.method} ${route}`;
}

/** Returns the pattern of the route that a request took; `unmatched` where there is none. */
export function routeOf(request: Request): string {
  return routes.get(request) ?? "unmatched";
}

const members = new WeakMap<Request, IdOf<"member">>();

/** Notes that a request is a member's, who is signed in to the console: in place of a credential, and known to this process only. */
export function rememberMember(request: Request, memberId: IdOf<"member">): void {
  members.set(request, memberId);
}

/** Returns the member whose request it is; null where a credential says who sent it. */
export function memberOf(request: Request): IdOf<"member"> | null {
  return members.get(request) ?? null;
}

const ofProtocol = new WeakSet<Request>();

/** Notes that a request speaks the Open Responses protocol, for the response to its errors. */
export function rememberProtocol(request: Request): void {
  ofProtocol.add(request);
}

/** Returns whether a request speaks the Open Responses protocol. */
export function speaksProtocol(request: Request): boolean {
  return ofProtocol.has(request);
}

const codes = new WeakMap<Request, string>();

/** Notes the code of the error that a request got, for its line in the log. */
export function rememberCode(request: Request, code: string): void {
  codes.set(request, code);
}

/** Returns the code of the error that a request got; undefined when it got none. */
export function codeOf(request: Request): string | undefined {
  return codes.get(request);
}

/** Returns whether the method of a request only reads. */
export function isRead({ method }: Request): boolean {
  return method === "GET" || method === "HEAD";
}

const probe = /^[a-z]+:\/\/[^/]*\/(?:healthz|readyz|metrics|backlog)(?:\?|$)/;

/** Returns whether a request is what monitors send every few seconds. With any other method it is a request like all others. */
export function isProbe(request: Request): boolean {
  return isRead(request) && probe.test(request.url);
}

const forms = new WeakMap<Request, Form>();

/** Notes which form a request speaks, for the response to its errors. */
export function rememberForm(request: Request, form: Form): void {
  forms.set(request, form);
}

/** Returns the form noted for a request; `b` when it failed before one was known. */
export function formOf(request: Request): Form {
  return forms.get(request) ?? "b";
}

const clients = new WeakMap<Request, ClientScope>();

/** Notes what the client token of a request is good for. */
export function rememberClient(request: Request, client: ClientScope): void {
  clients.set(request, client);
}

/** Returns what the client token of a request is good for; null when it has none, or none that was valid. */
export function clientOf(request: Request): ClientScope | null {
  return clients.get(request) ?? null;
}

const limits = new WeakMap<Request, readonly string[]>();

/** Notes the agents that the credential of a request is limited to. */
export function rememberLimits(request: Request, agentIds: readonly string[]): void {
  limits.set(request, agentIds);
}

/** Returns the agents that the credential of a request is limited to; null: all. */
export function limitsOf(request: Request): readonly string[] | null {
  return limits.get(request) ?? null;
}

const deadlines = new WeakMap<Request, number>();

/**
 * Returns until when a request waits for a database that is away, in milliseconds since
 * 1970: `databaseWaitMs` from the first call on, and the same at every call until `waitAnew`, so
 * that waits which follow one another do not add up.
 */
export function waitsUntil(request: Request): number {
  const known = deadlines.get(request);
  if (known !== undefined) return known;
  const until = Date.now() + databaseWaitMs;
  deadlines.set(request, until);
  return until;
}

/** Lets the time of `waitsUntil` begin anew: the sender's body, which may take longer, has been waited for since. */
export function waitAnew(request: Request): void {
  deadlines.delete(request);
}
