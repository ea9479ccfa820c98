import { clearTimeout, setTimeout } from "node:timers";
import { ApiError } from "./errors.ts";
import { bodySilenceMsMax } from "./limits.ts";

/**
 * Returns a request's body of at most `bytesMax` bytes, whatever its
 * `Content-Length` is. Throws 413 `payload_too_large` beyond that, and 400 for a body that
 * breaks off, or sends nothing for `silenceMsMax`; the connection is closed then.
 */
export async function readBytes(request: Request, bytesMax: number, silenceMsMax?: number): Promise<Uint8Array> {
  return joined(await readPieces(request, bytesMax, silenceMsMax));
}

/** Does what `readBytes` does, and returns the pieces in which the body came: to join those of a large body takes milliseconds. */
export async function readPieces(
  request: Request,
  bytesMax: number,
  silenceMsMax: number = bodySilenceMsMax,
): Promise<readonly Uint8Array[]> {
  const announced = Number(request.headers.get("content-length") ?? 0);
  if (announced > bytesMax) throw new ApiError("payload_too_large");
  if (request.body === null) return [];
  const reader = request.body.getReader();
  let isSilent = false;
  const timer = setTimeout(() => {
    isSilent = true;
    // The read that waits returns then.
    reader.cancel().catch(() => {});
  }, silenceMsMax);
  const parts: Uint8Array[] = [];
  let bytes = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read().catch(() => {
        throw brokenOff("The body broke off.");
      });
      if (isSilent) throw brokenOff(`No byte of the body came for ${silenceMsMax / 1000} s.`);
      if (done) return parts;
      timer.refresh();
      bytes += value.byteLength;
      if (bytes > bytesMax) throw new ApiError("payload_too_large");
      parts.push(value);
    }
  } finally {
    clearTimeout(timer);
  }
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
