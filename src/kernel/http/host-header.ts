import { ApiError } from "../errors.ts";

/** What a Host header may be: a name or an address, and perhaps a port. */
const hostPattern = /^(?:[A-Za-z0-9._~-]+|\[[0-9A-Fa-f:.]+\])(?::\d*)?$/;
/** The host where the client named none, as HTTP/1.0 allows. It is not used for anything. */
const unnamedHost = "http://localhost";

/**
 * Returns the request with a URL that can be read, whatever its client sent as Host: the
 * runtimes build the URL from that header unchecked, and leave out the host
 * where there is none. Throws 400 for a Host that is no host.
 */
export function addressed(request: Request): Request {
  const host = request.headers.get("host") ?? "";
  const isNamed = host !== "";
  if (isNamed && !(hostPattern.test(host) && URL.canParse(request.url)))
    throw new ApiError("validation_failed", { message: "The Host header must be a host name, perhaps with a port." });
  if (URL.canParse(request.url)) return request;
  return new Request(`${unnamedHost}${request.url.startsWith("/") ? request.url : "/"}`, request);
}
