/**
 * An MCP server with one tool, made with the official SDK. It prints where it listens: on
 * port 3333, or on the one that its first word names, of which 0 is a free one.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { z } from "zod";

function makeServer(): McpServer {
  const server = new McpServer({ name: "clock", version: "1.0.0" });
  server.registerTool(
    "time",
    {
      description: "The time of day in a time zone.",
      inputSchema: { zone: z.string().default("UTC") },
      // Under the policy `auto` a tool that only reads runs without asking.
      annotations: { readOnlyHint: true },
    },
    ({ zone }) => ({ content: [{ type: "text", text: new Date().toLocaleTimeString("en-GB", { timeZone: zone }) }] }),
  );
  return server;
}

const server = createServer(async (request, response) => {
  if (request.url !== "/mcp") return void response.writeHead(404).end();
  // It keeps no sessions, so each request has a server of its own.
  const transport = new StreamableHTTPServerTransport();
  response.on("close", () => void transport.close());
  await makeServer().connect(transport);
  await transport.handleRequest(request, response);
});

server.listen(Number(process.argv[2] ?? 3333), "127.0.0.1", () => {
  const { port } = server.address() as AddressInfo;
  process.stdout.write(`The MCP server listens on http://127.0.0.1:${port}/mcp\n`);
});
