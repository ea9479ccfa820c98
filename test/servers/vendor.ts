import { type HttpServer, listen } from "../../src/kernel/runtime.ts";

/** A request as a vendor's stand-in saw it. */
export interface VendorRequest {
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into requests freely.
  readonly body: any;
}

/** A server of this test's own that speaks a vendor's wire protocol. */
export interface VendorServer {
  readonly url: string;
  readonly requests: VendorRequest[];
  stop(): Promise<void>;
}

/** Starts one; `respond` makes the response to each request. */
export function startVendor(response: (request: VendorRequest) => Response | Promise<Response>): VendorServer {
  const requests: VendorRequest[] = [];
  const server: HttpServer = listen({
    hostname: "127.0.0.1",
    port: 0,
    fetch: async (request) => {
      const { pathname, search } = new URL(request.url);
      const text = await request.text();
      const body = text === "" ? null : JSON.parse(text);
      const seen = { method: request.method, path: pathname + search, headers: request.headers, body };
      requests.push(seen);
      return response(seen);
    },
  });
  return { url: `http://127.0.0.1:${server.port}`, requests, stop: () => server.stop(true) };
}
