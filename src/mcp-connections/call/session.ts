import { waitAtMost } from "../../kernel/async/wait.ts";
import type { Fetch } from "../../kernel/outbound/fetch.ts";
import type { Authorization } from "../auth/authorization.ts";
import { connectTimeoutMs, listTimeoutMs, noticeTimeoutMs, toolPagesMax, toolsFreshMs } from "../limits.ts";
import { UnreadableAnswer, unreachable } from "../wire/failure.ts";
import { asFields, Unreadable } from "../wire/fields.ts";
import { CallRefused, isOfCall } from "../wire/refusal.ts";
import {
  anyResult,
  Client,
  clientInfo,
  type jsonSchemaValidator,
  ProtocolError,
  type RequestOptions,
  SdkHttpError,
  StreamableHTTPClientTransport,
} from "../wire/sdk.ts";
import { answerFaultOf, resultKey } from "./messages.ts";
import { connectionClosed, type Result } from "./response-stream.ts";
import { tasksExtension } from "./tasks.ts";
import { type LeftOutTool, type McpTool, ToolListReader } from "./tool-list.ts";
import { type TransportFetch, transportFetch } from "./transport.ts";

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
  /** Of a call whose refusal may be about the call and not about the session; a new session shows which. */
  readonly refusal: CallRefused | null;

  constructor(refusal: CallRefused | null = null) {
    super();
    this.refusal = refusal;
  }
}

type CallParams = Parameters<Client["callTool"]>[0];
type CallOptions = NonNullable<Parameters<Client["callTool"]>[1]>;

/** No validation of results: the validator compiles schemas to code, and these schemas are not trusted. The model reads the results anyway. */
const noValidation: jsonSchemaValidator = {
  getValidator:
    <T>() =>
    (input: unknown) => ({ valid: true, data: input as T & {}, errorMessage: undefined }),
};

/** From this revision on the protocol has no sessions. */
const firstWithoutSessions = "2026-07-28";

/** A server's tools as they were read. */
export interface ToolList {
  readonly tools: readonly McpTool[];
  /** Those that cannot be used. */
  readonly leftOut: readonly LeftOutTool[];
}

/** A list as it was read, or is being read. */
interface ListReading {
  readonly list: Promise<ToolList>;
  readonly readAt: number;
  /** The reading stops then. */
  readonly deadline: number;
  readonly reader: ToolListReader;
}

/** One initialised MCP session over Streamable HTTP. */
export class McpSession {
  readonly #client: Client;
  readonly #transport: StreamableHTTPClientTransport;
  readonly #answered: TransportFetch["answered"];
  readonly #withResult: TransportFetch["withResult"];
  #reading: ListReading | null = null;

