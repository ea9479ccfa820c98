import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { CallToolRequestSchema, ListToolsRequestSchema, type Tool } from "@modelcontextprotocol/sdk/types.js";
import { type HttpServer, listen } from "../../src/kernel/runtime.ts";
import { McpSessions } from "./mcp-sessions.ts";

/** A call of a tool as the server saw it. */
export interface ServerCall {
  readonly name: string;
  readonly args: Record<string, unknown>;
  readonly meta: Record<string, unknown>;
  /** Aborts when the client takes the call back. */
  readonly signal: AbortSignal;
  /** Tells the client how far the call has come, if it asked for that. */
  readonly report: (progress: number, total?: number, message?: string) => Promise<void>;
}

type CallResult = { content: readonly ({ type: string } & Record<string, unknown>)[]; isError?: boolean };

/** What a test may set while the server runs. */
export interface McpServerSettings {
  tools: Tool[];
  /** The result of a call; default: the arguments as JSON. */
  onCall: (call: ServerCall) => Promise<CallResult> | CallResult;
  /** Whether a token may come in; null lets everybody in. */
  accepts: ((token: string) => boolean) | null;
  /** Where the protected resource metadata say that tokens are from. */
  authorizationServer: string | null;
  /** What it returns is sent instead of the server's own response; null lets the server respond. */
  intercept: ((request: Request) => Response | Promise<Response | null> | null) | null;
  /** Tools on one page of the list. */
  pageRows: number;
}

/** A tool with one text argument. */
export function textTool(name: string, fields: Partial<Tool> = {}): Tool {
  return {
    name,
    description: `The tool ${name}.`,
    inputSchema: { type: "object", properties: { text: { type: "string" } } },
    ...fields,
  };
}

export function textResult(text: string, isError = false): CallResult {
  return { content: [{ type: "text", text }], ...(isError ? { isError } : {}) };
}

/** A real MCP server over HTTP for tests, made with the official SDK, with sessions. */
export class McpServer {
  readonly settings: McpServerSettings = {
    tools: [textTool("echo", { annotations: { readOnlyHint: true } }), textTool("write")],
    onCall: ({ args }) => textResult(JSON.stringify(args)),
    accepts: null,
    authorizationServer: null,
    intercept: null,
    pageRows: 100,
  };
  readonly calls: ServerCall[] = [];
  /** JSON-RPC methods in the order they came, and HTTP's DELETE. */
  readonly methods: string[] = [];
  /** Tokens in the order they came, one a request. */
  readonly tokens: string[] = [];
  readonly #sessions = new McpSessions(() => this.#newServer());
  readonly #server: HttpServer;

  constructor(port = 0) {
    this.#server = listen({ hostname: "127.0.0.1", port, fetch: (request) => this.#respond(request) });
  }

  get port(): number {
    return this.#server.port;
  }

  get origin(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  get url(): string {
    return `${this.origin}/mcp`;
  }

  /** How often a method came in. */
  count(method: string): number {
    return this.methods.filter((seen) => seen === method).length;
  }

  /** Forgets every session, as a restart does. */
  forgetSessions(): void {
    this.#sessions.clear();
  }

  get openSessions(): number {
    return this.#sessions.size;
  }

  stop(): Promise<void> {
    return this.#server.stop(true);
  }

  async #respond(request: Request): Promise<Response> {
    const early = await this.settings.intercept?.(request);
    if (early) return early;
    const { pathname } = new URL(request.url);
    const { authorizationServer } = this.settings;
    if (pathname === "/.well-known/oauth-protected-resource/mcp" && authorizationServer !== null)
      return Response.json({ resource: this.url, authorization_servers: [authorizationServer] });
    if (pathname !== "/mcp") return new Response("not found", { status: 404 });
    const token = /^Bearer (.+)$/.exec(request.headers.get("authorization") ?? "")?.[1] ?? "";
    this.tokens.push(token);
    if (this.settings.accepts !== null && !this.settings.accepts(token)) return this.#refuse();
    return this.#serve(request);
  }

  #refuse(): Response {
    const metadata = `${this.origin}/.well-known/oauth-protected-resource/mcp`;
    const challenge = this.settings.authorizationServer === null ? "Bearer" : `Bearer resource_metadata="${metadata}"`;
    return new Response("who are you?", { status: 401, headers: { "www-authenticate": challenge } });
  }

  async #serve(request: Request): Promise<Response> {
    if (request.method !== "POST") this.methods.push(request.method);
    const body = request.method === "POST" ? ((await request.json()) as { method?: string }) : undefined;
    if (body?.method !== undefined) this.methods.push(body.method);
    return this.#sessions.respond(request, body);
  }

  #newServer(): Server {
    const server = new Server({ name: "test-server", version: "1.2.3" }, { capabilities: { tools: {} } });
    server.setRequestHandler(ListToolsRequestSchema, ({ params }) => {
      const from = Number(params?.cursor ?? 0);
      const to = from + this.settings.pageRows;
      const { tools } = this.settings;
      return { tools: tools.slice(from, to), ...(to < tools.length ? { nextCursor: String(to) } : {}) };
    });
    server.setRequestHandler(CallToolRequestSchema, async ({ params }, { signal, sendNotification }) => {
      const { progressToken, ...meta } = params._meta ?? {};
      const report = async (progress: number, total?: number, message?: string) => {
        if (progressToken === undefined) return;
        const said = {
          progressToken,
          progress,
          ...(total === undefined ? {} : { total }),
          ...(message === undefined ? {} : { message }),
        };
        await sendNotification({ method: "notifications/progress", params: said });
      };
      const call = { name: params.name, args: params.arguments ?? {}, meta, signal, report };
      this.calls.push(call);
      return (await this.settings.onCall(call)) as never;
    });
    return server;
  }
}
