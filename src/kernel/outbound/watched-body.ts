import { noteDoing } from "../telemetry/work.ts";

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
  /** Lets the reader have pieces of at most `bytesMax`, each once `turn` returns null or its promise resolves. */
  readonly pace?: { readonly bytesMax: number; turn(bytes: number): Promise<void> | null };
  /** The reader waits for the next piece. */
  readonly onWait?: () => void;
  /** Nothing more is read: called once, for whatever reason. */
  readonly onEnd?: () => void;
}

/** Returns a body that reads as fast as its reader, and is watched. */
export function watchBody(
  body: ReadableStream<Uint8Array>,
  { look, failureOf = (error) => error, pace, onWait, onEnd }: BodyWatch,
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  const read = () =>
    reader.read().catch((error: unknown) => {
      onEnd?.();
      throw failureOf(error);
    });
  let rest: Uint8Array | null = null;
  const next = async () => {
    let piece = rest;
    if (piece === null) {
      onWait?.();
      const { done, value } = await read();
      if (done) return null;
      piece = value;
    }
    const isLonger = pace !== undefined && piece.byteLength > pace.bytesMax;
    rest = isLonger ? piece.subarray(pace.bytesMax) : null;
    return isLonger ? piece.subarray(0, pace.bytesMax) : piece;
  };
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const piece = await next();
        if (piece === null) {
          onEnd?.();
          return controller.close();
        }
        const turn = pace?.turn(piece.byteLength) ?? null;
        if (turn !== null) await turn;
        noteDoing("response of a server");
        try {
          const last = look(piece);
          controller.enqueue(last ?? piece);
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
