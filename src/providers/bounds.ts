import { TickShares } from "../kernel/async/tick-shares.ts";
import { joined } from "../kernel/bounded-read.ts";
import type { ProviderType } from "../kernel/config.ts";
import { readForeignJson } from "../kernel/json-bounds.ts";
import { jsonValuesMax } from "../kernel/limits.ts";
import type { Fetch } from "../kernel/outbound/fetch.ts";
import { watchBody, withBody } from "../kernel/outbound/watched-body.ts";
import { ModelBoundsError } from "./bounds-error.ts";
import { CallClock } from "./call-clock.ts";
import { fieldsOf } from "./events/fields.ts";
import { eventReader } from "./events/protocols.ts";
import { ReadableEvents } from "./events/readable-events.ts";
import { readableAnswer } from "./events/whole-answers.ts";
import { modelErrorBytesMax, modelEventBytesMax, modelResponseBytesMax, modelWholeAnswerBytesMax } from "./limits.ts";

/**
 * A model that sends as fast as it can keeps a worker busy: 1 MiB of events that say nothing
 * takes half a second to read. So in a round of the event loop each tenant's answers are
 * read no further than this, and a worker goes on with the other tenants' after some 8 ms.
 */
const modelPieceBytes = 16 * 1024;
const shares = new TickShares(modelPieceBytes);

/** What bounds the requests of one provider. */
export interface ModelFetchBounds {
  /** A response in which nothing comes for so long ends. */
  readonly idleMs: number;
  /** Who chose the provider; null for the operator's own. */
  readonly tenantId: string | null;
  /** Says in which protocol it answers. */
  readonly providerType: ProviderType;
}

/** What is asked for: a model's answer as a stream of events, its answer in one piece, or something else, such as a list of models. */
type Asked = "events" | "answer" | "other";

/**
 * Returns a fetch for a model provider whose responses are bounded, in bytes as they are
 * decoded: a response ends with a `ModelBoundsError`, and its connection is closed, after
 * `modelResponseBytesMax`, or where one event of a stream has more than
 * `modelEventBytesMax`. Of an error's body only the first `modelErrorBytesMax` are kept.
 * An answer that is no stream has at most `modelWholeAnswerBytesMax` and `jsonValuesMax` values.
 * Of both only what the vendor's client uses is handed on (`events/`), so that an odd event or
 * field costs itself and not the answer. Silence and length of a request are bounded by `CallClock`.
 * It asks for no compression, and refuses a response that is compressed all the same,
 * unless `send` unpacks it as it is read (`guardedFetch`).
 */
export function boundedModelFetch(send: Fetch, { idleMs, tenantId, providerType }: ModelFetchBounds): Fetch {
  return async (input, init) => {
    const headers = new Headers(init?.headers ?? (input instanceof Request ? input.headers : undefined));
    headers.set("accept-encoding", "identity");
    const asker = init?.signal ?? (input instanceof Request ? input.signal : null);
    const stop = new AbortController();
    const leave = () => stop.abort(asker?.reason);
    if (asker?.aborted === true) leave();
    asker?.addEventListener("abort", leave, { once: true });
    const clock = new CallClock(idleMs, (error) => stop.abort(error));
    const over = () => {
      clock.end();
      asker?.removeEventListener("abort", leave);
    };
    try {
      // Bun would unpack each piece whole, to a thousand times its size. Deno does not know the option, and unpacks
      // nothing when a request has the header above.
      const whole: RequestInit & { decompress: boolean } = { ...init, headers, signal: stop.signal, decompress: false };
      const response = await send(input, whole);
      const asked = askedFor(input, init, headers);
      const url = input instanceof Request ? input.url : String(input);
      const reading = { asked, providerType, url };
      const bounded = await boundedResponse(response, reading, { clock, over, holder: tenantId ?? "" });
      return asked === "answer" ? await readableWhole(bounded, reading) : bounded;
    } catch (error) {
      over();
      throw clock.overdue ?? error;
    }
  };
}

/** How a response is to be read. */
interface Reading {
  readonly asked: Asked;
  readonly providerType: ProviderType;
  readonly url: string;
}

