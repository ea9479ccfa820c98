import { type HttpServer, listen } from "../../src/kernel/runtime.ts";

/** A message as the client sent it. */
export interface SentMessage {
  readonly id?: number | string;
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>> & { readonly _meta?: Readonly<Record<string, unknown>> };
}

/** What a server answers a request with: the `result`, a whole response, or what is made of the message. */
type Answer = object | Response | ((message: SentMessage) => object | Response | Promise<object | Response>);

/** An MCP server over HTTP that is written by hand, as many are: a test says what it answers, byte for byte where it has to. */
export class RawMcpServer {
  /** Results by method, or whole responses; a function decides for each message. */
  answers: Record<string, Answer> = {};
  /** Responds to what is no message, such as a request for metadata; null: it is one. */
  other: ((request: Request) => Response | null) | null = null;
  readonly messages: SentMessage[] = [];
  readonly #server: HttpServer;

  constructor() {
    this.#server = listen({ hostname: "127.0.0.1", port: 0, fetch: (request) => this.#respond(request) });
  }

  get url(): string {
    return `http://127.0.0.1:${this.#server.port}/mcp`;
  }

  /** The messages with this method. */
  sent(method: string): SentMessage[] {
    return this.messages.filter((message) => message.method === method);
  }

  stop(): Promise<void> {
    return this.#server.stop(true);
  }

  async #respond(request: Request): Promise<Response> {
    const served = this.other?.(request) ?? null;
    if (served !== null) return served;
    if (request.method !== "POST") return new Response(null, { status: 405 });
    const message = (await request.json()) as SentMessage;
    this.messages.push(message);
    const answer = this.answers[message.method] ?? sane[message.method];
    const made = typeof answer === "function" ? await answer(message) : answer;
    if (made instanceof Response) return made;
    if (message.id === undefined) return new Response(null, { status: 202 });
    const noMethod = { error: { code: -32_601, message: "Method not found" } };
    return rpc(message, made === undefined ? noMethod : { result: made });
  }
}

/** What a server answers where a test says nothing. */
const sane: Record<string, object> = {
  initialize: { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo: { name: "raw", version: "1" } },
  "tools/list": { tools: [{ name: "look", inputSchema: { type: "object" } }] },
  "tools/call": { content: [{ type: "text", text: "done" }] },
};

/** The response to a request, as JSON. */
export function rpc({ id }: SentMessage, fields: object): Response {
  return Response.json({ jsonrpc: "2.0", id, ...fields });
}

/** A response with this body, by hand. */
export function body(text: string, type: string | null = "application/json", status = 200): Response {
  const headers: Record<string, string> = type === null ? {} : { "content-type": type };
  return new Response(new TextEncoder().encode(text), { status, headers });
}

/** The response to a request as a stream of events, written as `frame` does it. */
export function events(message: SentMessage, fields: object, frame: (json: string) => string): Response {
  return body(frame(JSON.stringify({ jsonrpc: "2.0", id: message.id, ...fields })), "text/event-stream");
}
