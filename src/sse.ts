import { streamPingMs } from "./limits.ts";

/** The headers of every stream (document 1, "GET …/tool-approval-continuations"; the AI SDK's UI message stream). */
export const streamHeaders = {
  "Content-Type": "text/event-stream",
  "X-Vercel-AI-UI-Message-Stream": "v1",
  "Cache-Control": "no-cache",
  Connection: "keep-alive",
  // Proxies that buffer (nginx does by default) would hold the chunks back.
  "X-Accel-Buffering": "no",
} as const;

/** The event that closes every stream. */
export const doneEvent = "data: [DONE]\n\n";

const pingComment = ": ping\n\n";
const encoder = new TextEncoder();

/**
 * A response that streams what `texts` yields, and a comment when it is quiet.
 * It reads only as fast as the client does, and aborts `stop` when the client goes.
 */
export function sseResponse(
  texts: AsyncIterable<string>,
  stop: AbortController,
  options: { readonly status: number; readonly headers: Readonly<Record<string, string>> },
): Response {
  const iterator = texts[Symbol.asyncIterator]();
  // A reader that is not asked for more stands still where it is; it has to be told to clean up.
  stop.signal.addEventListener("abort", () => void iterator.return?.().catch(() => {}), { once: true });
  let next: Promise<IteratorResult<string>> | null = null;
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      next ??= iterator.next();
      const result = await orPing(next);
      if (stop.signal.aborted) return;
      if (result === "ping") {
        controller.enqueue(encoder.encode(pingComment));
        return;
      }
      next = null;
      if (result.done) controller.close();
      else controller.enqueue(encoder.encode(result.value));
    },
    cancel: () => stop.abort(),
  });
  return new Response(body, { status: options.status, headers: { ...streamHeaders, ...options.headers } });
}

/** The next text, or `ping` when none comes for a while. */
async function orPing(next: Promise<IteratorResult<string>>): Promise<IteratorResult<string> | "ping"> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const quiet = new Promise<"ping">((resolve) => {
    timer = setTimeout(() => resolve("ping"), streamPingMs);
  });
  try {
    return await Promise.race([next, quiet]);
  } finally {
    clearTimeout(timer);
  }
}