/** Returns the response with its body bounded, a good stream as the vendor's client can read it. `over` is called when the body is at its end. */
async function boundedResponse(
  response: Response,
  { asked, providerType, url }: Reading,
  { clock, over, holder }: { readonly clock: CallClock; readonly over: () => void; readonly holder: string },
): Promise<Response> {
  if (response.body === null) {
    over();
    return response;
  }
  const isPlain = ["", "identity"].includes((response.headers.get("content-encoding") ?? "").trim().toLowerCase());
  if (!isPlain) {
    await response.body.cancel().catch(() => {});
    if (response.ok) throw new ModelBoundsError("The model provider's answer is compressed, which was not asked for.");
    over();
    return withBody(response, null);
  }
  const look = response.ok ? sizeCheck(asked) : firstBytes(modelErrorBytesMax);
  clock.waits();
  const body = watchBody(response.body, {
    look: (piece) => {
      clock.heard();
      return look(piece);
    },
    ...(response.ok && asked === "events" ? { rewrite: new ReadableEvents(eventReader(providerType, url)) } : {}),
    failureOf: (error) => clock.overdue ?? error,
    pace: { bytesMax: modelPieceBytes, turn: (bytes) => shares.turn(holder, bytes) },
    onWait: () => clock.waits(),
    onEnd: over,
  });
  return withBody(response, body);
}

/** Returns a function for `watchBody` that ends a stream after a number of bytes. */
function firstBytes(bytesMax: number): (piece: Uint8Array) => Uint8Array | undefined {
  let left = bytesMax;
  return (piece) => {
    const last = piece.byteLength >= left ? piece.subarray(0, left) : undefined;
    left -= piece.byteLength;
    return last;
  };
}

/** Returns a function for `watchBody` that counts the pieces of a response, and throws when one exceeds a bound. */
function sizeCheck(asked: Asked): (piece: Uint8Array) => undefined {
  const bytesMax = asked === "answer" ? modelWholeAnswerBytesMax : modelResponseBytesMax;
  const event = asked === "events" ? new EventSize() : null;
  let bytes = 0;
  return (piece) => {
    bytes += piece.byteLength;
    if (bytes > bytesMax) throw new ModelBoundsError(`The model provider's answer is larger than ${inMiB(bytesMax)}.`);
    if (event?.exceeds(piece, modelEventBytesMax))
      throw new ModelBoundsError(
        `An event of the model provider's answer is larger than ${inMiB(modelEventBytesMax)}.`,
      );
    return undefined;
  };
}

const inMiB = (bytes: number) => `${bytes / 1024 / 1024} MiB`;

/** Returns a good answer in one piece as the vendor's client can read it; any other one as it is. */
async function readableWhole(response: Response, { providerType, url }: Reading): Promise<Response> {
  if (!response.ok || response.body === null) return response;
  const pieces: Uint8Array[] = [];
  for await (const piece of response.body as unknown as AsyncIterable<Uint8Array>) pieces.push(piece);
  const read = await readForeignJson(pieces);
  if (read.outcome === "too_many_values" || read.outcome === "too_deep")
    throw new ModelBoundsError(`The model provider's answer has more than ${jsonValuesMax} values, or nests too deep.`);
  const answer = read.outcome === "read" ? fieldsOf(read.value) : undefined;
  const { status, statusText, headers } = response;
  // What is no answer is told by the client, as a failure.
  const body = answer === undefined ? joined(pieces) : JSON.stringify(readableAnswer(providerType, url, answer));
  return new Response(body as BodyInit, { status, statusText, headers });
}

/**
 * Returns what a request asks for. The vendors' clients ask for a stream by a field of the body,
 * by the URL (Google), or by a header (Vercel AI Gateway). It is the request that counts: the
 * clients read what comes as events, whatever media type the response names.
 */
function askedFor(input: string | URL | Request, init: RequestInit | undefined, headers: Headers): Asked {
  const url = input instanceof Request ? input.url : String(input);
  const asksForEvents =
    (typeof init?.body === "string" && init.body.includes('"stream":true')) ||
    url.includes(":streamGenerateContent") ||
    headers.get("ai-language-model-streaming") === "true";
  if (asksForEvents) return "events";
  return init?.method === "POST" ? "answer" : "other";
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
