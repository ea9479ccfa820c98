import { median } from "./figures.ts";

/** What a number of clients measured together. */
export interface Measured {
  readonly turns: number;
  readonly turnsPerSecond: number;
  /** Median time to the first text. */
  readonly firstTextMs: number;
  /** Median time of a whole turn. */
  readonly turnMs: number;
  readonly failed: number;
}

/** Clients that run turns one after the other. */
export interface Drive {
  /** Where a turn is asked for. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly clients: number;
  readonly seconds: number;
  /** Chunks of an answer. */
  readonly chunks: number;
  /** Pause of the model before each chunk after the first; 0 when left out. */
  readonly delayMs?: number;
  readonly stream: boolean;
  /** How a turn is asked for and answered, where not in the service's way. */
  readonly wire?: Wire;
}

/** Another system's way of being asked for a turn, and what its stream looks like. */
export interface Wire {
  /** Asks for a turn; what comes back is its stream. */
  ask(url: string, text: string): Promise<Response>;
  /** Is there once some text is. */
  readonly firstText: RegExp;
  /** Is there at the end of an answer that is whole. */
  readonly end: RegExp;
}

const firstTextChunk = /"text-delta"/;
const endOfStream = /\[DONE\]/;
/** The last word of an answer and its end stand within so many characters of a stream. */
const tailUnits = 20_000;

/** Runs turns as fast as they come, for a while. */
export async function drive(plan: Drive): Promise<Measured> {
  const endsAt = performance.now() + plan.seconds * 1000;
  const first: number[] = [];
  const whole: number[] = [];
  let failed = 0;
  const startedAt = performance.now();
  await Promise.all(
    Array.from({ length: plan.clients }, async () => {
      while (performance.now() < endsAt) {
        const sentAt = performance.now();
        const { firstAt, ok } = await turn(plan);
        if (!ok) failed += 1;
        first.push(firstAt - sentAt);
        whole.push(performance.now() - sentAt);
      }
    }),
  );
  const seconds = (performance.now() - startedAt) / 1000;
  const turns = whole.length;
  return { turns, turnsPerSecond: turns / seconds, firstTextMs: median(first), turnMs: median(whole), failed };
}

/** One turn, read as it comes. Returns the moment its first text arrived. */
async function turn(plan: Drive): Promise<{ firstAt: number; ok: boolean }> {
  const { chunks, delayMs = 0, stream, wire } = plan;
  const text = `[[sim: chunks=${chunks} delayMs=${delayMs}]]`;
  const response = wire === undefined ? await askService(plan, text) : await wire.ask(plan.url, text);
  if (!stream) {
    const body = await response.text();
    return { firstAt: performance.now(), ok: response.ok && body.includes(`chunk-${chunks} `) };
  }
  const { firstText, end } = wire ?? { firstText: firstTextChunk, end: endOfStream };
  let firstAt = 0;
  let tail = "";
  const decoder = new TextDecoder();
  for await (const part of response.body as unknown as AsyncIterable<Uint8Array>) {
    tail = (tail + decoder.decode(part, { stream: true })).slice(-tailUnits);
    if (firstAt === 0 && firstText.test(tail)) firstAt = performance.now();
  }
  return { firstAt, ok: tail.includes(`chunk-${chunks} `) && end.test(tail) };
}

function askService({ url, headers, stream }: Drive, text: string): Promise<Response> {
  const message = { id: "m1", role: "user", parts: [{ type: "text", text }] };
  const body = JSON.stringify({ message, ...(stream ? {} : { stream }) });
  return fetch(url, { method: "POST", headers, body });
}
