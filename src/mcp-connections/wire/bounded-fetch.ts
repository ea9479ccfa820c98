import { tenantUrlFault } from "../../kernel/outbound/address.ts";
import { type Fetch, RefusedAddressError } from "../../kernel/outbound/fetch.ts";
import { watchBody, withBody } from "../../kernel/outbound/watched-body.ts";
import { notMcp, unreachable } from "./failure.ts";

/** The bounds of requests to a tenant's servers. */
export interface FetchBounds {
  readonly allowPrivate: boolean;
  /** One response has at most this many bytes; a stream of events this many in a line. */
  readonly bytesMax: number;
  /** A stream of events has at most this many bytes in all; `bytesMax` when it is left out. */
  readonly streamBytesMax?: number;
}

const redirectStatuses = new Set([301, 302, 303, 307, 308]);
const lineFeed = 10;
/** Statuses whose responses have no body. */
const bodilessStatuses = new Set([101, 204, 205, 304]);

/**
 * Returns the fetch for a tenant's server and the addresses that it names. Every
 * address is checked, also that of a redirect; redirects are not followed; a
 * response that exceeds its bound ends with an error. Rejects with
 * `RefusedAddressError`, `McpFailure`, or the signal's reason.
 */
export function boundedFetch(send: Fetch, { allowPrivate, bytesMax, streamBytesMax = bytesMax }: FetchBounds): Fetch {
  const refuseUnsafe = (url: string) => {
    const fault = tenantUrlFault(url, allowPrivate);
    if (fault !== null) throw new RefusedAddressError(`The address ${fault}.`);
  };
  return async (input, init = {}) => {
    const url = input instanceof Request ? input.url : String(input);
    refuseUnsafe(url);
    const response = await send(input, { ...init, redirect: "manual" }).catch((error: unknown) => {
      throw networkFailure(error, init.signal);
    });
    const location = redirectStatuses.has(response.status) ? response.headers.get("location") : null;
    if (location !== null && URL.canParse(location, url)) refuseUnsafe(new URL(location, url).href);
    if (response.body === null || bodilessStatuses.has(response.status)) return response;
    const isStream = response.headers.get("content-type")?.toLowerCase().startsWith("text/event-stream") ?? false;
    const allMax = isStream ? streamBytesMax : bytesMax;
    let all = 0;
    let line = 0;
    const count = (piece: Uint8Array) => {
      all += piece.byteLength;
      const end = piece.indexOf(lineFeed);
      const longest = line + (end === -1 ? piece.byteLength : end);
      line = end === -1 ? longest : piece.byteLength - piece.lastIndexOf(lineFeed) - 1;
      const most = all > allMax ? allMax : bytesMax;
      if (all > allMax || longest > bytesMax) throw notMcp(`The server's answer is larger than ${most} bytes.`);
      return undefined;
    };
    return withBody(
      response,
      watchBody(response.body, { look: count, failureOf: (error) => networkFailure(error, init.signal) }),
    );
  };
}

function networkFailure(error: unknown, signal: AbortSignal | null | undefined): unknown {
  if (signal?.aborted) return signal.reason;
  return error instanceof RefusedAddressError ? error : unreachable("The server cannot be reached.");
}
