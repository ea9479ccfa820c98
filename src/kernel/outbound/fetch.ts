import { refuseInTransaction } from "../async/in-transaction.ts";
import { SharedSlots } from "../async/shared-slots.ts";
import type { Config } from "../config.ts";
import { isPublicHost, tenantUrlFault } from "./address.ts";
import {
  type PinnedRequest,
  type PinnedSend,
  type PinOptions,
  pinnedSender,
  RefusedAddressError,
} from "./pinned-fetch.ts";

export { checkTenantUrl, tenantUrlFault } from "./address.ts";
export { RefusedAddressError } from "./pinned-fetch.ts";

/** A fetch function: the part of the web standard's that the clients of model vendors use. */
export type Fetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>;

/** A request follows at most this many redirects. */
const redirectsMax = 5;
const redirectStatuses = new Set([301, 302, 303, 307, 308]);
/** Headers that may follow a redirect to another origin; any other might be a credential. */
const harmlessHeaders = ["accept", "accept-encoding", "accept-language", "content-type", "user-agent"];

/**
 * The runtime's own fetch, for addresses that the operator or a vendor's client
 * chose. Redirects are followed here: a runtime removes only the credential headers
 * that it knows before it follows one to another origin, and vendors name theirs
 * `x-api-key` or `x-goog-api-key`. Bun would end a response in which nothing comes for
 * five minutes, as from a model that thinks; `timeout: false` prevents that, and has no
 * effect elsewhere.
 */
export const directFetch: Fetch = async (input, init) => {
  refuseInTransaction("Another server");
  const mode = init?.redirect ?? (input instanceof Request ? input.redirect : "follow");
  if (mode !== "follow") return fetch(input, { ...init, timeout: false });
  if (input instanceof Request || (init?.body != null && typeof init.body !== "string")) {
    return follow(directSend(init), await wholeRequest(input, init), mode, checkScheme);
  }
  checkScheme(new URL(input));
  // Redirects are rare: the request's parts are read only when there is one.
  let response: Response | null = await fetch(input, { ...init, redirect: "manual", timeout: false });
  if (!redirectStatuses.has(response.status)) return response;
  const again = directSend(init);
  const send: PinnedSend = (request) => {
    const first = response;
    response = null;
    return first === null ? again(request) : Promise.resolve(first);
  };
  return follow(send, await wholeRequest(input, init), mode, checkScheme);
};

function directSend(init: RequestInit | undefined): PinnedSend {
  return ({ url, body, ...request }) =>
    fetch(url, { ...init, ...request, body: body as BodyInit | null, redirect: "manual", timeout: false });
}

/** Error codes of a connection that could not be opened. */
const unsentCodes = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ConnectionRefused",
  "FailedToOpenSocket",
]);

/** Returns whether an error of the network came before anything was sent. Bun and Node set a code, Deno names the stage at which its client failed. */
export function isUnsent(error: Error): boolean {
  return ("code" in error && unsentCodes.has(String(error.code))) || error.message.includes("client error (Connect)");
}

/** Returns whether the error, or its cause, came before anything was sent. */
export function wasNeverSent(error: unknown): boolean {
  return [error, error instanceof Error ? error.cause : null].some((link) => link instanceof Error && isUnsent(link));
}

/** A process has at most this many requests to addresses that tenants chose under way at once, with their responses. */
const requestsMax = 16_384;
/** Of these, one tenant may have this many. Further ones wait for as long as their signal lets them. */
const tenantRequestsMax = 1_024;
const requests = new SharedSlots(requestsMax, tenantRequestsMax);
let sender: PinnedSend | null = null;

/**
 * Returns the fetch for addresses that tenants supply (docs/decisions/private-addresses.md).
 * Its requests count to the tenant's share; with null they do not, where something else
 * bounds them.
 */
export function tenantFetch(config: Pick<Config, "allowPrivateNetwork">, tenantId: string | null): Fetch {
  if (config.allowPrivateNetwork) return directFetch;
  sender ??= pinnedSender();
  return guardedBy(tenantId === null ? sender : sharedSender(sender, requests, tenantId));
}

