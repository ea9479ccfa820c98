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

interface DenoConnection {
  readonly remoteAddr: { readonly hostname?: string };
}

interface DenoNamespace {
  serve(
    options: { hostname: string; port: number; signal: AbortSignal; onListen: () => void },
    handler: (request: Request, connection: DenoConnection) => Response | Promise<Response>,
  ): DenoServer;
}

/** The runtime that this process runs on. */
const runtimeName: "bun" | "deno" = "Deno" in globalThis ? "deno" : "bun";

/** What Bun reads from the environment, and only when a process starts. What an operator has set is kept. */
const bunSettings: Readonly<Record<string, string>> = {
  // Bun by itself has at most 256 requests to other servers under way at once and lets all further ones wait without a limit, so 256
  // models that say nothing would stop everybody's chats and bills. This is the most that it takes; what bounds them are
  // the slots, and each tenant's share of connections.
  BUN_CONFIG_MAX_HTTP_REQUESTS: "65535",
  // When JavaScriptCore compiles a function for the last time, at the highest cost: ten times later than it would. A turn's
  // code is wide and flat, so for minutes that compiler took 0.2 to 0.5 ms of CPU a turn, more than a tenth of all that a turn
  // costs, and what it made was no faster (loadtest/README.md).
  BUN_JSC_thresholdForFTLOptimizeAfterWarmUp: "640000",
  BUN_JSC_thresholdForFTLOptimizeSoon: "10000",
  // Whenever the event loop waits, Bun's allocator returns the free parts of memory that is in use to the system, and what is
  // wholly free after 100 ms. The next turn has the system bring them back: 13 page faults a turn. Where a fault costs 11 µs,
  // as on some virtual machines, that was a third of the worker's CPU (loadtest/README.md). So only what is wholly free
  // goes back, after 10 s. It costs memory: an idle worker that had run 50 turns at a time keeps 290 MB and not 175.
  MIMALLOC_PURGE_HOLES: "0",
  MIMALLOC_PURGE_DELAY: "10000",
};

/**
 * Starts this process once more, in its own place, with the settings that Bun reads only then: its id,
 * parent and streams stay. Does nothing on Deno, which has none of them, and where `env` has them all.
 */
export function startWithSettings(env: Readonly<Record<string, string | undefined>>): void {
  const missing = Object.entries(bunSettings).filter(([name]) => !env[name]);
  if (runtimeName !== "bun" || missing.length === 0 || process.execve === undefined) return;
  const [, script, ...words] = process.argv;
  const command = [process.execPath, ...process.execArgv, script as string, ...words];
  try {
    process.execve(process.execPath, command, { ...env, ...Object.fromEntries(missing) });
  } catch {
    // Where the system forbids it, the process goes on with what the runtime has.
  }
}

/** Whether a script of ours that runs as a separate process is kept from files by the runtime itself. */
export const runtimeConfinesScripts = runtimeName === "deno";

/**
 * Returns the command that runs one of our scripts as a separate process. On Deno, which
 * has permissions, it may read the files below `readable`, the environment and system
 * information only; on Bun `readable` does nothing.
 */
export function scriptCommand(script: URL, readable: readonly string[] = []): { command: string; args: string[] } {
  const path = fileURLToPath(script.href);
  const mayRead = `--allow-read=${readable.join(",")}`;
  const args =
    runtimeName === "bun"
      ? ["--smol", "--no-install", path]
      : ["run", "--quiet", "--no-prompt", "--cached-only", mayRead, "--allow-env", "--allow-sys", path];
  return { command: process.execPath, args };
}

/** The functions of the system's C library that a process needs to confine itself. Numbers are as the system defines them. */
export interface SystemCalls {
  syscall(number: bigint, first: bigint, second: bigint, third: bigint, fourth: bigint): bigint;
  prctl(option: number, first: bigint, second: bigint, third: bigint, fourth: bigint): number;
  /** Returns a file descriptor, negative when the path cannot be opened. */
  open(path: string, flags: number): number;
  /** The address of a buffer, which the caller keeps as long as it is used. */
  addressOf(buffer: Uint8Array): bigint;
}

