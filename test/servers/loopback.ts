import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** An HTTP server on this machine, for stand-ins that need more than requests and responses. */
export interface LoopbackServer {
  /** Its origin, without a trailing slash. */
  readonly origin: string;
  /** Ends it, with its open connections. */
  stop(): void;
}

/** Starts one on a free port. Where `respond` fails, the connection ends; clients that go away are no errors. */
export async function startLoopback(
  respond: (request: IncomingMessage, response: ServerResponse) => unknown,
): Promise<LoopbackServer> {
  const server = createServer((request, response) => {
    request.on("error", () => {});
    response.on("error", () => {});
    void (async () => respond(request, response))().catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** The text of a request's body. */
export async function bodyText(request: IncomingMessage): Promise<string> {
  let text = "";
  for await (const piece of request) text += piece;
  return text;
}

/** Resolves when a response takes more again, or its client is gone. */
export function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const goOn = () => {
      response.off("drain", goOn).off("close", goOn);
      resolve();
    };
    response.on("drain", goOn).on("close", goOn);
  });
}
