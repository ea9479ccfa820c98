import { listen } from "../../src/kernel/runtime.ts";

/** What a user's message says whose response `holdModel` holds back. */
export const heldMark = "(held)";
/** What one says of whose response the end alone is held back: all its text comes, as its script has it. */
export const openEndedMark = "(open-ended)";

/** Of a request's text: it goes on after calls of tools. */
export const afterTools = (request: string) => request.includes('"role":"tool"');

/** A model whose responses to some messages wait until the test says otherwise. */
export interface HeldModel extends AsyncDisposable {
  /** The base URL for a provider. */
  readonly url: string;
  readonly port: number;
  /** Lets go what is held now, and holds nothing from here on. */
  release(): void;
}

/**
 * Puts a server before a simulated model that hands requests on at once, and
 * holds responses back until `release`: those to conversations with `heldMark`,
 * or to other requests, which `isHeld` tells by their text, and of those with
 * `openEndedMark` the end. For turns that must show nothing, or nothing more, or
 * must run, until something has happened: with pauses of fixed length in their
 * script they would end before it on a busy machine.
 */
export function holdModel(
  model: { readonly port: number },
  isHeld = (request: string) => request.includes(heldMark),
): HeldModel {
  const released = Promise.withResolvers<void>();
  const server = listen({
    hostname: "127.0.0.1",
    port: 0,
    fetch: async (request) => {
      const { method, headers, signal } = request;
      const text = await request.text();
      const { pathname } = new URL(request.url);
      const response = await fetch(`http://127.0.0.1:${model.port}${pathname}`, {
        method,
        headers,
        body: text,
        signal,
      });
      if (isHeld(text)) await released.promise;
      if (!text.includes(openEndedMark) || response.body === null) return response;
      return new Response(endHeldUntil(released.promise, response.body), response);
    },
  });
  return {
    url: `http://127.0.0.1:${server.port}/v1`,
    port: server.port,
    release: () => released.resolve(),
    [Symbol.asyncDispose]: async () => {
      released.resolve();
      await server.stop(true);
    },
  };
}

/** The events of a stream, those from the one that says why the answer ends only once `released` has resolved. */
function endHeldUntil(released: Promise<void>, body: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
  const [decoder, encoder] = [new TextDecoder(), new TextEncoder()];
  let rest = "";
  const events = new TransformStream<Uint8Array, Uint8Array>({
    transform: async (piece, controller) => {
      const pieces = (rest + decoder.decode(piece, { stream: true })).split(/(?<=\n\n)/);
      rest = pieces.at(-1)?.endsWith("\n\n") === false ? (pieces.pop() ?? "") : "";
      for (const event of pieces) {
        if (event.includes('"finish_reason":"')) await released;
        controller.enqueue(encoder.encode(event));
      }
    },
    flush: (controller) => controller.enqueue(encoder.encode(rest)),
  });
  return body.pipeThrough(events);
}
