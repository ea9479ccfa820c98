import { listen } from "../../src/kernel/runtime.ts";
import type { SimulatedModel } from "../../src/simulated-model/server.ts";

/** What a user's message says whose response `holdModel` holds back. */
export const heldMark = "(held)";

/** A model whose responses to some messages wait until the test says otherwise. */
export interface HeldModel extends AsyncDisposable {
  /** The base URL for a provider. */
  readonly url: string;
  /** Lets go what is held now, and holds nothing from here on. */
  release(): void;
}

/**
 * Puts a server before a simulated model that hands requests on at once, and
 * holds responses to conversations with `heldMark` back until `release`. For
 * turns that must show nothing until something has happened: with a pause of
 * fixed length in their script they would end before it on a busy machine.
 */
export function holdModel(model: SimulatedModel): HeldModel {
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
      if (text.includes(heldMark)) await released.promise;
      return response;
    },
  });
  return {
    url: `http://127.0.0.1:${server.port}/v1`,
    release: () => released.resolve(),
    [Symbol.asyncDispose]: async () => {
      released.resolve();
      await server.stop(true);
    },
  };
}
