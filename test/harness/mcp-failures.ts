import type { McpServer } from "../servers/mcp.ts";

/** Every failure of a server: how to make it, and the code it has. */
export const failures: [string, string, (server: McpServer) => Record<string, unknown>][] = [
  ["a closed port", "mcp_connection_unreachable", () => ({ url: "http://127.0.0.1:9/mcp" })],
  [
    "a refused token",
    "mcp_connection_authentication_failed",
    (server) => {
      server.settings.accepts = (token) => token === "right";
      return { authType: "bearer", bearerToken: "wrong" };
    },
  ],
  [
    "a page that is no MCP server",
    "mcp_connection_discovery_failed",
    (server) => {
      server.settings.intercept = () => new Response("<h1>Hello</h1>", { headers: { "content-type": "text/html" } });
      return {};
    },
  ],
  ["a path that is not there", "mcp_connection_discovery_failed", (server) => ({ url: `${server.origin}/nothing` })],
  [
    "JSON that is no response of MCP",
    "mcp_connection_discovery_failed",
    (server) => {
      server.settings.intercept = () => Response.json({ hello: "world" });
      return {};
    },
  ],
  [
    "a server that is overloaded",
    "mcp_connection_unreachable",
    (server) => {
      server.settings.intercept = () => new Response("later", { status: 503 });
      return {};
    },
  ],
  [
    "a stream that ends without a response",
    "mcp_connection_unreachable",
    (server) => {
      server.settings.intercept = () => new Response("\n", { headers: { "content-type": "text/event-stream" } });
      return {};
    },
  ],
  [
    "a response without end",
    "mcp_connection_discovery_failed",
    (server) => {
      const page = new Uint8Array(1024 * 1024).fill(32);
      const body = () => new ReadableStream({ pull: (controller) => controller.enqueue(page) });
      server.settings.intercept = () => new Response(body(), { headers: { "content-type": "application/json" } });
      return {};
    },
  ],
];
