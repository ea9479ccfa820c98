import { isClientToken } from "../auth/authenticator.ts";
import { ApiError } from "../errors.ts";
import { rememberOuter } from "../runtime.ts";

/** The query field of `GET …/sessions/:sessionId/stream` that takes a client token in place of the `Authorization` header. */
export const queryTokenField = "access_token";

const streamPath = /^\/v1\/agents\/[^/]+\/sessions\/[^/]+\/stream\/?$/;

/**
 * Returns the request with the client token of its query as `Authorization`, and a URL without
 * it: a browser's own `EventSource` cannot send headers. Only a stream that is read takes one
 * there, and no other credential is taken from a URL (docs/decisions/client-tokens.md).
 * What comes after this, logs and traces included, never sees it. Throws 400 for a request
 * with both.
 */
export function takeQueryToken(request: Request): Request {
  if (request.method !== "GET" || !request.url.includes(queryTokenField)) return request;
  const url = new URL(request.url);
  const token = url.searchParams.get(queryTokenField);
  if (token === null || !streamPath.test(url.pathname)) return request;
  url.searchParams.delete(queryTokenField);
  const headers = new Headers(request.headers);
  if (headers.has("authorization"))
    throw new ApiError("validation_failed", {
      message: `${queryTokenField} and the Authorization header exclude each other.`,
      details: { issues: [{ path: queryTokenField, message: "and the Authorization header exclude each other" }] },
    });
  if (isClientToken(token)) headers.set("authorization", `Bearer ${token}`);
  const inner = new Request(new Request(url, request), { headers });
  rememberOuter(inner, request);
  return inner;
}
