import { ApiError } from "../kernel/errors.ts";
import { isRead } from "../kernel/http/request.ts";
import { sameText } from "../kernel/seal.ts";
import type { Secret } from "./secret.ts";

/**
 * Checks that a request comes from the console's own page, by what browsers say of it: `Origin`
 * has to be the address of the console, and `Sec-Fetch-Site` the same origin. A program that
 * is no browser sends neither, and may sign in. Throws 403 `foreign_request`.
 */
export function requireOwnOrigin(request: Request, publicUrl: string): void {
  const { headers } = request;
  const site = headers.get("sec-fetch-site");
  const isOwnSite = site === null || site === "same-origin" || (site === "none" && isRead(request));
  const origin = headers.get("origin");
  if (!isOwnSite || (origin !== null && !isOwn(origin, publicUrl, headers.get("host"))))
    throw new ApiError("foreign_request");
}

/**
 * Checks what `requireOwnOrigin` does of a request with a session, and that one that changes something says where it comes from at
 * all: every browser that can show the page sends `Origin` with it, or `Sec-Fetch-Site`. Throws 403 `foreign_request`.
 */
export function requireOwnPage(request: Request, publicUrl: string): void {
  requireOwnOrigin(request, publicUrl);
  const saysNothing = !request.headers.has("origin") && !request.headers.has("sec-fetch-site");
  if (saysNothing && !isRead(request)) throw new ApiError("foreign_request");
}

/** A console is opened at PUBLIC_URL, or at another name that reaches this process: the browser names that one in `Host` too. */
function isOwn(origin: string, publicUrl: string, host: string | null): boolean {
  if (!URL.canParse(origin)) return false;
  const { protocol, host: asked } = new URL(origin);
  const own = new URL(publicUrl);
  if (origin === own.origin) return true;
  // A page that came over plain HTTP is not that of an address with https.
  const isSafe = protocol === "https:" || protocol === own.protocol;
  return isSafe && host !== null && asked === host.toLowerCase();
}

/** Checks that an unsafe request of a session has its CSRF token. Throws 403 `foreign_request`. */
export function requireCsrfToken(request: Request, secret: Secret): void {
  if (isRead(request)) return;
  const token = request.headers.get("x-csrf-token");
  if (token === null || !sameText(token, secret.csrfToken)) throw new ApiError("foreign_request");
}
