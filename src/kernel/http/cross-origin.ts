import { isClientToken } from "../auth/authenticator.ts";
import type { Ctx } from "../context.ts";
import { rateLimitHeaders } from "../errors.ts";
import { type IdOf, isId } from "../ids.ts";
import { clientOf } from "./request.ts";

/** Headers that a page may send, beside those that browsers let every page send. */
const requestHeaders = [
  "API-Form",
  "Authorization",
  "Baggage",
  "Cache-Control",
  "Content-Type",
  "Idempotency-Key",
  "Last-Event-ID",
  "Traceparent",
  "Tracestate",
  "User-Agent",
  "X-Request-Id",
  "X-Requested-With",
];
/** Headers of responses that a page may read, beside those that browsers let every page read. */
const responseHeaders = [
  "API-Form",
  "Location",
  ...Object.values(rateLimitHeaders),
  "Retry-After",
  "X-Request-Id",
  "X-Turn-Id",
  "X-Vercel-AI-UI-Message-Stream",
];
/** A browser remembers for this long what it may send. Chromium takes no longer time. */
const preflightSeconds = 7_200;

const agentPath = /^\/v1\/agents\/([^/]+)/;

/** Returns whether a browser asks with this request whether it may send another one. */
export function isPreflight({ method, headers }: Request): boolean {
  return method === "OPTIONS" && headers.has("origin") && headers.has("access-control-request-method");
}

/**
 * Returns the response to a preflight: 204 that allows the path's methods, where client tokens
 * are for pages of this origin; null where none is. The token itself is checked with the request.
 */
export async function respondToPreflight(
  ctx: Ctx,
  request: Request,
  methods: readonly string[],
): Promise<Response | null> {
  if (!(await isKnown(ctx, request))) return null;
  return new Response(null, {
    status: 204,
    headers: {
      "Access-Control-Allow-Methods": methods.join(", "),
      "Access-Control-Allow-Headers": requestHeaders.join(", "),
      "Access-Control-Max-Age": String(preflightSeconds),
    },
  });
}

/**
 * Lets the page that sent a request read its response, where the client token of the request is
 * for pages of that origin. An error from before the token was known can be read by the
 * pages of every origin that the agent's tokens are for: a page has to see that its token
 * has expired. A response to any other credential is for no page.
 */
export async function allowOrigin(ctx: Ctx, request: Request, response: Response): Promise<void> {
  const origin = request.headers.get("origin");
  if (origin === null || !URL.canParse(request.url) || !new URL(request.url).pathname.startsWith("/v1/")) return;
  const isAsked = isPreflight(request);
  const client = clientOf(request);
  if (!isAsked && client === null && !isRefusedToken(request, response)) return;
  response.headers.append("Vary", "Origin");
  if (!(await isForPage())) return;
  response.headers.set("Access-Control-Allow-Origin", origin);
  if (!isAsked) response.headers.set("Access-Control-Expose-Headers", responseHeaders.join(", "));

  async function isForPage(): Promise<boolean> {
    if (isAsked) return response.ok;
    if (client !== null) return client.origins.includes(origin as string);
    return isKnown(ctx, request).catch(() => false);
  }
}

/** A 503 says that the database cannot be asked now. */
function isRefusedToken(request: Request, { status }: Response): boolean {
  if (status < 400 || status === 503) return false;
  const [, token = ""] = /^Bearer +([^\s]+)$/i.exec(request.headers.get("authorization") ?? "") ?? [];
  return isClientToken(token);
}

function isKnown(ctx: Ctx, request: Request): Promise<boolean> {
  return ctx.authenticator.knowsOrigin(request.headers.get("origin") ?? "", agentOf(request));
}

/** Returns the agent in the path; null where it names none. */
function agentOf({ url }: Request): IdOf<"agent"> | null {
  const [, id = ""] = agentPath.exec(new URL(url).pathname) ?? [];
  return isId("agent", id) ? id : null;
}
