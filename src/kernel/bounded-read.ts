import { ApiError } from "./errors.ts";

/**
 * Reads at most `bytesMax` bytes of a request's body, whatever its
 * `Content-Length` says. Throws 413 `payload_too_large` beyond that.
 */
export async function readBytes(request: Request, bytesMax: number): Promise<Uint8Array> {
  const announced = Number(request.headers.get("content-length") ?? 0);
  if (announced > bytesMax) throw new ApiError("payload_too_large");
  return readBounded(request.body, bytesMax);
}

/** Reads a stream to its end, at most `bytesMax` bytes. Throws 413 `payload_too_large` beyond that. */
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