  private constructor({ url, send, authorization, protocolVersion }: McpSessionTarget) {
    this.#client = new Client(clientInfo, {
      capabilities: { extensions: { [tasksExtension]: {} } },
      jsonSchemaValidator: noValidation,
      versionNegotiation: { mode: hadSessions(protocolVersion) ? "legacy" : "auto" },
    });
    const { fetch, answered, withResult } = transportFetch({ send, authorization });
    this.#transport = new StreamableHTTPClientTransport(new URL(url), { fetch });
    this.#answered = answered;
    this.#withResult = withResult;
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
      throw withFault(error, "initialize");
    }
    const deliver = session.#transport.onmessage;
    session.#transport.onmessage = (message) => {
      deliver?.(session.#withResult(message));
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

  /** Returns the tools of `list`. Throws as that. */
  async tools(deadline?: number): Promise<readonly McpTool[]> {
    return (await this.list(deadline)).tools;
  }

  /**
   * Returns the server's tools, from a list that is at most `toolsFreshMs` old, or that is
   * read until `deadline` at most. Throws errors that `failureOf` reads, and
   * `SessionLostError`.
   */
  async list(deadline = Date.now() + listTimeoutMs): Promise<ToolList> {
    const reading = this.#currentReading(deadline);
    try {
      return await reading.list;
    } catch (error) {
      // The caller that began this reading waited for less time than this caller does.
      if (reading.deadline >= deadline || Date.now() >= deadline) throw error;
      return this.#currentReading(deadline).list;
    }
  }

  /** About how many bytes of memory the list of tools takes that is kept here. */
  get listBytes(): number {
    return this.#reading?.reader.bytes ?? 0;
  }

  /** Makes the next `list()` read the list from the server. */
  forgetTools(): void {
    this.#reading = null;
  }

  #currentReading(deadline: number): ListReading {
    const known = this.#reading;
    if (known !== null && known.readAt + toolsFreshMs >= Date.now()) return known;
    const reader = new ToolListReader({ hasTasks: this.#hasTasks, hasHeaders: !this.hasSessions });
    const list = this.#readPages(reader, deadline).then(() => ({ tools: reader.tools, leftOut: reader.leftOut }));
    const reading: ListReading = { list, readAt: Date.now(), deadline, reader };
    this.#reading = reading;
    list.catch(() => {
      if (this.#reading === reading) this.#reading = null;
    });
    return reading;
  }

  async #readPages(reader: ToolListReader, deadline: number): Promise<void> {
    let cursor: string | null = null;
    for (let page = 0; page < toolPagesMax; page++) {
      try {
        cursor = reader.read(await this.#readPage(cursor, deadline));
      } catch (error) {
        const fault = error instanceof Unreadable ? new UnreadableAnswer("tools/list", error.message) : error;
        // What was read before it can be used.
        if (page === 0 || !(fault instanceof UnreadableAnswer)) throw fault;
        return reader.leaveOutRest(`A further page of the list cannot be read (${fault.fault})`);
      }
      if (cursor === null) return;
    }
    reader.leaveOutRest(`The list has more than ${toolPagesMax} pages`);
  }

  async #readPage(cursor: string | null, deadline: number): Promise<Result> {
    const params = cursor === null ? {} : { cursor };
    const timeout = Math.max(1, Math.min(listTimeoutMs, deadline - Date.now()));
    const read = () => this.#client.request({ method: "tools/list", params }, anyResult, { timeout });
    if (this.#client.getServerCapabilities()?.tools !== undefined) return this.#wait("tools/list", read);
    // A server that does not say that it has tools may have some, or refuse the question in any way.
    return read().then(resultIn, () => ({ value: {}, bytes: 0 }));
  }

  /** Calls a tool once, and returns its result as it came. Throws as `request`. */
  async callTool(params: CallParams, options: CallOptions): Promise<unknown> {
    return (await this.#wait("tools/call", () => this.#client.callTool(params, options))).value;
  }

  /**
   * Makes a request, and returns its result as it came. Throws `ProtocolError` for an error
   * that the server returns, `SessionLostError`, and errors that `failureOf` reads.
   */
  async request(method: string, params: Readonly<Record<string, unknown>>, options: RequestOptions): Promise<unknown> {
    const make = () => this.#client.request({ method, params: { ...params } }, anyResult, options);
    return (await this.#wait(method, make)).value;
  }

  async #wait(method: string, request: () => Promise<unknown>): Promise<Result> {
    try {
      return resultIn(await request());
    } catch (caught) {
      const error = withRefusal(caught, method);
      if (this.#isLost(error)) throw new SessionLostError(error instanceof CallRefused ? error : null);
      throw withFault(error, method);
    }
  }

  /** The protocol's status is 404; many servers use 400 for an unknown session. */
  #isLost(error: unknown): boolean {
    const isRefusal = error instanceof SdkHttpError || error instanceof CallRefused;
    if (!isRefusal || this.#transport.sessionId === undefined) return false;
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

/** Returns the result that went past the client library. */
function resultIn(handed: unknown): Result {
  return asFields(asFields(handed)?._meta)?.[resultKey] as Result;
}

/** Returns the refusal of a call in place of the error that the client library makes of one with an error of JSON-RPC in it. */
function withRefusal(error: unknown, method: string): unknown {
  if (!(error instanceof SdkHttpError) || error.status !== 400 || !isOfCall(method)) return error;
  // It is of our making (`readableResponse`).
  const { error: said } = JSON.parse(String(error.data.text || "{}")) as {
    readonly error?: { readonly message: string };
  };
  return said === undefined ? error : new CallRefused(error.status, said.message);
}

/** Returns the failure of an answer that did not come or cannot be read in place of the error by which the client library was told so. */
function withFault(error: unknown, method: string): unknown {
  const fault = error instanceof ProtocolError ? answerFaultOf(error.data) : null;
  if (fault === null) return error;
  if (fault === connectionClosed) return unreachable("The MCP server closed the connection.");
  return new UnreadableAnswer(method, fault);
}
