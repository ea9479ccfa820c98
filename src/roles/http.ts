import type { App } from "../app.ts";
import { waitAtMost } from "../kernel/async/wait.ts";
import type { Config } from "../kernel/config.ts";
import { ApiError } from "../kernel/errors.ts";
import { envelope } from "../kernel/http/error-envelope.ts";
import { requestIdOf } from "../kernel/http/request.ts";
import { type HttpServer, listen } from "../kernel/runtime.ts";
import { OperatorError, reasonOf } from "./operator-error.ts";

/** A port that this process listens on. */
export interface HttpListener {
  /** The address clients reach the service at, without a trailing slash. */
  readonly publicUrl: string;
  /** The port it listens on. */
  readonly port: number;
  /** From now on requests go to the app; until then they get 503. */
  open(app: App): void;
  /** Accepts nothing new, lets open responses finish for up to `limitMs`, and drops what is left. */
  drain(limitMs: number): Promise<void>;
}

/** Returns the service's port, taken first, so that a taken one is known before anything else is done; it is closed with `opened`. Throws `OperatorError`. */
export function openPort(config: Config, opened: AsyncDisposableStack): HttpListener {
  const listener = takePort(config);
  opened.defer(() => listener.drain(0));
  return listener;
}

/** Returns the port for health and metrics of a process without the HTTP tier, closed with `opened`; null when METRICS_PORT names none. Throws `OperatorError`. */
export function openMetricsPort(config: Config, opened: AsyncDisposableStack): HttpListener | null {
  if (config.metricsPort === null) return null;
  const listener = takePort({ ...config, port: config.metricsPort }, "METRICS_PORT");
  opened.defer(() => listener.drain(0));
  return listener;
}

/** Returns a listener on the configured port, which `variable` sets. Throws `OperatorError` when it cannot be listened on. */
export function takePort(config: Pick<Config, "host" | "port" | "publicUrl">, variable = "PORT"): HttpListener {
  let app: App = (request) => Promise.resolve(notYet(request));
  const server = tryListen(config, (request) => app(request), variable);
  return {
    publicUrl: config.publicUrl ?? `http://${reachableHost(config.host)}:${server.port}`,
    port: server.port,
    open(opened) {
      app = opened;
    },
    async drain(limitMs) {
      await waitAtMost(server.stop(false), limitMs);
      await server.stop(true);
    },
  };
}

/** Returns the response of a process that is still starting, with the envelope and headers of any other. */
function notYet(request: Request): Response {
  return refuse(request, new ApiError("service_unavailable", { headers: { "Retry-After": "1" } }));
}

/** Returns the response to a request that announces a body beyond every limit. */
function refuseBody(request: Request): Response {
  // Closes the connection, because the body is not read.
  return refuse(request, new ApiError("payload_too_large", { headers: { Connection: "close" } }));
}

function refuse(request: Request, error: ApiError): Response {
  const response = envelope(request, error);
  response.headers.set("X-Request-Id", requestIdOf(request));
  return response;
}

function tryListen({ host, port }: Pick<Config, "host" | "port">, fetch: App, variable: string): HttpServer {
  try {
    return listen({ hostname: host, port, fetch, refuseBody });
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