/** Returns the system's functions; null on Deno and where the system is not Linux. */
export async function openSystemCalls(): Promise<SystemCalls | null> {
  if (runtimeName !== "bun" || process.platform !== "linux") return null;
  const { dlopen, ptr } = await import("bun:ffi");
  const types = {
    syscall: { args: ["u64", "u64", "u64", "u64", "u64"], returns: "i64" },
    prctl: { args: ["i32", "u64", "u64", "u64", "u64"], returns: "i32" },
    open: { args: ["ptr", "i32"], returns: "i32" },
  } as const;
  const machine = process.arch === "arm64" ? "aarch64" : "x86_64";
  for (const library of ["libc.so.6", `libc.musl-${machine}.so.1`]) {
    try {
      const { syscall, prctl, open } = dlopen(library, types).symbols;
      return {
        syscall,
        prctl,
        open: (path, flags) => open(ptr(new TextEncoder().encode(`${path}\0`)), flags),
        addressOf: (buffer) => BigInt(ptr(buffer)),
      };
    } catch {
      // The other C library, or none that is known.
    }
  }
  return null;
}

/**
 * The largest `Content-Length` of a request, in bytes: above every limit of the
 * operations. A body without that header is limited where it is read.
 */
const requestBodyBytesMax = 64 * 1024 * 1024;

/**
 * Starts an HTTP server and returns it. Throws an error with code `EADDRINUSE` when the port is taken.
 *
 * Bun gives the headers of a new connection 10 s, which no option changes, and looks in ticks of
 * 4 s, so that it is 8 to 12 s; Deno has no such limit (docs/deno.md). How long a body may take is limited where it is read.
 */
export function listen(options: ListenOptions): HttpServer {
  const fetch = (request: Request) =>
    Number(request.headers.get("content-length") ?? 0) > requestBodyBytesMax
      ? (options.refuseBody?.(request) ?? new Response(null, { status: 413, headers: { Connection: "close" } }))
      : options.fetch(request);
  return runtimeName === "bun" ? listenOnBun({ ...options, fetch }) : listenOnDeno({ ...options, fetch });
}

/** A connection between two requests is kept this long: longer than the minute after which proxies give theirs up. */
const idleSecondsMax = 75;
const idleLimits = new WeakMap<Request, () => void>();
const outerRequests = new WeakMap<Request, Request>();

/** Says that a request is the inner part of one that came over a connection, so that `endStreamedResponse` finds that. */
export function rememberOuter(inner: Request, outer: Request): void {
  outerRequests.set(inner, outer);
}

const addresses = new WeakMap<Request, () => string | null>();

/** Returns the IP address at the other end of a request's connection, which is a proxy's where there is one; null where it is not known. */
export function peerAddress(request: Request): string | null {
  return addresses.get(request)?.() ?? null;
}

/** Limits again how long the connection of a request may be idle, after the last event of its stream. */
export function endStreamedResponse(request: Request): void {
  idleLimits.get(outerRequests.get(request) ?? request)?.();
}

function listenOnBun({ hostname, port, fetch }: ListenOptions): HttpServer {
  const server = Bun.serve({
    hostname,
    port,
    fetch: async (request, bun) => {
      addresses.set(request, () => bun.requestIP(request)?.address ?? null);
      // A turn may send nothing for minutes, and its response must stay open.
      bun.timeout(request, 0);
      const limitIdle = () => bun.timeout(request, idleSecondsMax);
      const response = await fetch(request);
      if (response.headers.get("content-type") === "text/event-stream") idleLimits.set(request, limitIdle);
      else limitIdle();
      return response;
    },
    idleTimeout: idleSecondsMax,
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
  const server = deno.serve({ hostname, port, signal: drop.signal, onListen: () => {} }, (request, connection) => {
    addresses.set(request, () => connection.remoteAddr.hostname ?? null);
    return fetch(request);
  });
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
