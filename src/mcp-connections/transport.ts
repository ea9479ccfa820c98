import { sleep } from "../kernel/async/wait.ts";
import type { Fetch } from "../kernel/outbound/fetch.ts";
import { withBody } from "../kernel/outbound/watched-body.ts";
import { noticeTimeoutMs, resumePauseMs } from "./limits.ts";
import { ErrorCode, type JSONRPCMessage } from "./sdk.ts";

/** How a session authenticates. */
export interface Authorization {
  /**
   * Returns the token for the `Authorization` header; null sends none. `rejected` is
   * a token that the server has just refused: it is renewed if it can be, else
   * returned again. Throws `McpFailure`.
   */
  token(rejected: string | null): Promise<string | null>;
}

type RequestId = string | number;

interface TransportOptions {
  readonly send: Fetch;
  readonly authorization: Authorization;
  /** Whether a request waits for its response: only then an interrupted response is resumed. */
  readonly isBusy: () => boolean;
}

/**
 * Returns the fetch that the SDK's Streamable HTTP transport uses. It adds the token
 * and renews it once when it is refused; closes the response of a request that was
 * cancelled; supplies an error when a response stream ends without the response;
 * and opens no standing stream, because that would hold a connection to every
 * server, and a hostile server could make the SDK reopen it without a pause.
 */
export function transportFetch({ send, authorization, isBusy }: TransportOptions): Fetch {
  const inFlight = new Map<RequestId, AbortController>();
  let resumedAt = 0;

  const authorized: Fetch = async (input, init) => {
    const token = await authorization.token(null);
    const response = await send(input, withToken(init, token));
    if (response.status !== 401 || token === null) return response;
    const renewed = await authorization.token(token);
    if (renewed === null || renewed === token) return response;
    await response.body?.cancel();
    return send(input, withToken(init, renewed));
  };

  const resume: Fetch = async (input, init) => {
    const isResumption = new Headers(init?.headers).has("last-event-id");
    if (!isResumption || !isBusy()) return new Response(null, { status: 405 });
    const waitMs = Math.max(0, resumedAt + resumePauseMs - Date.now());
    resumedAt = Date.now() + waitMs;
    await sleep(waitMs);
    return authorized(input, init);
  };

  const post: Fetch = async (input, init) => {
    const message = JSON.parse(String(init?.body)) as JSONRPCMessage;
    if (!("method" in message) || !("id" in message)) {
      if ("method" in message && message.method === "notifications/cancelled") cancelled(message.params?.requestId);
      return authorized(input, limited(init, AbortSignal.timeout(noticeTimeoutMs)));
    }
    const { id } = message;
    const stop = new AbortController();
    inFlight.set(id, stop);
    const forget = () => inFlight.delete(id);
    try {
      const response = await authorized(input, limited(init, stop.signal));
      if (response.body === null) forget();
      return response.body === null ? response : withBody(response, withResponse(response, id, forget));
    } catch (error) {
      forget();
      throw error;
    }
  };

  const cancelled = (id: unknown) => inFlight.get(id as RequestId)?.abort();

  return (input, init) => {
    if (init?.method === "GET") return resume(input, init);
    return init?.method === "POST"
      ? post(input, init)
      : authorized(input, limited(init, AbortSignal.timeout(noticeTimeoutMs)));
  };
}

function withToken(init: RequestInit | undefined, token: string | null): RequestInit {
  const headers = new Headers(init?.headers);
  if (token !== null) headers.set("authorization", `Bearer ${token}`);
  return { ...init, headers };
}

function limited(init: RequestInit | undefined, signal: AbortSignal): RequestInit {
  return { ...init, signal: init?.signal ? AbortSignal.any([init.signal, signal]) : signal };
}

/**
 * Returns the body of the response to a request. When an event stream ends without
 * the JSON-RPC response, the SDK waits until the request times out. So an error is
 * appended to such a stream; the SDK ignores it when the response has come. A
 * stream whose events have ids can be resumed, and stays as it is.
 */
function withResponse(response: Response, id: RequestId, ended: () => void): ReadableStream<Uint8Array> {
  const isStream = response.headers.get("content-type")?.toLowerCase().startsWith("text/event-stream") ?? false;
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  let line = "\n";
  let isResumable = !isStream;
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const piece = await reader.read().catch((error: unknown) => {
          if (isResumable) controller.error(error);
          return { done: true, value: undefined, failed: true } as const;
        });
        if (!piece.done) {
          const text = line + Buffer.from(piece.value).toString("latin1");
          isResumable ||= /[\r\n]id:/.test(text);
          line = text.slice(-"\nid".length);
          return controller.enqueue(piece.value);
        }
        ended();
        if (isResumable && "failed" in piece) return;
        if (!isResumable) controller.enqueue(lostResponse(id));
        controller.close();
      },
      cancel(reason) {
        ended();
        return reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
}

function lostResponse(id: RequestId): Uint8Array {
  const error = { code: ErrorCode.ConnectionClosed, message: "The connection closed before the answer." };
  // The first empty line ends an event that may have been cut in the middle.
  return new TextEncoder().encode(`\n\ndata: ${JSON.stringify({ jsonrpc: "2.0", id, error })}\n\n`);
}
