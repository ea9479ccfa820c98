/** Returns the same response with another body. */
export function withBody(response: Response, body: ReadableStream<Uint8Array> | null): Response {
  const headers = new Headers(response.headers);
  // The body is decoded already, and its length may change.
  for (const name of ["content-encoding", "content-length"]) headers.delete(name);
  return new Response(body as BodyInit | null, { status: response.status, statusText: response.statusText, headers });
}

/** What `watchBody` calls while a body is read. */
export interface BodyWatch {
  /**
   * Sees each piece before the reader does. When it returns a piece, that is the last one;
   * when it throws, the stream ends with that error. Either closes the server's connection.
   */
  readonly look: (piece: Uint8Array) => Uint8Array | undefined;
  /** Returns the error with which the stream ends when the server fails with this one. */
  readonly failureOf?: (error: unknown) => unknown;
  /** The reader waits for the next piece. */
  readonly onWait?: () => void;
  /** Nothing more is read: called once, for whatever reason. */
  readonly onEnd?: () => void;
}

/** Returns a body that reads as fast as its reader, and is watched. */
export function watchBody(
  body: ReadableStream<Uint8Array>,
  { look, failureOf = (error) => error, onWait, onEnd }: BodyWatch,
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  const read = () =>
    reader.read().catch((error: unknown) => {
      onEnd?.();
      throw failureOf(error);
    });
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        onWait?.();
        const { done, value } = await read();
        if (done) {
          onEnd?.();
          return controller.close();
        }
        try {
          const last = look(value);
          controller.enqueue(last ?? value);
          if (last === undefined) return;
          controller.close();
        } catch (error) {
          controller.error(error);
        }
        onEnd?.();
        await reader.cancel().catch(() => {});
      },
      cancel: (reason) => {
        onEnd?.();
        return reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
}
