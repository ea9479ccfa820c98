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
  /** Gives the reader other bytes in their place. */
  readonly rewrite?: BodyRewrite;
  /** Returns the error with which the stream ends when the server fails with this one. */
  readonly failureOf?: (error: unknown) => unknown;
  /** Lets the reader have pieces of at most `bytesMax`, each once `turn` returns null or its promise resolves. */
  readonly pace?: { readonly bytesMax: number; turn(bytes: number): Promise<void> | null };
  /** The reader waits for the next piece. */
  readonly onWait?: () => void;
  /** Nothing more is read: called once, for whatever reason. */
  readonly onEnd?: () => void;
}

/** What the reader of a body gets in place of its bytes; what it throws ends the stream, and closes the server's connection. */
export interface BodyRewrite {
  /** Returns the bytes for a piece; null for none. */
  push(piece: Uint8Array): Uint8Array | null | Promise<Uint8Array | null>;
  /** Returns the bytes for what is left at the end of the body; null for none. */
  end(): Uint8Array | null | Promise<Uint8Array | null>;
}

/** Returns a body that reads as fast as its reader, and is watched. */
export function watchBody(
  body: ReadableStream<Uint8Array>,
  { look, rewrite, failureOf = (error) => error, pace, onWait, onEnd }: BodyWatch,
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  const read = async () => {
    onWait?.();
    try {
      const { done, value } = await reader.read();
      return done ? null : value;
    } catch (error) {
      onEnd?.();
      throw failureOf(error);
    }
  };
  let rest: Uint8Array | null = null;
  const paced = (piece: Uint8Array) => {
    const isLonger = pace !== undefined && piece.byteLength > pace.bytesMax;
    rest = isLonger ? piece.subarray(pace.bytesMax) : null;
    return isLonger ? piece.subarray(0, pace.bytesMax) : piece;
  };
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        // A piece of which the reader is given nothing is followed by the next one, because a pull that gives nothing is not repeated.
        for (;;) {
          const came = rest ?? (await read());
          if (came === null) {
            onEnd?.();
            const left = rewrite === undefined ? null : await rewrite.end();
            if (left !== null) controller.enqueue(left);
            return controller.close();
          }
          const piece = paced(came);
          const turn = pace?.turn(piece.byteLength) ?? null;
          if (turn !== null) await turn;
          noteDoing("response of a server");
          try {
            const last = look(piece);
            const told = rewrite === undefined ? (last ?? piece) : rewrite.push(last ?? piece);
            const given = told instanceof Promise ? await told : told;
            if (given !== null) controller.enqueue(given);
            if (last === undefined && given !== null) return;
            if (last === undefined) continue;
            controller.close();
          } catch (error) {
            controller.error(error);
          }
          onEnd?.();
          await reader.cancel().catch(() => {});
          return;
        }
      },
      cancel: (reason) => {
        onEnd?.();
        return reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
}
