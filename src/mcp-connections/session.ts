import { waitAtMost } from "../kernel/async/wait.ts";
import type { Fetch } from "../kernel/outbound/fetch.ts";
import { version } from "../kernel/version.ts";
import {
  connectTimeoutMs,
  listTimeoutMs,
  noticeTimeoutMs,
  toolListBytesMax,
  toolPagesMax,
  toolsFreshMs,
  toolsMax,
} from "./limits.ts";
import { hasValidHeaders } from "./param-headers.ts";
import {
  anyResult,
  type CallToolResult,
  Client,
  type InputRequiredResult,
  type jsonSchemaValidator,
  ProtocolError,
  type RequestOptions,
  SdkHttpError,
  StreamableHTTPClientTransport,
} from "./sdk.ts";
import { tasksExtension, withTaskInMeta } from "./tasks.ts";
import { type Authorization, type TransportFetch, transportFetch } from "./transport.ts";

/** A tool as an MCP server offers it. */
export interface McpTool {
  /** The server's own name for it. */
  readonly name: string;
  readonly description: string;
  readonly inputSchema: Record<string, unknown>;
  /** The server says that the tool changes nothing. */
  readonly readOnly: boolean;
  /** A call of it has to be asked for as a task (revision 2025-11-25). */
  readonly runsAsTask: boolean;
}

/** Where a server is and how to authenticate there. */
export interface McpSessionTarget {
  readonly url: string;
  /** A bounded fetch (`boundedFetch`). */
  readonly send: Fetch;
  readonly authorization: Authorization;
  /** The revision of the protocol that the server spoke when it was last connected to; null: not known, so it is asked. */
  readonly protocolVersion: string | null;
}

/** The server does not know the session any more: the request had no effect, and may be repeated in a new session. */
export class SessionLostError extends Error {
  override readonly name = "SessionLostError";
}

type CallParams = Parameters<Client["callTool"]>[0];
type CallOptions = NonNullable<Parameters<Client["callTool"]>[1]>;

/** The client's name and version that servers are told. */
export const clientInfo = { name: "parley", version };
/** No validation of results: the validator compiles schemas to code, and these schemas are not trusted. The model reads the results anyway. */
const noValidation: jsonSchemaValidator = {
  getValidator:
    <T>() =>
    (input: unknown) => ({ valid: true, data: input as T & {}, errorMessage: undefined }),
};

/** From this revision on the protocol has no sessions. */
const firstWithoutSessions = "2026-07-28";

/** A server's tools as they were read, or are being read. */
interface ToolList {
  readonly tools: Promise<McpTool[]>;
  readonly readAt: number;
  /** The reading stops then. */
  readonly deadline: number;
  /** Of what was read so far. */
  bytes: number;
}

/** One initialised MCP session over Streamable HTTP. */
export class McpSession {
  readonly #client: Client;
  readonly #transport: StreamableHTTPClientTransport;
  readonly #answered: TransportFetch["answered"];
  #list: ToolList | null = null;