/**
 * Returns a fetch that reaches https addresses on the public internet only, whatever
 * a name resolves to and wherever a redirect leads. It rejects with
 * `RefusedAddressError`, with `TypeError("fetch failed")` when the network fails,
 * or with the signal's reason. Request bodies are sent whole; responses stream,
 * decoded. It sets no limit on the wait for a response: the signal does.
 */
export function guardedFetch(options: PinOptions = {}): Fetch {
  return guardedBy(pinnedSender(options));
}

/** Returns a sender whose requests wait for one of the holder's slots, and keep it until their connection is free again. */
export function sharedSender(send: PinnedSend, slots: SharedSlots, holder: string): PinnedSend {
  return async (request) => send(request, await slots.take(holder, request.signal));
}

function guardedBy(send: PinnedSend): Fetch {
  return async (input, init) => {
    refuseInTransaction("Another server");
    const request = await wholeRequest(input, init);
    // The sender would buffer a compressed event stream. A response that is compressed nevertheless is decoded.
    if (!request.headers.has("accept-encoding")) request.headers.set("accept-encoding", "identity");
    const mode = init?.redirect ?? (input instanceof Request ? input.redirect : "follow");
    return follow(send, request, mode, checkTarget);
  };
}

/** Returns a request with its body read, so that it can be sent again to where a redirect leads. */
async function wholeRequest(input: string | URL | Request, init: RequestInit | undefined): Promise<PinnedRequest> {
  const asked = new Request(input, init);
  const body = asked.body === null ? null : new Uint8Array(await asked.arrayBuffer());
  const signal = init?.signal ?? (input instanceof Request ? input.signal : null);
  return { url: new URL(asked.url), method: asked.method, headers: new Headers(asked.headers), body, signal };
}

async function follow(
  send: PinnedSend,
  first: PinnedRequest,
  mode: RequestRedirect,
  check: (url: URL) => void,
): Promise<Response> {
  let request = first;
  for (let redirects = 0; ; redirects++) {
    check(request.url);
    const response = await send(request);
    const location = redirectStatuses.has(response.status) ? response.headers.get("location") : null;
    if (location === null || mode === "manual") return response;
    await response.body?.cancel();
    if (mode === "error") throw new TypeError("The server responded with a redirect.");
    if (redirects === redirectsMax) throw new TypeError(`More than ${redirectsMax} redirects.`);
    if (!URL.canParse(location, request.url.href)) throw new TypeError("The server redirects to no URL.");
    request = redirected(request, response.status, new URL(location, request.url));
  }
}

/** Throws for a URL that is not http or https: a runtime's fetch reads `file:` and `data:` too, and a redirect may name them. */
function checkScheme({ protocol }: URL): void {
  if (protocol !== "https:" && protocol !== "http:") throw new RefusedAddressError("The address is not an http URL.");
}

/** Throws for a URL that is not https or not public. An address in the URL is never resolved, so it is checked here; names are checked when they are resolved. */
function checkTarget(url: URL): void {
  if (tenantUrlFault(url.href, false) !== null)
    throw new RefusedAddressError(
      isPublicHost(url.hostname) ? "The address is not an https URL." : "The address is not public.",
    );
}

/** Returns the request that follows a redirect: with the method and body of the fetch standard, and to another origin without headers that may be credentials. Throws when the body would go to another origin. */
function redirected(request: PinnedRequest, status: number, url: URL): PinnedRequest {
  const becomesGet =
    (status === 303 && request.method !== "HEAD") || ((status === 301 || status === 302) && request.method === "POST");
  const sameOrigin = url.origin === request.url.origin;
  const body = becomesGet ? null : request.body;
  // The body may hold a credential (a token request) or a tenant's data, and the caller did not name the other origin.
  if (!sameOrigin && body !== null) throw new RefusedAddressError("A redirect would carry the body to another origin.");
  const headers = new Headers([...request.headers].filter(([name]) => sameOrigin || harmlessHeaders.includes(name)));
  for (const name of body === null ? ["content-type", "content-length"] : []) headers.delete(name);
  return { ...request, url, method: becomesGet ? "GET" : request.method, headers, body };
}
