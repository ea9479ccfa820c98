import { ApiError } from "./errors.ts";

/**
 * Returns a request's body of at most `bytesMax` bytes, whatever its
 * `Content-Length` is. Throws 413 `payload_too_large` beyond that.
 */
export async function readBytes(request: Request, bytesMax: number): Promise<Uint8Array> {
  const announced = Number(request.headers.get("content-length") ?? 0);
  if (announced > bytesMax) throw new ApiError("payload_too_large");
  return readBounded(request.body, bytesMax);
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
  return parts.length === 1 ? (parts[0] as Uint8Array) : Buffer.concat(parts);
}
