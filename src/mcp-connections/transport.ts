import type { Fetch } from "../kernel/outbound/fetch.ts";
import { noticeTimeoutMs, resumePauseMs } from "./limits.ts";
import { ErrorCode, type JSONRPCMessage } from "./sdk.ts";
import { withBody } from "./wire.ts";

/** Who a session speaks as. */
export interface Authorization {
  /**
   * The token for the `Authorization` header; null sends none. `rejected` is a
   * token that the server has just refused: a token that can be renewed is, any
   * other comes back as it is. Throws `McpFailure`.
   */
  token(rejected: string | null): Promise<string | null>;
}

type RequestId = string | number;

interface TransportOptions {
  readonly send: Fetch;
  readonly authorization: Authorization;
  /** Whether a request waits for an answer: only then is an interrupted response worth resuming. */
  readonly isBusy: () => boolean;
}

/**
 * Makes the fetch under the SDK's Streamable HTTP transport. It adds the token
 * and renews it once when it is refused; closes the response of a request that
 * was cancelled; answers a request whose response stream ended without one; and
 * opens no standing stream, because that would hold a connection for every
 * server, and a hostile one could make the SDK reopen it without pause.
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
    await new Promise((resolve) => setTimeout(resolve, waitMs));
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
      return response.body === null ? response : withBody(response, answered(response, id, forget));
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
 * The body of the response to a request. The SDK waits for an answer that an
 * event stream ended without until the request times out, so such a stream is
 * given one: an error, which the SDK ignores when the answer has come. A stream
 * whose events have ids can be resumed, and is left alone.
 */
function answered(response: Response, id: RequestId, ended: () => void): ReadableStream<Uint8Array> {
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
        if (!isResumable) controller.enqueue(lostAnswer(id));
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

function lostAnswer(id: RequestId): Uint8Array {
  const error = { code: ErrorCode.ConnectionClosed, message: "The connection closed before the answer." };
  // The first empty line ends an event that was cut in the middle.
  return new TextEncoder().encode(`\n\ndata: ${JSON.stringify({ jsonrpc: "2.0", id, error })}\n\n`);
}
