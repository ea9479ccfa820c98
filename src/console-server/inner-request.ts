import type { Ctx } from "../kernel/context.ts";
import { ApiError } from "../kernel/errors.ts";
import {
  codeOf,
  formOf,
  isRead,
  rememberCode,
  rememberForm,
  rememberMember,
  rememberRoute,
  requestIdOf,
  routeOf,
} from "../kernel/http/request.ts";
import { rememberOuter } from "../kernel/runtime.ts";
import type { Sender } from "./session.ts";

/** Responds to a request as the app does. */
export type Respond = (request: Request) => Promise<Response>;

const pagePrefix = "/console/api/";
/** Headers that are about the browser and its page, and mean nothing to an operation. */
const pageHeaders = /^(?:authorization|cookie|origin|referer|x-csrf-token|sec-.*)$/;
/** What is no document of ours and no stream has to stay what it is: text that a model wrote must not run in the console's origin. */
const sandboxed = "default-src 'none'; frame-ancestors 'none'; sandbox";

/**
 * Responds to a request of the page as the same operation of the interface does to the one who holds
 * the session's credential, or to the member that the person is: `/console/api/agents` is `/v1/agents`. The inner request holds the
 * outer one's place, and keeps its id.
 */
export async function respondAs(ctx: Ctx, sender: Sender, outer: Request, respond: Respond): Promise<Response> {
  const inner = innerRequest(outer, sender);
  ctx.slots.adopt(inner, outer);
  rememberOuter(inner, outer);
  const response = await respond(inner);
  rememberForm(outer, formOf(inner));
  const route = routeOf(inner);
  if (route.startsWith("/v1/")) rememberRoute(outer, `${pagePrefix}${route.slice("/v1/".length)}`);
  const code = codeOf(inner);
  if (code !== undefined) rememberCode(outer, code);
  return confined(response);
}

/** Throws 404 where the path, read as a URL, leads out of the console. */
function innerRequest(outer: Request, sender: Sender): Request {
  const url = new URL(outer.url);
  if (!url.pathname.startsWith(pagePrefix)) throw new ApiError("not_found");
  url.pathname = `/v1/${url.pathname.slice(pagePrefix.length)}`;
  const headers = new Headers([...outer.headers].filter(([name]) => !pageHeaders.test(name)));
  if ("credential" in sender) headers.set("Authorization", `Bearer ${sender.credential}`);
  headers.set("X-Request-Id", requestIdOf(outer));
  if (!headers.has("API-Form")) headers.set("API-Form", "b");
  const { method, signal } = outer;
  // What comes with a read is dropped, as by every operation.
  const body = isRead(outer) ? null : outer.body;
  const options = { method, headers, body, signal, duplex: "half" } as const;
  const inner = new Request(url, options as RequestInit);
  if ("memberId" in sender) rememberMember(inner, sender.memberId);
  return inner;
}

/** Returns a response with what keeps a browser from making more of it than data. */
export function confined(response: Response): Response {
  const { headers } = response;
  headers.set("X-Content-Type-Options", "nosniff");
  headers.set("Content-Security-Policy", sandboxed);
  headers.set("Referrer-Policy", "no-referrer");
  if (!headers.has("Cache-Control")) headers.set("Cache-Control", "no-store");
  const mediaType = headers.get("content-type") ?? "";
  const isPlain = /^(?:application\/json|text\/event-stream|image\/(?:png|jpeg|webp|gif))\b/.test(mediaType);
  if (!isPlain && response.body !== null && !headers.has("Content-Disposition"))
    headers.set("Content-Disposition", "attachment");
  return response;
}