  private constructor({ url, send, authorization, protocolVersion }: McpSessionTarget) {
    this.#client = new Client(clientInfo, {
      capabilities: { extensions: { [tasksExtension]: {} } },
      jsonSchemaValidator: noValidation,
      versionNegotiation: { mode: hadSessions(protocolVersion) ? "legacy" : "auto" },
    });
    const { fetch, answered } = transportFetch({ send, authorization });
    this.#transport = new StreamableHTTPClientTransport(new URL(url), { fetch });
    this.#answered = answered;
    this.#client.setNotificationHandler("notifications/tools/list_changed", () => this.forgetTools());
  }

  /**
   * Connects, and finds out which revision of the protocol the server speaks. Throws errors
   * that `failureOf` reads.
   */
  static async open(target: McpSessionTarget, signal: AbortSignal): Promise<McpSession> {
    const session = new McpSession(target);
    try {
      await session.#client.connect(session.#transport, { timeout: connectTimeoutMs, signal });
    } catch (error) {
      // It had sessions when it was last connected to; it may have been replaced by one without.
      if (hadSessions(target.protocolVersion) && speaksOtherwise(error))
        return McpSession.open({ ...target, protocolVersion: null }, signal);
      throw error;
    }
    const deliver = session.#transport.onmessage;
    session.#transport.onmessage = (message) => {
      deliver?.(withTaskInMeta(message));
      if (!("method" in message) && message.id !== undefined) session.#answered(message.id);
    };
    return session;
  }

  /** The revision of the protocol in use: a date. */
  get protocolVersion(): string {
    return this.#client.getNegotiatedProtocolVersion() ?? "";
  }

  /** Whether the revision in use has sessions, as those before 2026-07-28 do. */
  get hasSessions(): boolean {
    return this.#client.getProtocolEra() !== "modern";
  }

  /** Whether calls of tools may be asked for as tasks. In later revisions the server decides that itself. */
  get #hasTasks(): boolean {
    return this.hasSessions && this.#client.getServerCapabilities()?.tasks?.requests?.tools?.call !== undefined;
  }

  /** The server's name and version, as it tells them. */
  get server(): { name: string; version: string } {
    const { name = "", version = "" } = this.#client.getServerVersion() ?? {};
    return { name, version };
  }

  /**
   * Returns the server's tools, from a list that is at most `toolsFreshMs` old, or that is
   * read until `deadline` at most. Throws errors that `failureOf` reads, and
   * `SessionLostError`.
   */
  async tools(deadline = Date.now() + listTimeoutMs): Promise<McpTool[]> {
    const list = this.#currentList(deadline);
    try {
      return await list.tools;
    } catch (error) {
      // Whoever began this reading waited for less time than this caller does.
      if (list.deadline >= deadline || Date.now() >= deadline) throw error;
      return this.#currentList(deadline).tools;
    }
  }

  /** How many bytes the list of tools takes that is kept here. */
  get listBytes(): number {
    return this.#list?.bytes ?? 0;
  }

  /** Makes the next `tools()` read the list from the server. */
  forgetTools(): void {
    this.#list = null;
  }

  #currentList(deadline: number): ToolList {
    if (this.#list !== null && this.#list.readAt + toolsFreshMs >= Date.now()) return this.#list;
    const tools = new Map<string, McpTool>();
    const reading = Promise.withResolvers<McpTool[]>();
    const list: ToolList = { tools: reading.promise, readAt: Date.now(), deadline, bytes: 0 };
    this.#list = list;
    this.#readTools(tools, list).then(
      () => reading.resolve([...tools.values()]),
      (error) => {
        if (this.#list === list) this.#list = null;
        reading.reject(error);
      },
    );
    return list;
  }

  async #readTools(tools: Map<string, McpTool>, list: ToolList): Promise<void> {
    if (this.#client.getServerCapabilities()?.tools === undefined) return;
    let cursor: string | undefined;
    for (let page = 0; page < toolPagesMax && tools.size < toolsMax; page++) {
      const params = cursor === undefined ? {} : { cursor };
      const timeout = Math.max(1, Math.min(listTimeoutMs, list.deadline - Date.now()));
      const read = await this.#wait(() => this.#client.request({ method: "tools/list", params }, { timeout }));
      const bytes = Buffer.byteLength(JSON.stringify(read));
      if (list.bytes + bytes > toolListBytesMax) break;
      list.bytes += bytes;
      for (const { name, description = "", inputSchema, annotations, execution } of read.tools) {
        if (tools.size >= toolsMax || tools.has(name)) continue;
        if (!this.hasSessions && !hasValidHeaders(inputSchema)) continue;
        const runsAsTask = this.#hasTasks && execution?.taskSupport === "required";
        tools.set(name, { name, description, inputSchema, readOnly: annotations?.readOnlyHint === true, runsAsTask });
      }
      if (read.nextCursor === undefined || read.nextCursor === cursor) break;
      cursor = read.nextCursor;
    }
  }

  /** Calls a tool once. Throws as `request`. */
  callTool(params: CallParams, options: CallOptions): Promise<CallToolResult | InputRequiredResult> {
    return this.#wait(() => this.#client.callTool(params, { ...options, allowInputRequired: true }));
  }

  /**
   * Makes a request, and returns its result as it came. Throws `ProtocolError` for an error
   * that the server returns, `SessionLostError`, and errors that `failureOf` reads.
   */
  request(
    method: string,
    params: Readonly<Record<string, unknown>>,
    options: RequestOptions,
  ): Promise<Readonly<Record<string, unknown>>> {
    return this.#wait(() => this.#client.request({ method, params: { ...params } }, anyResult, options));
  }

  async #wait<T>(request: () => Promise<T>): Promise<T> {
    try {
      return await request();
    } catch (error) {
      throw this.#isLost(error) ? new SessionLostError() : error;
    }
  }

  /** The protocol's status is 404; many servers use 400 for an unknown session. */
  #isLost(error: unknown): boolean {
    if (!(error instanceof SdkHttpError) || this.#transport.sessionId === undefined) return false;
    return error.status === 404 || error.status === 400;
  }

  /** Ends the session at the server, if it responds in time, and closes the connection. Never throws. */
  async close(): Promise<void> {
    await waitAtMost(
      this.#transport.terminateSession().catch(() => {}),
      noticeTimeoutMs,
    );
    await this.#client.close().catch(() => {});
  }
}

/** Whether a revision of the protocol is known to have sessions. */
function hadSessions(protocolVersion: string | null): boolean {
  return protocolVersion !== null && protocolVersion < firstWithoutSessions;
}

/** Whether a server refused to begin a session as one would that has none. */
function speaksOtherwise(error: unknown): boolean {
  if (error instanceof SdkHttpError) return [400, 404, 405].includes(error.status);
  return error instanceof ProtocolError;
}
