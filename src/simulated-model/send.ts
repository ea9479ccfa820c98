/** Sends an answer, with the pauses and the end that its script sets. */
import { type ModelReply, momentMark } from "./reply.ts";

/** A streamed answer as SSE text. `afterChunks` of an ending counts `chunks`. */
export interface Frames {
  readonly opening: string;
  readonly chunks: ReadonlyArray<string>;
  readonly closing: string;
  /** The end of every stream, also of an empty one. */
  readonly last: string;
  /** The error event of an answer that fails while it is streamed. */
  readonly failure: string;
}

/** A hanging answer cuts the connection after this many milliseconds without output. */
const hangMsMax = 60 * 60 * 1000;

const streamHeaders = { "content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache" };

/**
 * Returns a streamed response. Texts with a pause between them are written separately,
 * others together, so that an answer without pauses costs one write and no timer. `gone`
 * aborts when the client disconnects; `finished` is called at most once, when the answer
 * has ended as its script sets.
 */
export function sendStream(reply: ModelReply, frames: Frames, gone: AbortSignal, finished: () => void): Response {
  const writes = writesOf(reply, frames);
  const { kind } = reply.ending;
  if (kind === "done" && writes.every(({ pauseMs }) => pauseMs === 0)) {
    finished();
    return new Response(stamp(reply, writes.map(({ text }) => text).join("")), { headers: streamHeaders });
  }
  const encoder = new TextEncoder();
  const pace = new Pace(gone);
  let next = 0;
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const write = writes[next];
      next += 1;
      if (write !== undefined) {
        await pace.keep(write.pauseMs);
        if (!gone.aborted) controller.enqueue(encoder.encode(stamp(reply, write.text)));
      } else if (kind === "hang") {
        await pace.keep(hangMsMax);
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

function stamp({ stamped }: ModelReply, text: string): string {
  return stamped ? text.replaceAll(momentMark, String(Date.now())) : text;
}

interface Write {
  readonly pauseMs: number;
  readonly text: string;
}

function writesOf(reply: ModelReply, frames: Frames): Write[] {
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

/**
 * Returns how long the whole answer takes, at most until its ending: a request that does
 * not stream waits that long.
 */
export function durationMs(reply: ModelReply): number {
  const chunks = Math.min(reply.reasoning.length + reply.text.length, reply.ending.afterChunks);
  return reply.firstDelayMs + Math.max(0, chunks - 1) * reply.delayMs;
}

/** Returns a whole response, at the time when a stream of the same answer would have ended. */
export async function sendWhole(
  reply: ModelReply,
  body: unknown,
  gone: AbortSignal,
  finished: () => void,
): Promise<Response> {
  const { kind } = reply.ending;
  await new Pace(gone).keep(kind === "hang" ? hangMsMax : durationMs(reply));
  if (!gone.aborted) finished();
  if (kind === "done") return Response.json(body);
  const cut = new ReadableStream({
    pull: (controller) => controller.error(new Error("The simulated model cuts the connection, as its script says.")),
  });
  return new Response(cut, { headers: { "content-type": "application/json" } });
}

/** A write that is later than this, because the client did not read, does not shorten the pauses after it; in milliseconds. */
const latenessMsMax = 1_000;

/**
 * Keeps the pauses of one answer. Each is counted from the time at which the one before
 * was due to end, not from when the process wrote: else every delay of a busy machine
 * would add up, and streams that were delayed together would stay synchronised.
 */
class Pace {
  readonly #gone: AbortSignal;
  #dueAt = performance.now();
  #leave = () => {};

  /** `gone` ends every pause. */
  constructor(gone: AbortSignal) {
    this.#gone = gone;
    gone.addEventListener("abort", () => this.#leave(), { once: true });
  }

  /** Waits until the next pause, of `pauseMs` milliseconds, has ended. */
  async keep(pauseMs: number): Promise<void> {
    if (pauseMs === 0 || this.#gone.aborted) return;
    const now = performance.now();
    this.#dueAt = Math.max(this.#dueAt + pauseMs, now - latenessMsMax);
    const restMs = this.#dueAt - now;
    if (restMs <= 0) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, restMs);
      this.#leave = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
