/**
 * The one place that touches a runtime's own API (`Bun.*`, `Deno.*`). Everything
 * else is written against web standards and `node:` modules, so that the same
 * source runs on Bun and on Deno.
 */

import { fileURLToPath } from "node:url";

/** A listening HTTP server. */
export interface HttpServer {
  /** The port it really listens on (the asked one, or the one the system chose for 0). */
  readonly port: number;
  /** Accepts no new connection and resolves when the open ones are done; `force` drops them. */
  stop(force: boolean): Promise<void>;
}

/** The options of `listen`. */
export interface ListenOptions {
  readonly hostname: string;
  readonly port: number;
  readonly fetch: (request: Request) => Response | Promise<Response>;
  /** Responds to a request that announces more than any operation takes; its body is never read. Left out: 413 without a body. */
  readonly refuseBody?: (request: Request) => Response;
}

interface DenoServer {
  readonly addr: { readonly port: number };
  /** Settles when the server has ended. */
  readonly finished: Promise<void>;
  shutdown(): Promise<void>;
}

interface DenoNamespace {
  serve(
    options: { hostname: string; port: number; signal: AbortSignal; onListen: () => void },
    handler: (request: Request) => Response | Promise<Response>,
  ): DenoServer;
}

/** The runtime that this process runs on. */
const runtimeName: "bun" | "deno" = "Deno" in globalThis ? "deno" : "bun";

/** Bun's name for the number of requests that may be under way at once, which it reads only when a process starts. */
const bunRequestsVariable = "BUN_CONFIG_MAX_HTTP_REQUESTS";
/** The most that Bun takes. What bounds outbound requests are the slots, and each tenant's share of connections. */
const bunRequestsMax = 65_535;

/**
 * Lets this process have as many outbound requests under way at once as it has work for.
 * Bun by itself has at most 256 and lets all further ones wait without a limit, so 256 models that
 * say nothing would stop everybody's chats and bills. It reads the number from the
 * environment (`env`) when it starts, so the process starts once more, in its own place: its id,
 * parent and streams stay. Does nothing on Deno, which has no such limit, and where the
 * operator set a number.
 */
export function allowManyRequests(env: Readonly<Record<string, string | undefined>>): void {
  if (runtimeName !== "bun" || env[bunRequestsVariable] || process.execve === undefined) return;
  const [, script, ...words] = process.argv;
  const command = [process.execPath, ...process.execArgv, script as string, ...words];
  try {
    process.execve(process.execPath, command, { ...env, [bunRequestsVariable]: String(bunRequestsMax) });
  } catch {
    // Where the system forbids it, the process goes on with what the runtime has.
  }
}

/** Returns the command that runs one of our scripts as a process of its own. On Deno, which has permissions, it may read files, the environment and system information only. */
export function scriptCommand(script: URL): { command: string; args: string[] } {
  const path = fileURLToPath(script.href);
  const args =
    runtimeName === "bun"
      ? ["--smol", "--no-install", path]
      : ["run", "--quiet", "--no-prompt", "--cached-only", "--allow-read", "--allow-env", "--allow-sys", path];
  return { command: process.execPath, args };
}

/**
 * The largest `Content-Length` of a request, in bytes: above every limit of the
 * operations. A body without that header is limited where it is read.
 */
const requestBodyBytesMax = 64 * 1024 * 1024;

/**
 * Starts an HTTP server and returns it. Throws an error with code `EADDRINUSE` when the port is taken.
 *
 * Idle time-outs are off: a turn may send nothing for minutes, and its stream must
 * stay open (Bun would close such a response after 10 s).
 */
export function listen(options: ListenOptions): HttpServer {
  const fetch = (request: Request) =>
    Number(request.headers.get("content-length") ?? 0) > requestBodyBytesMax
      ? (options.refuseBody?.(request) ?? new Response(null, { status: 413, headers: { Connection: "close" } }))
      : options.fetch(request);
  return runtimeName === "bun" ? listenOnBun({ ...options, fetch }) : listenOnDeno({ ...options, fetch });
}

function listenOnBun({ hostname, port, fetch }: ListenOptions): HttpServer {
  const server = Bun.serve({
    hostname,
    port,
    fetch,
    idleTimeout: 0,
    // By default Bun refuses a body above 128 MB without our envelope, before the handler is called.
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    // By default Bun responds to what the handler throws with a page that quotes our source.
    development: false,
    // By default a second process could listen on the same port, and would get some of our connections.
    reusePort: false,
    error: () => new Response(null, { status: 500 }),
  });
  return {
    port: server.port ?? port,
    stop: (force) => server.stop(force),
  };
}

function listenOnDeno({ hostname, port, fetch }: ListenOptions): HttpServer {
  const deno = (globalThis as unknown as { Deno: DenoNamespace }).Deno;
  const drop = new AbortController();
  const server = deno.serve({ hostname, port, signal: drop.signal, onListen: () => {} }, fetch);
  const ended = server.finished.catch(() => {});
  let closing = false;
  return {
    port: server.addr.port,
    stop: async (force) => {
      // Deno cannot abort a server that is shutting down: connections that are left end with the process.
      if (closing && force) return;
      if (force) drop.abort();
      else void server.shutdown().catch(() => {});
      closing = true;
      await ended;
    },
  };
}
