import { watchBody } from "../kernel/outbound/watched-body.ts";

/** The id of a JSON-RPC request. */
export type RequestId = string | number;

/** A request whose response has not come yet, or whose streams are still open. */
export interface OpenRequest {
  readonly id: RequestId;
  /** Closes its streams. */
  readonly stop: AbortController;
  /** The id of the last event on its streams, by which the SDK resumes it; null: no event had one. */
  lastEventId: string | null;
}

/** JSON-RPC's code of a connection that was closed before the response came; a server may send it too. */
export const closedConnectionCode = -32_000;
/** An event's id that is longer is cut, so that the request cannot be resumed from it. */
const eventIdLengthMax = 1_024;

/**
 * Returns the body of the response to a request. When an event stream ends without
 * the JSON-RPC response, the SDK waits until the request times out. So an error is
 * appended to such a stream; the SDK ignores it when the response has come. A
 * stream whose events have ids can be resumed, and stays as it is. `forget` is called
 * when nothing more can come for the request.
 */
export function streamOf(response: Response, request: OpenRequest, forget: () => void): ReadableStream<Uint8Array> {
  const isStream = response.headers.get("content-type")?.toLowerCase().startsWith("text/event-stream") ?? false;
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  const noteIds = eventIds(request);
  const mayResume = () => !isStream || request.lastEventId !== null;
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const piece = await reader.read().catch((error: unknown) => {
          if (mayResume()) controller.error(error);
          return { done: true, value: undefined, failed: true } as const;
        });
        if (!piece.done) {
          if (isStream) noteIds(piece.value);
          return controller.enqueue(piece.value);
        }
        if (request.lastEventId === null) forget();
        if (mayResume() && "failed" in piece) return;
        if (!mayResume()) controller.enqueue(lostResponse(request.id));
        controller.close();
      },
      cancel(reason) {
        forget();
        return reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
}

/** Returns the body of a resumed stream; the ids of its events are noted, because it may be resumed again. */
export function resumedStream(body: ReadableStream<Uint8Array>, request: OpenRequest): ReadableStream<Uint8Array> {
  const noteIds = eventIds(request);
  const look = (piece: Uint8Array) => {
    noteIds(piece);
    return undefined;
  };
  return watchBody(body, { look });
}

/** Returns a function that notes the ids of a stream's events as its bytes come. */
function eventIds(request: OpenRequest): (piece: Uint8Array) => void {
  let line = "";
  return (piece) => {
    const lines = (line + Buffer.from(piece).toString("latin1")).split(/[\r\n]/);
    line = (lines.pop() ?? "").slice(0, eventIdLengthMax);
    for (const text of lines) {
      if (!text.startsWith("id:")) continue;
      request.lastEventId = Buffer.from(text.slice("id:".length).replace(/^ /, ""), "latin1").toString();
    }
  };
}

function lostResponse(id: RequestId): Uint8Array {
  const error = { code: closedConnectionCode, message: "The connection closed before the answer." };
  // The first empty line ends an event that may have been cut in the middle.
  return new TextEncoder().encode(`\n\ndata: ${JSON.stringify({ jsonrpc: "2.0", id, error })}\n\n`);
}
