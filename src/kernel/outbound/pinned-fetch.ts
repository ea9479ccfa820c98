import { type LookupAddress, lookup } from "node:dns";
import type { IncomingMessage } from "node:http";
import { Agent, request as httpsRequest, type RequestOptions } from "node:https";
import type { LookupFunction } from "node:net";
import type { Duplex } from "node:stream";
import { createBrotliDecompress, createUnzip, constants as zlib } from "node:zlib";
import { isPublicAddress } from "./address.ts";

/** Time limit for connecting, with the name's resolution and the TLS handshake. */
const connectTimeoutMs = 10_000;
/** An idle connection is closed after this. */
const idleSocketMs = 30_000;
/** The most idle connections, to one host and to all hosts; one more is closed when its request ends. */
const idleSocketsPerHostMax = 64;
const idleSocketsMax = 512;

/** The address is refused: it is not public, or its URL has a form that is not allowed. Another attempt would fail as well. */
export class RefusedAddressError extends Error {
  override readonly name = "RefusedAddressError";
  /** The URL itself is fine, and its name leads to an address that is not: the one who chose the name must not learn of it. */
  readonly isOfName: boolean;

  constructor(message: string, { isOfName = false }: { readonly isOfName?: boolean } = {}) {
    super(message);
    this.isOfName = isOfName;
  }
}

/** Resolves a name to all of its addresses. */
export type Resolve = (hostname: string) => Promise<readonly LookupAddress[]>;

/** What tests replace of the real network. */
export interface PinOptions {
  /** Default: the system's resolver. */
  readonly resolve?: Resolve;
  /** Default: `isPublicAddress`. */
  readonly isAllowed?: (address: string) => boolean;
  /** Certificate authorities to trust instead of the runtime's. */
  readonly ca?: string;
  /** Default: `idleSocketMs`. */
  readonly idleMs?: number;
}

/** One request, with its body in memory. */
export interface PinnedRequest {
  readonly url: URL;
  readonly method: string;
  readonly headers: Headers;
  readonly body: Uint8Array | null;
  readonly signal: AbortSignal | null;
}

/** Sends one https request; resolves with the streaming response, redirects included. `onClosed` is called once, when the request needs no connection any more. */
export type PinnedSend = (request: PinnedRequest, onClosed?: () => void) => Promise<Response>;

/**
 * Returns a sender that connects only to addresses it has checked. The check is in
 * the socket's own name resolution, so that the name is not resolved a second time
 * between check and connection (DNS rebinding), and TLS still verifies the name. An
 * address in the place of a name is never resolved; the caller checks those.
 */
export function pinnedSender(options: PinOptions = {}): PinnedSend {
  const agent = boundedAgent(options.idleMs ?? idleSocketMs);
  const base: RequestOptions = {
    agent,
    lookup: checkedLookup(options.resolve ?? resolveAll, options.isAllowed ?? isPublicAddress),
    ...(options.ca === undefined ? {} : { ca: options.ca }),
  };
  return (request, onClosed = () => {}) => send(base, request, onClosed);
}

/**
 * Returns an agent without a limit on the connections in use: who shares them bounds
 * the requests of each tenant, and a limit here would let one tenant's refuse another's.
 * Idle connections are few and end soon, as a server may keep them open for ever.
 */
function boundedAgent(idleMs: number): Agent {
  // The agent's time limit ends connections without a request only.
  const agent = new Agent({ keepAlive: true, maxFreeSockets: idleSocketsPerHostMax, timeout: idleMs });
  const keep = agent.keepSocketAlive.bind(agent);
  agent.keepSocketAlive = (socket) => {
    const idle = Object.values(agent.freeSockets).reduce((count, sockets) => count + (sockets?.length ?? 0), 0);
    return idle < idleSocketsMax && keep(socket);
  };
  return agent;
}

function notPublic(hostname: string): RefusedAddressError {
  return new RefusedAddressError(`${hostname} does not lead to a public address.`, { isOfName: true });
}

function checkedLookup(resolve: Resolve, isAllowed: (address: string) => boolean): LookupFunction {
  return (hostname, { all, family }, callback) => {
    resolve(hostname).then(
      (addresses) => {
        // One private address among public ones is refused too: the socket chooses which one it takes.
        const refused = addresses.some(({ address }) => !isAllowed(address));
        const usable = addresses.filter((address) => !family || family === address.family);
        const [first] = usable;
        if (refused) callback(notPublic(hostname), "");
        else if (first === undefined) callback(new Error(`${hostname} has no address.`), "");
        else if (all) callback(null, usable);
        else callback(null, first.address, first.family);
      },
      (error: Error) => callback(error, ""),
    );
  };
}

