import { Parley } from "parley/client";
import { consoleFetch } from "./fetch.ts";

/** All operations of the service, as the one who is signed in: `parley.agents.list()`. */
export const parley = new Parley({ baseUrl: window.location.origin, apiKey: "", fetch: sendRequest });

/** The body is read first: browsers send a request's own body as a stream, which HTTP/1.1 does not have. */
async function sendRequest(request: Request): Promise<Response> {
  const { method, headers, signal } = request;
  const { pathname, search } = new URL(request.url);
  const body = request.body === null && /^(GET|HEAD)$/.test(method) ? null : await request.blob();
  return consoleFetch(`${pathname}${search}`, { method, headers, signal, body: body?.size === 0 ? null : body });
}
