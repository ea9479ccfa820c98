import { randomUUID } from "node:crypto";
import type { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js";

/** The sessions of an MCP server that is made with the official SDK: each has a server of its own. */
export class McpSessions {
  readonly #known = new Map<string, WebStandardStreamableHTTPServerTransport>();
  readonly #newServer: () => Server;

  constructor(newServer: () => Server) {
    this.#newServer = newServer;
  }

  get size(): number {
    return this.#known.size;
  }

  /** Forgets every session, as a restart does. */
  clear(): void {
    this.#known.clear();
  }

  /** Responds to a request, whose body was read, in its session or in a new one. */
  async respond(request: Request, body: unknown): Promise<Response> {
    const id = request.headers.get("mcp-session-id");
    const known = id === null ? undefined : this.#known.get(id);
    if (id !== null && known === undefined) return new Response("no such session", { status: 404 });
    const transport = known ?? (await this.#begin());
    return transport.handleRequest(request, { parsedBody: body });
  }

  async #begin(): Promise<WebStandardStreamableHTTPServerTransport> {
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => void this.#known.set(id, transport),
      onsessionclosed: (id) => void this.#known.delete(id),
    });
    await this.#newServer().connect(transport as never);
    return transport;
  }
}
