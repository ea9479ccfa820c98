import { Buffer } from "node:buffer";
import { InvalidPromptError, LoadAPIKeyError, RetryError, UnsupportedFunctionalityError } from "ai";
import { RefusedAddressError, wasNeverSent } from "../kernel/outbound/fetch.ts";
import { findCallError } from "./describe-error.ts";
import { type CallUsage, callUsage, type SaidUsage } from "./token-counts.ts";

/** What is told of the model calls of a turn, and asked before each. */
export interface ModelMeter {
  /** Called, and waited for, before each model call. When it rejects, the call is not made, and the answer fails with that error. */
  readonly beforeCall: () => Promise<void>;
  /** Called, and waited for, before calls are made that an earlier model call asked for and people decided on since. When it rejects, they are not made. */
  readonly beforeDecided?: () => Promise<void>;
  /** Called once for each model call that was made, as soon as it has ended, however it ended. */
  readonly onCall: (usage: CallUsage) => void;
}

/**
 * Meters the requests of one model call: tells `onCall` for each that reached the provider
 * what the provider says that it used or, where it says nothing, an estimate.
 */
export class CallMeter {
  readonly #onCall: ModelMeter["onCall"];
  /** What the open request sent; null while none is open. */
  #sent: unknown = null;
  #cameBytes = 0;

  constructor(onCall: ModelMeter["onCall"]) {
    this.#onCall = onCall;
  }

  /** A request with this prompt is sent. */
  begin(sent: unknown): void {
    this.#sent = sent;
    this.#cameBytes = 0;
  }

  /** A piece of the answer came. */
  came(text: string): void {
    this.#cameBytes += Buffer.byteLength(text);
  }

  /** The request ended as the provider says. Returns what it used. */
  end(said: SaidUsage): CallUsage {
    const usage = callUsage(said, () => ({ sent: promptBytes(this.#sent), came: this.#cameBytes }));
    this.#sent = null;
    this.#onCall(usage);
    return usage;
  }

  /** The request failed. One that the provider refused, or that never reached it, used nothing. */
  fail(error: unknown): void {
    if (wasRefused(error)) this.#sent = null;
    this.close();
  }

  /** The request is over. When the provider did not say so, what it used is estimated. */
  close(): void {
    if (this.#sent !== null) this.end({});
  }
}

/** Returns whether a model call failed before the model began: refused by the provider, or never sent. */
function wasRefused(error: unknown): boolean {
  let link = RetryError.isInstance(error) ? error.lastError : error;
  for (const kind of [InvalidPromptError, LoadAPIKeyError, UnsupportedFunctionalityError])
    if (kind.isInstance(link)) return true;
  const status = findCallError(link)?.statusCode;
  if (status !== undefined) return status >= 400;
  // The vendors' clients wrap an error once or twice.
  for (let depth = 0; link instanceof Error && depth < 5; link = link.cause, depth++)
    if (link instanceof RefusedAddressError || wasNeverSent(link)) return true;
  return false;
}

/** A picture takes about this many tokens, whatever its size in bytes; that is four times as many bytes of text. */
const pictureBytes = 4_000;

/** Returns the UTF-8 bytes of what a model is sent, as JSON. A picture counts as `pictureBytes`. */
export function promptBytes(sent: unknown): number {
  let pictures = 0;
  const json = JSON.stringify(sent, (_key, value: unknown) => {
    const { type, mediaType } = (value ?? {}) as { type?: unknown; mediaType?: unknown };
    const isFile = type === "file" || type === "file-data" || type === "image-data";
    if (!isFile || typeof mediaType !== "string") return value;
    pictures += 1;
    return undefined;
  });
  return Buffer.byteLength(json ?? "") + pictures * pictureBytes;
}
