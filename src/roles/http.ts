import type { App } from "../app.ts";
import { sleep, waitAtMost } from "../kernel/async/wait.ts";
import type { Config } from "../kernel/config.ts";
import { ApiError } from "../kernel/errors.ts";
import { envelope } from "../kernel/http/error-envelope.ts";
import { drainingBody } from "../kernel/http/health.ts";
import { logRequest } from "../kernel/http/log-request.ts";
import { requestIdOf } from "../kernel/http/request.ts";
import { endUnreadBody } from "../kernel/http/unread-body.ts";
import { type HttpServer, type ListenOptions, listen } from "../kernel/runtime.ts";
import type { Logger } from "../kernel/telemetry/log.ts";
import { OperatorError, reasonOf } from "./operator-error.ts";

/** A port of this process. */
export interface HttpListener {
  /** The address clients reach the service at, without a trailing slash. */
  readonly publicUrl: string;
  /** The port it listens on. */
  readonly port: number;
  /** Begins to listen, for the app. Throws `OperatorError` when something else took the port meanwhile. */
  open(app: App): void;
  /** From now on `/readyz` is 503, and each response closes its connection. */
  beginDrain(): void;
  /**
   * Takes the last requests for `lastMs`, then accepts nothing new and lets open responses finish, all of
   * that for up to `limitMs`; then drops what is left.
   */
  drain(limitMs: number, lastMs?: number): Promise<void>;
}

/**
 * Returns the service's port, so that a taken one is known before anything else is done; it is
 * closed with `opened`. Throws `OperatorError`.
 */
export async function openPort(config: Config, log: Logger, opened: AsyncDisposableStack): Promise<HttpListener> {
  const listener = await takePort(config, log);
  opened.defer(() => listener.drain(0));
  return listener;
}

/** Returns the port for health and metrics of a process without the HTTP tier, closed with `opened`; null when METRICS_PORT names none. Throws `OperatorError`. */
export async function openMetricsPort(
  config: Config,
  log: Logger,
  opened: AsyncDisposableStack,
): Promise<HttpListener | null> {
  if (config.metricsPort === null) return null;
  const listener = await takePort({ ...config, port: config.metricsPort }, log, "METRICS_PORT");
  opened.defer(() => listener.drain(0));
  return listener;
}

/**
 * Returns the configured port, which `variable` sets, and which nothing else listens on. It is let go
 * again until `open`: a client that connects earlier is refused, so that a balancer asks another process.
 * Where the system chose the port it is held, because it cannot be known yet; requests get 503 until
 * `open`. Throws `OperatorError` when it cannot be listened on.
 */
export async function takePort(
  config: Pick<Config, "host" | "port" | "publicUrl">,
  log: Logger,
  variable = "PORT",
): Promise<HttpListener> {
  let app: App = (request) => Promise.resolve(refuse(log, request, new ApiError("service_unavailable", startingSoon)));
  let draining = false;
  const respond = async (request: Request) => {
    if (!draining) return endUnreadBody(request, await app(request));
    const response = isReadiness(request) ? Response.json(drainingBody, { status: 503 }) : await app(request);
    response.headers.set("Connection", "close");
    return endUnreadBody(request, response);
  };
  const listenTo = (port: number) =>
    tryListen({ host: config.host, port }, variable, {
      fetch: respond,
      // Closes the connection, because the body is not read.
      refuseBody: (request) =>
        refuse(log, request, new ApiError("payload_too_large", { headers: { Connection: "close" } })),
    });
  let server: HttpServer | null = listenTo(config.port);
  const { port } = server;
  if (config.port !== 0) {
    await server.stop(true);
    server = null;
  }
  return {
    publicUrl: config.publicUrl ?? `http://${reachableHost(config.host)}:${port}`,
    port,
    open(opened) {
      app = opened;
      server ??= listenTo(port);
    },
    beginDrain() {
      draining = true;
    },
    async drain(limitMs, lastMs = 0) {
      draining = true;
      if (server === null) return;
      const untilMs = performance.now() + limitMs;
      // A server that stops closes idle connections at once, also one on which a request is just coming.
      await sleep(Math.min(lastMs, limitMs / 2));
      await waitAtMost(server.stop(false), Math.max(0, untilMs - performance.now()));
      await server.stop(true);
    },
  };
}

function isReadiness({ url }: Request): boolean {
  return new URL(url).pathname === "/readyz";
}

const startingSoon = { headers: { "Retry-After": "1" } };

/** Returns the response to a request that no app sees, with the envelope, the headers and the log line of any other. */
function refuse(log: Logger, request: Request, error: ApiError): Response {
  const startedAtMs = performance.now();
  const response = envelope(request, error);
  response.headers.set("X-Request-Id", requestIdOf(request));
  logRequest(log, { request, status: response.status, tenantId: null, startedAtMs });
  return response;
}

function tryListen(
  { host, port }: Pick<Config, "host" | "port">,
  variable: string,
  handlers: Pick<ListenOptions, "fetch" | "refuseBody">,
): HttpServer {
  try {
    return listen({ hostname: host, port, ...handlers });
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : null;
    if (code === "EADDRINUSE")
      throw new OperatorError(
        `Port ${port} on ${host} is taken. Set ${variable} to another one, or to 0 for a free one.`,
      );
    if (code === "EACCES")
      throw new OperatorError(
        `Port ${port} needs privileges that this process lacks. Set ${variable} to one above 1023.`,
      );
    throw new OperatorError(
      `Cannot listen on HOST ${host}: ${reasonOf(error)}. Set HOST to an address of this machine, or to 0.0.0.0 for all of them.`,
    );
  }
}

/** Returns the host of the address for clients on this machine. A wildcard address is for listening only, so it is the loopback address then. */
function reachableHost(host: string): string {
  if (host === "0.0.0.0" || host === "::") return "127.0.0.1";
  return host.includes(":") ? `[${host}]` : host;
}
