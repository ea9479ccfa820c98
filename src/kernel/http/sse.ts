import { clearTimeout, setTimeout } from "node:timers";
import { streamHeadMs, streamPingMs, streamRetryMs } from "../limits.ts";

/** The headers of every stream (those of the AI SDK's UI message stream). */
export const streamHeaders = {
  "Content-Type": "text/event-stream",
  "X-Vercel-AI-UI-Message-Stream": "v1",
  "Cache-Control": "no-cache",
  Connection: "keep-alive",
  // Proxies that buffer (nginx does by default) would hold the chunks back.
  "X-Accel-Buffering": "no",
} as const;

/** The first line of every stream: how long a reader that lost it waits before it comes back, in milliseconds. */
const retryLine = `retry: ${streamRetryMs}\n`;

/** The event that closes every stream. */
export const doneEvent = "data: [DONE]\n\n";

const encoder = new TextEncoder();
const pingComment = ": ping\n\n";

/**
 * Returns a response that streams what `texts` yields, and a comment when nothing comes.
 * It reads only as fast as the client does, and aborts `stop` when the client goes.
 * `onEnd` is called when no more is sent, at least once.
 */
export function sseResponse(
  texts: AsyncIterable<string>,
  stop: AbortController,
  options: { readonly status: number; readonly headers: Readonly<Record<string, string>>; readonly onEnd?: () => void },
): Response {
  const iterator = texts[Symbol.asyncIterator]();
  let isQuiet = false;
  let head = retryLine;
  const bytesOf = (text: string) => {
    const bytes = encoder.encode(head + text);
    head = "";
    return bytes;
  };
  let ping: NodeJS.Timeout | undefined;
  // A generator from which nothing more is read stays suspended; it has to be told to clean up.
  const leave = () => {
    clearTimeout(ping);
    options.onEnd?.();
    void iterator.return?.().catch(() => {});
  };
  stop.signal.addEventListener("abort", leave, { once: true });
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      const sayWhenQuiet = (text: string) => {
        if (isQuiet && !stop.signal.aborted) controller.enqueue(bytesOf(text));
      };
      // Bun (1.4.5) sends a response's headers with its first bytes. A reader that comes back to a turn that is quiet would have them with the first ping.
      ping = setTimeout(() => {
        if (head !== "") sayWhenQuiet("");
        // From here on one timer, postponed with each text: a new one would cost a tenth of what a text does.
        ping = setTimeout(() => {
          sayWhenQuiet(pingComment);
          ping?.refresh();
        }, streamPingMs);
      }, streamHeadMs);
    },
    async pull(controller) {
      isQuiet = true;
      ping?.refresh();
      const { done, value } = await iterator.next().finally(() => {
        isQuiet = false;
      });
      if (stop.signal.aborted) return;
      if (!done) {
        controller.enqueue(bytesOf(value));
        return;
      }
      clearTimeout(ping);
      controller.close();
      options.onEnd?.();
    },
    cancel: () => stop.abort(),
  });
  return new Response(body, { status: options.status, headers: { ...streamHeaders, ...options.headers } });
}