function resolveAll(hostname: string): Promise<readonly LookupAddress[]> {
  return new Promise((resolve, reject) => {
    lookup(hostname, { all: true }, (error, addresses) => (error === null ? resolve(addresses) : reject(error)));
  });
}

function send(
  base: RequestOptions,
  { url, method, headers, body, signal }: PinnedRequest,
  onClosed: () => void,
): Promise<Response> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      onClosed();
      return reject(signal.reason);
    }
    const request = httpsRequest(url.href, { ...base, method, headers: Object.fromEntries(headers) });
    request.once("close", onClosed);
    let response: IncomingMessage | null = null;
    const abort = () => {
      request.destroy();
      response?.destroy(signal?.reason);
      reject(signal?.reason);
    };
    const connectTimer = setTimeout(
      () => request.destroy(new Error(`No connection within ${connectTimeoutMs} ms.`)),
      connectTimeoutMs,
    );
    const release = () => {
      clearTimeout(connectTimer);
      signal?.removeEventListener("abort", abort);
    };
    signal?.addEventListener("abort", abort, { once: true });
    request.once("socket", (socket) => {
      if (socket.connecting) socket.once("secureConnect", () => clearTimeout(connectTimer));
      else clearTimeout(connectTimer);
    });
    request.once("response", (message) => {
      response = message;
      clearTimeout(connectTimer);
      message.once("close", release);
      resolve(toResponse(message, method, signal));
    });
    request.on("error", (error) => {
      if (response === null) release();
      // The AI SDK repeats a request when its error has this text.
      reject(error instanceof RefusedAddressError ? error : new TypeError("fetch failed", { cause: error }));
    });
    request.end(body ?? undefined);
  });
}

/** Statuses whose responses have no body. */
const bodilessStatuses = new Set([204, 205, 304]);

function toResponse(message: IncomingMessage, method: string, signal: AbortSignal | null): Response {
  const status = message.statusCode ?? 502;
  const headers = new Headers();
  for (let i = 0; i + 1 < message.rawHeaders.length; i += 2)
    headers.append(message.rawHeaders[i] as string, message.rawHeaders[i + 1] as string);
  const statusText = message.statusMessage ?? "";
  if (method === "HEAD" || bodilessStatuses.has(status)) {
    message.resume();
    return new Response(null, { status, statusText, headers });
  }
  const decoder = decoderOf(headers.get("content-encoding"));
  if (decoder !== null) {
    headers.delete("content-encoding");
    headers.delete("content-length");
  }
  return new Response(streamOf(message, decoder, signal), { status, statusText, headers });
}

/** Returns a decoder that emits what it can after every chunk, so that a compressed stream still streams; null when there is nothing to decode. */
function decoderOf(encoding: string | null): Duplex | null {
  switch (encoding?.trim().toLowerCase()) {
    case "gzip":
    case "x-gzip":
    case "deflate":
      return createUnzip({ flush: zlib.Z_SYNC_FLUSH, finishFlush: zlib.Z_SYNC_FLUSH });
    case "br":
      return createBrotliDecompress({
        flush: zlib.BROTLI_OPERATION_FLUSH,
        finishFlush: zlib.BROTLI_OPERATION_FLUSH,
      });
    default:
      return null;
  }
}

/** Returns the message's bytes as a stream that reads as fast as its reader. A reader that cancels closes the socket. */
function streamOf(
  message: IncomingMessage,
  decoder: Duplex | null,
  signal: AbortSignal | null,
): ReadableStream<Uint8Array> {
  if (decoder !== null) {
    message.once("error", (error) => decoder.destroy(error));
    message.once("aborted", () => decoder.destroy(new Error("The connection closed before the response ended.")));
    message.pipe(decoder);
  }
  const pieces: AsyncIterator<Uint8Array> = (decoder ?? message)[Symbol.asyncIterator]();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await pieces.next();
          if (done) controller.close();
          else controller.enqueue(new Uint8Array(value));
        } catch (error) {
          controller.error(signal?.aborted ? signal.reason : new TypeError("fetch failed", { cause: error }));
        }
      },
      cancel() {
        message.destroy();
        decoder?.destroy();
      },
    },
    { highWaterMark: 0 },
  );
}
