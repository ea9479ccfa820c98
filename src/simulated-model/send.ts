/** Puts an answer on the wire, at the pace and with the end its script wants. */
import { momentMark, type Reply } from "./reply.ts";

/** A streamed answer as SSE text. `afterChunks` of an ending counts `chunks`. */
export interface Frames {
  readonly opening: string;
  readonly chunks: ReadonlyArray<string>;
  readonly closing: string;
  /** What stands at the end of even an empty stream. */
  readonly last: string;
  /** The error event of an answer that fails on its way. */
  readonly failure: string;
}

/** The longest silence of a hanging answer, in milliseconds: after it the connection is cut. */
const hangMsMax = 60 * 60 * 1000;

const streamHeaders = { "content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache" };

/**
 * A streamed response. Writes are separate where a pause lies between them and
 * one where none does, so that an answer without pauses costs no timer and one
 * write. `gone` aborts when the client closes; `finished` is called at most
 * once, when the answer ended as its script wants.
 */
export function sendStream(reply: Reply, frames: Frames, gone: AbortSignal, finished: () => void): Response {
  const writes = writesOf(reply, frames);
  const { kind } = reply.ending;
  if (kind === "done" && writes.every(({ pauseMs }) => pauseMs === 0)) {
    finished();
    return new Response(stamp(reply, writes.map(({ text }) => text).join("")), { headers: streamHeaders });
  }
  const encoder = new TextEncoder();
  let next = 0;
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const write = writes[next];
      next += 1;
      if (write !== undefined) {
        await pause(write.pauseMs, gone);
        if (!gone.aborted) controller.enqueue(encoder.encode(stamp(reply, write.text)));
      } else if (kind === "hang") {
        await pause(hangMsMax, gone);
        if (!gone.aborted) controller.error(new Error("The simulated model was silent for its longest time."));
      } else if (kind === "cut") {
        finished();
        controller.error(new Error("The simulated model cuts the connection, as its script says."));
      } else {
        finished();
        controller.close();
      }
    },
  });
  return new Response(body, { headers: streamHeaders });
}

function stamp({ stamped }: Reply, text: string): string {
  return stamped ? text.replaceAll(momentMark, String(Date.now())) : text;
}

interface Write {
  readonly pauseMs: number;
  readonly text: string;
}

function writesOf(reply: Reply, frames: Frames): Write[] {
  if (reply.empty) return [{ pauseMs: reply.firstDelayMs, text: frames.last }];
  const { kind, afterChunks } = reply.ending;
  const chunks = frames.chunks.slice(0, afterChunks);
  const tail = kind === "done" ? frames.closing + frames.last : kind === "fail" ? frames.failure : "";
  if (reply.delayMs === 0) {
    return [
      { pauseMs: 0, text: reply.firstDelayMs === 0 ? "" : frames.opening },
      { pauseMs: reply.firstDelayMs, text: (reply.firstDelayMs === 0 ? frames.opening : "") + chunks.join("") + tail },
    ].filter(({ text }) => text !== "");
  }
  return [
    { pauseMs: 0, text: frames.opening },
    ...chunks.map((text, index) => ({ pauseMs: index === 0 ? reply.firstDelayMs : reply.delayMs, text })),
    { pauseMs: 0, text: tail },
  ].filter(({ text }) => text !== "");
}

/** How long the whole answer takes: a request that does not stream waits so long, at most until its ending. */
export function durationMs(reply: Reply): number {
  const chunks = Math.min(reply.reasoning.length + reply.text.length, reply.ending.afterChunks);
  return reply.firstDelayMs + Math.max(0, chunks - 1) * reply.delayMs;
}

/** A whole response, given when a stream of the same answer would have ended. */
export async function sendWhole(
  reply: Reply,
  body: unknown,
  gone: AbortSignal,
  finished: () => void,
): Promise<Response> {
  const { kind } = reply.ending;
  await pause(kind === "hang" ? hangMsMax : durationMs(reply), gone);
  if (!gone.aborted) finished();
  if (kind === "done") return Response.json(body);
  const cut = new ReadableStream({
    pull: (controller) => controller.error(new Error("The simulated model cuts the connection, as its script says.")),
  });
  return new Response(cut, { headers: { "content-type": "application/json" } });
}

/** Waits, or returns at once when `gone` aborts. */
async function pause(ms: number, gone: AbortSignal): Promise<void> {
  if (ms === 0 || gone.aborted) return;
  await new Promise<void>((resolve) => {
    const timer = setTimeout(done, ms);
    gone.addEventListener("abort", done, { once: true });
    function done(): void {
      clearTimeout(timer);
      gone.removeEventListener("abort", done);
      resolve();
    }
  });
}
