import type { Fetch } from "../kernel/outbound/fetch.ts";
import { watchBody, withBody } from "../kernel/outbound/watched-body.ts";
import { modelErrorBytesMax, modelEventBytesMax, modelResponseBytesMax } from "./limits.ts";

/** A provider's response is beyond a bound. Its message may be shown to readers. */
export class ModelBoundsError extends Error {
  override readonly name = "ModelBoundsError";
}

/** Returns the `ModelBoundsError` among an error and its causes, or null. */
export function findBoundsError(error: unknown): ModelBoundsError | null {
  // The vendors' clients wrap an error once or twice.
  for (let link = error, depth = 0; link instanceof Error && depth < 5; link = link.cause, depth++)
    if (link instanceof ModelBoundsError) return link;
  return null;
}

/**
 * Returns a fetch for a model provider whose responses are bounded, in bytes as they are
 * decoded: a response ends with a `ModelBoundsError`, and its connection is closed, after
 * `modelResponseBytesMax`, or where one event of a stream has more than
 * `modelEventBytesMax`. Of an error's body only the first `modelErrorBytesMax` are kept.
 * It asks for no compression, and refuses a response that is compressed all the same,
 * unless `send` unpacks it as it is read (`guardedFetch`).
 */
export function boundedModelFetch(send: Fetch): Fetch {
  return async (input, init) => {
    const headers = new Headers(init?.headers ?? (input instanceof Request ? input.headers : undefined));
    headers.set("accept-encoding", "identity");
    // Bun would unpack each piece whole, to a thousand times its size. Deno does not know the option, and unpacks
    // nothing when a request has the header above.
    const whole: RequestInit & { decompress: boolean } = { ...init, headers, decompress: false };
    const response = await send(input, whole);
    const isPlain = ["", "identity"].includes((response.headers.get("content-encoding") ?? "").trim().toLowerCase());
    if (response.body === null) return response;
    if (!isPlain) {
      await response.body.cancel().catch(() => {});
      if (!response.ok) return withBody(response, null);
      throw new ModelBoundsError("The model provider's answer is compressed, which was not asked for.");
    }
    if (!response.ok) return withBody(response, watchBody(response.body, firstBytes(modelErrorBytesMax)));
    const event = asksForEvents(input, init, headers) ? new EventSize() : null;
    return withBody(response, watchBody(response.body, sizeCheck(event)));
  };
}

/** Returns a function for `watchBody` that ends a stream after so many bytes. */
function firstBytes(bytesMax: number): (piece: Uint8Array) => Uint8Array | undefined {
  let left = bytesMax;
  return (piece) => {
    const last = piece.byteLength >= left ? piece.subarray(0, left) : undefined;
    left -= piece.byteLength;
    return last;
  };
}

/** Returns a function for `watchBody` that counts the pieces of a response, and throws when one exceeds a bound. */
function sizeCheck(event: EventSize | null): (piece: Uint8Array) => undefined {
  let bytes = 0;
  return (piece) => {
    bytes += piece.byteLength;
    if (bytes > modelResponseBytesMax)
      throw new ModelBoundsError(`The model provider's answer is larger than ${inMiB(modelResponseBytesMax)}.`);
    if (event?.exceeds(piece, modelEventBytesMax))
      throw new ModelBoundsError(
        `An event of the model provider's answer is larger than ${inMiB(modelEventBytesMax)}.`,
      );
    return undefined;
  };
}

const inMiB = (bytes: number) => `${bytes / 1024 / 1024} MiB`;

/**
 * Returns whether a request asks for a stream of events, as the vendors' clients do: by
 * a field of the body, by the URL (Google), or by a header (Vercel AI Gateway). It is
 * the request that counts: the clients read what comes as events, whatever media type
 * the response names.
 */
function asksForEvents(input: string | URL | Request, init: RequestInit | undefined, headers: Headers): boolean {
  const url = input instanceof Request ? input.url : String(input);
  return (
    (typeof init?.body === "string" && init.body.includes('"stream":true')) ||
    url.includes(":streamGenerateContent") ||
    headers.get("ai-language-model-streaming") === "true"
  );
}

const lineFeed = 10;
const carriageReturn = 13;

/** Counts the bytes since the last empty line, which ends an event. A line ends with CR, LF, or both. */
class EventSize {
  #bytes = 0;
  #lineIsEmpty = true;
  #afterReturn = false;

  /** Counts the next bytes; returns whether an event has more than `bytesMax`. */
  exceeds(piece: Uint8Array, bytesMax: number): boolean {
    // Every byte of every answer comes by here: local variables take a fraction of the time that fields take.
    let bytes = this.#bytes;
    let lineIsEmpty = this.#lineIsEmpty;
    let afterReturn = this.#afterReturn;
    for (let at = 0; at < piece.length; at++) {
      const byte = piece[at];
      const pairs = afterReturn && byte === lineFeed;
      afterReturn = byte === carriageReturn;
      if (pairs) continue;
      const endsLine = afterReturn || byte === lineFeed;
      if (endsLine && lineIsEmpty) bytes = 0;
      else if (++bytes > bytesMax) return true;
      lineIsEmpty = endsLine;
    }
    this.#bytes = bytes;
    this.#lineIsEmpty = lineIsEmpty;
    this.#afterReturn = afterReturn;
    return false;
  }
}
