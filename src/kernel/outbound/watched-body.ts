/** Returns the same response with another body. */
export function withBody(response: Response, body: ReadableStream<Uint8Array> | null): Response {
  const headers = new Headers(response.headers);
  // The body is decoded already, and its length may change.
  for (const name of ["content-encoding", "content-length"]) headers.delete(name);
  return new Response(body as BodyInit | null, { status: response.status, statusText: response.statusText, headers });
}

/**
 * Returns a body that reads as fast as its reader, each piece of which `look` sees first.
 * When `look` returns a piece, that is the last one; when it throws, the stream ends with
 * that error. Either closes the server's connection. When the server fails, the stream
 * ends with what `failureOf` returns for the error.
 */
export function watchBody(
  body: ReadableStream<Uint8Array>,
  look: (piece: Uint8Array) => Uint8Array | undefined,
  failureOf: (error: unknown) => unknown = (error) => error,
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  const read = () =>
    reader.read().catch((error: unknown) => {
      throw failureOf(error);
    });
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await read();
        if (done) return controller.close();
        try {
          const last = look(value);
          controller.enqueue(last ?? value);
          if (last === undefined) return;
          controller.close();
        } catch (error) {
          controller.error(error);
        }
        await reader.cancel().catch(() => {});
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
}
