import { clearTimeout, setTimeout } from "node:timers";
import { ApiError } from "./errors.ts";
import { bodySilenceMsMax } from "./limits.ts";
import { noteDoing } from "./telemetry/work.ts";

/** How long a body may take. */
export interface BodyTimes {
  /** Without a byte. */
  readonly silenceMsMax?: number;
  /** In all; left out: as long as bytes come. */
  readonly wholeMsMax?: number;
  /** Gives it up at once, for another one. */
  readonly signal?: AbortSignal;
}

/**
 * Returns a request's body of at most `bytesMax` bytes, whatever its
 * `Content-Length` is. Throws 413 `payload_too_large` beyond that, 415 for one with a `Content-Encoding`, and 400 for one that
 * breaks off, or takes longer than `times`; the connection is closed then.
 */
export async function readBytes(request: Request, bytesMax: number, times?: BodyTimes): Promise<Uint8Array> {
  return joined(await readPieces(request, bytesMax, times));
}

/** Does what `readBytes` does, and returns the pieces in which the body came: to join those of a large body takes milliseconds. */
export async function readPieces(
  request: Request,
  bytesMax: number,
  { silenceMsMax = bodySilenceMsMax, wholeMsMax, signal }: BodyTimes = {},
): Promise<readonly Uint8Array[]> {
  const announced = Number(request.headers.get("content-length") ?? 0);
  if (announced > bytesMax) throw new ApiError("payload_too_large");
  if (request.body === null) return [];
  requirePlain(request);
  const reader = request.body.getReader();
  let given: string | null = null;
  const giveUp = (message: string) => {
    given ??= message;
    // The read that waits returns then.
    reader.cancel().catch(() => {});
  };
  const timer = setTimeout(() => giveUp(`No byte of the body came for ${silenceMsMax / 1000} s.`), silenceMsMax);
  const whole =
    wholeMsMax === undefined
      ? undefined
      : setTimeout(() => giveUp(`The body did not come within ${wholeMsMax / 1000} s.`), wholeMsMax);
  const makeWay = () => giveUp("The body came too slowly, while others waited.");
  signal?.addEventListener("abort", makeWay, { once: true });
  const parts: Uint8Array[] = [];
  let bytes = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read().catch(() => {
        throw brokenOff("The body broke off.");
      });
      if (given !== null) throw brokenOff(given);
      if (done) {
        noteDoing("body of a request");
        return parts;
      }
      timer.refresh();
      bytes += value.byteLength;
      if (bytes > bytesMax) throw new ApiError("payload_too_large");
      parts.push(value);
    }
  } finally {
    clearTimeout(timer);
    clearTimeout(whole);
    signal?.removeEventListener("abort", makeWay);
  }
}

/** Throws 415 for a body that is not sent as it is: what it holds, and how much of it there is, cannot be known before it is unpacked. */
export function requirePlain({ headers }: Request): void {
  const isPlain = (headers.get("content-encoding") ?? "")
    .split(",")
    .every((name) => /^(?:|identity)$/i.test(name.trim()));
  if (!isPlain) throw new ApiError("content_encoding_unsupported", { headers: { "Accept-Encoding": "identity" } });
}

function brokenOff(message: string): ApiError {
  return new ApiError("validation_failed", { message, headers: { Connection: "close" } });
}

/** Returns the bytes of a stream, read to its end, at most `bytesMax`. Throws 413 `payload_too_large` beyond that. */
export async function readBounded(body: ReadableStream<Uint8Array> | null, bytesMax: number): Promise<Uint8Array> {
  if (body === null) return new Uint8Array();
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of body as unknown as AsyncIterable<Uint8Array>) {
    bytes += part.byteLength;
    if (bytes > bytesMax) throw new ApiError("payload_too_large");
    parts.push(part);
  }
  return joined(parts);
}

/** Returns pieces as one. */
export function joined(parts: readonly Uint8Array[]): Uint8Array {
  return parts.length === 1 ? (parts[0] as Uint8Array) : Buffer.concat(parts);
}
