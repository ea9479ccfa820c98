import type { ServerResponse } from "node:http";
import { bodyText, drained, type LoopbackServer, startLoopback } from "./loopback.ts";

/** What one response was, as the server saw it. */
export interface Flow {
  /** The bytes that were handed to the socket; it takes more only as its buffers empty. */
  written: number;
  readonly acceptedEncoding: string | undefined;
  closed: boolean;
}

/** What to respond: the pieces are written one after the other, as fast as the client takes them. */
export interface FloodAnswer {
  readonly status?: number;
  readonly headers?: Record<string, string>;
  readonly pieces: Iterable<string | Uint8Array>;
}

/** A model provider that writes what it is told to and notices how much of it could be sent. */
export interface FloodServer extends Pick<LoopbackServer, "stop"> {
  readonly url: string;
  readonly flows: Flow[];
}

/** Starts one; `answer` gets the last message of the request. */
export async function startFlood(answer: (lastMessage: string) => FloodAnswer): Promise<FloodServer> {
  const flows: Flow[] = [];
  const { origin, stop } = await startLoopback(async (request, response) => {
    const { messages } = JSON.parse(await bodyText(request)) as { messages: { content: string }[] };
    const flow: Flow = { written: 0, acceptedEncoding: request.headers["accept-encoding"], closed: false };
    flows.push(flow);
    response.once("close", () => {
      flow.closed = true;
    });
    const { status = 200, headers = {}, pieces } = answer(messages.at(-1)?.content ?? "");
    response.writeHead(status, { "content-type": "text/event-stream", ...headers });
    await pour(response, pieces, flow);
    response.end();
  });
  return {
    url: `${origin}/v1`,
    flows,
    stop,
  };
}

async function pour(response: ServerResponse, pieces: Iterable<string | Uint8Array>, flow: Flow): Promise<void> {
  for (const piece of pieces) {
    if (flow.closed) return;
    flow.written += piece.length;
    if (!response.write(piece)) await drained(response);
  }
}
