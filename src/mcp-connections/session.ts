import { settleOr } from "../kernel/async/wait.ts";
import type { Fetch } from "../kernel/outbound/fetch.ts";
import {
  callTimeoutMs,
  connectTimeoutMs,
  listTimeoutMs,
  noticeTimeoutMs,
  toolPagesMax,
  toolsFreshMs,
  toolsMax,
} from "./limits.ts";
import {
  type CallToolResult,
  CallToolResultSchema,
  Client,
  type jsonSchemaValidator,
  ListToolsResultSchema,
  StreamableHTTPClientTransport,
  StreamableHTTPError,
  ToolListChangedNotificationSchema,
  type Transport,
} from "./sdk.ts";
import { type Authorization, transportFetch } from "./transport.ts";

/** A tool as an MCP server offers it. */
export interface McpTool {
  /** The server's own name for it. */
  readonly name: string;
  readonly description: string;
  readonly inputSchema: Record<string, unknown>;
  /** The server says that it changes nothing. */
  readonly readOnly: boolean;
}

/** Where a server is and as whom to speak to it. */
export interface McpSessionTarget {
  readonly url: string;
  /** A bounded fetch (`boundedFetch`). */
  readonly send: Fetch;
  readonly authorization: Authorization;
}

/** The server does not know the session any more: the request did nothing, and a new session may repeat it. */
export class SessionLostError extends Error {
  override readonly name = "SessionLostError";
}

/** What servers are told of us. */
const clientInfo = { name: "parley", version: "1.0.0" };
/** Compiling a stranger's schemas would run code made of them, and the model is the one who reads a result. */
const noValidation: jsonSchemaValidator = {
  getValidator:
    <T>() =>
    (input: unknown) => ({ valid: true, data: input as T & {}, errorMessage: undefined }),
};

/** One initialised MCP session over Streamable HTTP. */
export class McpSession {
  private readonly client: Client;
  private readonly transport: StreamableHTTPClientTransport;
  private waiting = 0;
  private list: { tools: Promise<McpTool[]>; readAt: number } | null = null;

  private constructor({ url, send, authorization }: McpSessionTarget) {
    this.client = new Client(clientInfo, { capabilities: {}, jsonSchemaValidator: noValidation });
    const fetch = transportFetch({ send, authorization, isBusy: () => this.waiting > 0 });
    this.transport = new StreamableHTTPClientTransport(new URL(url), { fetch });
    this.client.setNotificationHandler(ToolListChangedNotificationSchema, () => this.forgetTools());
  }

  /** Connects and initialises. Throws what `failureOf` understands. */
  static async open(target: McpSessionTarget, signal: AbortSignal): Promise<McpSession> {
    const session = new McpSession(target);
    await session.client.connect(session.transport as Transport, { timeout: connectTimeoutMs, signal });
    return session;
  }

  /** Name and version as the server tells them. */
  get server(): { name: string; version: string } {
    const { name = "", version = "" } = this.client.getServerVersion() ?? {};
    return { name, version };
  }

  /** The server's tools, from a list that is at most `toolsFreshMs` old. Throws what `failureOf` understands, and `SessionLostError`. */
  tools(): Promise<McpTool[]> {
    if (this.list === null || this.list.readAt + toolsFreshMs < Date.now()) {
      const list = { tools: this.readTools(), readAt: Date.now() };
      this.list = list;
      list.tools.catch(() => {
        if (this.list === list) this.list = null;
      });
    }
    return this.list.tools;
  }

  /** Makes the next `tools()` ask the server. */
  forgetTools(): void {
    this.list = null;
  }

  private async readTools(): Promise<McpTool[]> {
    if (this.client.getServerCapabilities()?.tools === undefined) return [];
    const tools = new Map<string, McpTool>();
    let cursor: string | undefined;
    for (let page = 0; page < toolPagesMax && tools.size < toolsMax; page++) {
      const params = cursor === undefined ? {} : { cursor };
      const list = await this.wait(() =>
        this.client.request({ method: "tools/list", params }, ListToolsResultSchema, { timeout: listTimeoutMs }),
      );
      for (const { name, description = "", inputSchema, annotations } of list.tools) {
        if (tools.size < toolsMax && !tools.has(name))
          tools.set(name, { name, description, inputSchema, readOnly: annotations?.readOnlyHint === true });
      }
      if (list.nextCursor === undefined || list.nextCursor === cursor) break;
      cursor = list.nextCursor;
    }
    return [...tools.values()];
  }

  /**
   * Calls a tool. When `signal` aborts, the server is told so and the call
   * rejects. Throws `McpError` for what the server answers, `SessionLostError`,
   * and what `failureOf` understands.
   */
  async call(
    name: string,
    args: Record<string, unknown>,
    meta: Record<string, unknown> | null,
    signal: AbortSignal | undefined,
  ): Promise<CallToolResult> {
    signal?.throwIfAborted();
    // The SDK never lets go of a signal, so it gets one that ends with the call.
    const stop = new AbortController();
    const abort = () => stop.abort(signal?.reason);
    signal?.addEventListener("abort", abort, { once: true });
    const params = { name, arguments: args, ...(meta === null ? {} : { _meta: meta }) };
    try {
      return await this.wait(() =>
        this.client.request({ method: "tools/call", params }, CallToolResultSchema, {
          timeout: callTimeoutMs,
          signal: stop.signal,
        }),
      );
    } finally {
      signal?.removeEventListener("abort", abort);
    }
  }

  private async wait<T>(request: () => Promise<T>): Promise<T> {
    this.waiting++;
    try {
      return await request();
    } catch (error) {
      throw this.isLost(error) ? new SessionLostError() : error;
    } finally {
      this.waiting--;
    }
  }

  /** 404 by the protocol; many servers say 400 when they know no such session. */
  private isLost(error: unknown): boolean {
    if (!(error instanceof StreamableHTTPError) || this.transport.sessionId === undefined) return false;
    return error.code === 404 || error.code === 400;
  }

  /** Ends the session at the server, if that answers in time, and closes the connection. Never throws. */
  async close(): Promise<void> {
    await settleOr(
      this.transport.terminateSession().catch(() => {}),
      noticeTimeoutMs,
    );
    await this.client.close().catch(() => {});
  }
}
