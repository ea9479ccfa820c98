import { createMcpHandler, Server } from "@modelcontextprotocol/server";
import { type HttpServer, listen } from "../../src/kernel/runtime.ts";

/** A request as the server saw it. */
interface SeenRequest {
  readonly method: string;
  readonly headers: Headers;
}

/** A real MCP server of revision 2026-07-28 for tests, made with the official SDK. It has no sessions, and refuses those of older revisions. */
export interface StatelessMcpServer {
  readonly url: string;
  readonly requests: readonly SeenRequest[];
  stop(): Promise<void>;
}

/** Starts one, with a tool `echo` that returns its arguments, on `port` or a free one. */
export function startStatelessMcp(port = 0): StatelessMcpServer {
  const requests: SeenRequest[] = [];
  const inputSchema = {
    type: "object" as const,
    properties: { region: { type: "string" as const, "x-mcp-header": "Region" } },
  };
  const handler = createMcpHandler(
    () => {
      const server = new Server({ name: "stateless", version: "2.0.0" }, { capabilities: { tools: {} } });
      server.setRequestHandler("tools/list", () => ({
        tools: [{ name: "echo", inputSchema }],
        ttlMs: 0,
        cacheScope: "private" as const,
      }));
      server.setRequestHandler("tools/call", ({ params }) => ({
        content: [{ type: "text" as const, text: JSON.stringify(params.arguments) }],
      }));
      return server;
    },
    { legacy: "reject" },
  );
  const http: HttpServer = listen({
    hostname: "127.0.0.1",
    port,
    fetch: async (request) => {
      const body = (await request.clone().json()) as { method: string };
      requests.push({ method: body.method, headers: request.headers });
      return handler.fetch(request);
    },
  });
  return { url: `http://127.0.0.1:${http.port}/mcp`, requests, stop: () => http.stop(true) };
}
