import { createMcpHandler, Server } from "@modelcontextprotocol/server";
import { type HttpServer, listen } from "../../src/kernel/runtime.ts";

/** A request as the server saw it. */
interface SeenRequest {
  readonly method: string;
  readonly headers: Headers;
}

/** A request as JSON-RPC has it. */
export interface StatelessMessage {
  readonly method: string;
  readonly id: number;
  readonly params: Readonly<Record<string, unknown>> & { readonly _meta?: Readonly<Record<string, unknown>> };
}

/** A real MCP server of revision 2026-07-28 for tests, made with the official SDK. It has no sessions, and refuses those of older revisions. */
export interface StatelessMcpServer {
  readonly url: string;
  readonly requests: readonly SeenRequest[];
  /** What is sent instead of the server's own result; null lets it respond. */
  intercept: ((message: StatelessMessage) => object | null) | null;
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
      const message = (await request.clone().json()) as StatelessMessage;
      requests.push({ method: message.method, headers: request.headers });
      const result = server.intercept?.(message) ?? null;
      if (result === null) return handler.fetch(request);
      return Response.json({ jsonrpc: "2.0", id: message.id, ...result });
    },
  });
  const server: StatelessMcpServer = {
    url: `http://127.0.0.1:${http.port}/mcp`,
    requests,
    intercept: null,
    stop: () => http.stop(true),
  };
  return server;
}
