import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { freePort } from "../harness/free-port.ts";

/** A request as the stand-in saw it. */
export interface StandInRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage["headers"];
  /** The body as it was sent. */
  readonly text: string;
  /** The bearer token, or the empty string. */
  readonly token: string;
}

/** A response: its status and JSON. */
export interface StandInResponse {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Record<string, string>;
}

/**
 * What befalls a request in the place of its response.
 *
 * - a response: that one, and the request has no effect
 * - `cut before`: the connection is cut and the request has had no effect
 * - `cut after`: the connection is cut once the request has had its effect
 * - `half`: a success is announced, and the connection cut before its body is whole
 * - a promise: the request has its effect, and its response waits
 */
export type InjectedFault = StandInResponse | "cut before" | "cut after" | "half" | Promise<unknown>;

/** A server of a test's own that speaks a vendor's protocol, and what may befall its requests. */
export class StandInServer {
  readonly requests: StandInRequest[] = [];
  readonly #respond: (request: StandInRequest) => StandInResponse;
  readonly #faults: { path: string; fault: InjectedFault; token: string | null; times: number }[] = [];
  #server: Server | null = null;
  #port = 0;

  constructor(respond: (request: StandInRequest) => StandInResponse) {
    this.#respond = respond;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** Listens, at the port it had before if it was stopped. */
  async start(): Promise<void> {
    const server = createServer((message, response) => void this.#serve(message, response));
    // One of the system's could be another server's by the time this one is started again.
    this.#port ||= await freePort();
    await new Promise<void>((resolve, reject) => server.once("error", reject).listen(this.#port, "127.0.0.1", resolve));
    this.#server = server;
  }

  /** Drops what is open; from now on connections are refused. */
  async stop(): Promise<void> {
    const server = this.#server;
    this.#server = null;
    if (server === null) return;
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }

  /** The next request of this path, and of this token where one is named, meets a fault. */
  injectFault(path: string, fault: InjectedFault, token: string | null = null): void {
    this.#faults.push({ path, fault, token, times: 1 });
  }

  /** Forgets faults that nobody has met. */
  calm(): void {
    this.#faults.length = 0;
  }

  /** The requests of a path. */
  asked(path: string): StandInRequest[] {
    return this.requests.filter((request) => request.path === path);
  }

  async #serve(message: IncomingMessage, response: ServerResponse): Promise<void> {
    const request = await readRequest(message);
    this.requests.push(request);
    const next = this.#faults.find(
      ({ path, token, times }) => path === request.path && (token ?? request.token) === request.token && times > 0,
    );
    if (next !== undefined) next.times -= 1;
    const fault = next?.fault ?? null;
    if (fault === "cut before") return void message.socket.destroy();
    if (fault !== null && typeof fault === "object" && "status" in fault) return write(response, fault);
    const made = this.#respond(request);
    if (fault === "cut after") return void message.socket.destroy();
    if (fault === "half") {
      response.writeHead(200, { "content-type": "application/json", "content-length": "1000" });
      response.write("{");
      return void setImmediate(() => message.socket.destroy());
    }
    await fault;
    write(response, made);
  }
}

async function readRequest(message: IncomingMessage): Promise<StandInRequest> {
  const parts: Buffer[] = [];
  for await (const part of message) parts.push(part as Buffer);
  const url = new URL(message.url ?? "/", "http://billing.test");
  return {
    method: message.method ?? "",
    path: decodeURIComponent(url.pathname),
    query: url.searchParams,
    headers: message.headers,
    text: Buffer.concat(parts).toString(),
    token: /^Bearer (.+)$/.exec(message.headers.authorization ?? "")?.[1] ?? "",
  };
}

function write(response: ServerResponse, { status, body, headers = {} }: StandInResponse): void {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(JSON.stringify(body));
}
