import { sleep } from "../../kernel/async/wait.ts";
import type { Fetch } from "../../kernel/outbound/fetch.ts";
import { withBody } from "../../kernel/outbound/watched-body.ts";
import type { Authorization } from "../auth/authorization.ts";
import { noticeTimeoutMs, resumePauseMs } from "../limits.ts";
import { extractWWWAuthenticateParams, InsufficientScopeError, type JSONRPCMessage } from "../wire/sdk.ts";
import { type RequestId, resultKey } from "./messages.ts";
import { type OpenRequest, type Result, readableResponse, resumedStream, type TakeResult } from "./response-stream.ts";

interface TransportOptions {
  readonly send: Fetch;
  readonly authorization: Authorization;
}

/** What the SDK's transport is given, and what it has to tell. */
export interface TransportFetch {
  readonly fetch: Fetch;
  /** Returns a message of the transport with the result that went past it, as `Result` in its `_meta`, which the SDK does not look into. */
  readonly withResult: (message: JSONRPCMessage) => JSONRPCMessage;
  /** To be called when the response to a request has come: its streams, which a server may leave open, are closed. */
  readonly answered: (id: RequestId) => void;
}

/** Statuses of a refused message that say something about the session; any other is the server's own affair. */
const refusedStatuses = new Set([401, 403]);

/**
 * Returns the fetch that the SDK's Streamable HTTP transport uses. It adds the token
 * and renews it once when it is refused; closes the streams of a request that was
 * cancelled or has its response; supplies an error when a response stream ends without the
 * response; and opens no standing stream, because that would hold a connection to every
 * server, and a hostile server could make the SDK reopen it without a pause. It rejects with
 * `InsufficientScopeError` when the token has too few scopes.
 */
export function transportFetch({ send, authorization }: TransportOptions): TransportFetch {
  const inFlight = new Map<RequestId, OpenRequest>();
  const results = new Map<RequestId, Result>();
  const take: TakeResult = ({ id }, result) => results.set(id, result);
  let resumedAt = 0;

  const authorized: Fetch = async (input, init) => {
    const token = await authorization.token(null);
    const response = await send(input, withToken(init, token));
    if (response.status === 403) throwIfScopeIsMissing(response);
    if (response.status !== 401 || token === null) return response;
    const renewed = await authorization.token(token);
    if (renewed === null || renewed === token) return response;
    await response.body?.cancel();
    return send(input, withToken(init, renewed));
  };

  const resume: Fetch = async (input, init) => {
    const from = new Headers(init?.headers).get("last-event-id");
    const request = [...inFlight.values()].find(({ lastEventId }) => lastEventId !== null && lastEventId === from);
    if (request === undefined) return new Response(null, { status: 405 });
    const waitMs = Math.max(0, resumedAt + resumePauseMs - Date.now());
    resumedAt = Date.now() + waitMs;
    await sleep(waitMs);
    const response = await authorized(input, limited(init, request.stop.signal));
    return response.body === null ? response : withBody(response, resumedStream(response.body, request, take));
  };

  const post: Fetch = async (input, init) => {
    const message = JSON.parse(String(init?.body)) as JSONRPCMessage;
    if (!("method" in message) || !("id" in message)) {
      if ("method" in message && message.method === "notifications/cancelled") cancelled(message.params?.requestId);
      return notice(input, init);
    }
    const { id, method } = message;
    const request: OpenRequest = { id, method, stop: new AbortController(), lastEventId: null };
    inFlight.set(id, request);
    const forget = () => inFlight.delete(id);
    try {
      const response = await authorized(input, limited(init, request.stop.signal));
      return await readableResponse(response, request, take, forget);
    } catch (error) {
      forget();
      throw error;
    }
  };

  /** Sends a message that expects no response. Servers have been seen to refuse `notifications/initialized` and to work all the same. */
  const notice: Fetch = async (input, init) => {
    const response = await authorized(input, limited(init, AbortSignal.timeout(noticeTimeoutMs)));
    if (refusedStatuses.has(response.status)) return response;
    void response.body?.cancel().catch(() => {});
    return new Response(null, { status: 202 });
  };

  const cancelled = (id: unknown) => {
    inFlight.get(id as RequestId)?.stop.abort();
    inFlight.delete(id as RequestId);
    results.delete(id as RequestId);
  };

  const withResult = (message: JSONRPCMessage): JSONRPCMessage => {
    if (!("result" in message)) return message;
    const went = results.get(message.id);
    return { ...message, result: { ...message.result, _meta: { [resultKey]: went } } };
  };

  const fetch: Fetch = (input, init) => {
    if (init?.method === "GET") return resume(input, init);
    return init?.method === "POST"
      ? post(input, init)
      : authorized(input, limited(init, AbortSignal.timeout(noticeTimeoutMs)));
  };
  return { fetch, withResult, answered: cancelled };
}

/** Throws `InsufficientScopeError` for a refusal that names scopes which the token does not have (RFC 6750). */
function throwIfScopeIsMissing(response: Response): void {
  const { error, scope, resourceMetadataUrl } = extractWWWAuthenticateParams(response);
  if (error !== "insufficient_scope") return;
  void response.body?.cancel().catch(() => {});
  throw new InsufficientScopeError({
    ...(scope === undefined ? {} : { requiredScope: scope }),
    ...(resourceMetadataUrl === undefined ? {} : { resourceMetadataUrl }),
  });
}

function withToken(init: RequestInit | undefined, token: string | null): RequestInit {
  const headers = new Headers(init?.headers);
  if (token !== null) headers.set("authorization", `Bearer ${token}`);
  return { ...init, headers };
}

function limited(init: RequestInit | undefined, signal: AbortSignal): RequestInit {
  return { ...init, signal: init?.signal ? AbortSignal.any([init.signal, signal]) : signal };
}
