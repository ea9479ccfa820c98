import type { Form } from "../../src/kernel/errors.ts";
import type { ApiResponse, Harness, TestTenant } from "./harness.ts";
import { eventually } from "./harness.ts";
import { sampleOf } from "./prometheus.ts";
import { chunksOf, sseEvents } from "./seed.ts";

/** A chunk of a stream, or `[DONE]`. */
export type Chunk = { readonly type: string; readonly [field: string]: unknown };

/** A turn's response taken apart. */
export interface Played extends ApiResponse {
  readonly sessionId: string;
  readonly turnId: string;
  readonly chunks: Chunk[];
}

interface PlayOptions {
  readonly form?: Form;
  readonly headers?: Record<string, string>;
}

/** Runs a turn to its end; without a session it makes one. */
export async function play(
  t: TestTenant,
  agentId: string,
  sessionId: string | null,
  body: object,
  options: PlayOptions = {},
): Promise<Played> {
  const response = await t.call("POST", sessionPath(agentId, sessionId), { body, ...options });
  return {
    ...response,
    sessionId: sessionId ?? response.headers.get("location")?.split("/").at(-1) ?? "",
    turnId: response.headers.get("x-turn-id") ?? "",
    chunks: typeof response.body === "string" ? chunksOf(response.body) : [],
  };
}

/** The path of a session, or of an agent's sessions. */
export function sessionPath(agentId: string, sessionId: string | null, rest = ""): string {
  return `/v1/agents/${agentId}/sessions${sessionId === null ? "" : `/${sessionId}`}${rest}`;
}

/** The messages of a session, oldest first. */
export async function messagesOf(t: TestTenant, agentId: string, sessionId: string) {
  const response = await t.call("GET", sessionPath(agentId, sessionId, "/messages?limit=200"));
  return response.body.data;
}

/** The texts of a stream put together. */
export function textOf(chunks: readonly Chunk[]): string {
  return chunks.map((chunk) => (chunk.type === "text-delta" ? chunk.delta : "")).join("");
}

/** A user's message that makes the simulated model play a script. */
export function script(text: string) {
  return { id: crypto.randomUUID(), role: "user" as const, parts: [{ type: "text", text: `[[sim: ${text}]]` }] };
}

/** Which of the simulated model's requests came from a message. */
export function requestsOf(h: Harness, message: { readonly parts: readonly { readonly text?: string }[] }) {
  const text = message.parts[0]?.text ?? "";
  return h.model.requests().filter((request) => {
    const messages = (request.body as { messages?: { role: string; content: unknown }[] }).messages ?? [];
    const last = messages.findLast((known) => known.role === "user")?.content;
    return last === text || (Array.isArray(last) && last.some((part) => part.text === text));
  });
}

/** The conversation as the simulated model was sent it to answer a message. */
export function conversationOf(h: Harness, message: Parameters<typeof requestsOf>[1]) {
  const [request] = requestsOf(h, message);
  if (request === undefined) throw new Error("The model was not asked.");
  return (request.body as { messages: { role: string; content: unknown }[] }).messages;
}

/** An event of a stream that is read as it comes. */
export interface LiveEvent {
  readonly id: string | null;
  readonly data: Chunk | "[DONE]";
}

/** A response's stream, read only as far as the test asks. */
export class LiveStream {
  readonly response: Response;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #decoder = new TextDecoder();
  #text = "";
  /** Comments seen so far. */
  pings = 0;

  constructor(response: Response) {
    this.response = response;
    if (response.body === null) throw new Error(`no body: ${response.status}`);
    this.#reader = response.body.getReader();
  }

  get turnId(): string {
    return this.response.headers.get("x-turn-id") ?? "";
  }

  get sessionId(): string {
    return this.response.headers.get("location")?.split("/").at(-1) ?? "";
  }

  /** The next event; null at the end. */
  async next(): Promise<LiveEvent | null> {
    for (;;) {
      const end = this.#text.indexOf("\n\n");
      if (end >= 0) {
        const block = this.#text.slice(0, end + 2);
        this.#text = this.#text.slice(end + 2);
        const [event] = sseEvents(block);
        if (event !== undefined) return event as LiveEvent;
        this.pings += 1;
        continue;
      }
      const { done, value } = await this.#reader.read();
      if (done) return null;
      this.#text += this.#decoder.decode(value, { stream: true });
    }
  }

  /** Reads on until a chunk of this type has come, and returns it. */
  async until(type: string): Promise<Chunk> {
    for (;;) {
      const event = await this.next();
      if (event === null) throw new Error(`The stream ended before a chunk ${type}.`);
      if (event.data !== "[DONE]" && event.data.type === type) return event.data;
    }
  }

  /** All further events, to the end. */
  async rest(): Promise<LiveEvent[]> {
    const events: LiveEvent[] = [];
    for (let event = await this.next(); event !== null; event = await this.next()) events.push(event);
    return events;
  }

  /** Goes away, as a client does that closes its connection. */
  leave(): Promise<void> {
    return this.#reader.cancel();
  }
}

/** Opens a stream in this process without reading it. */
export async function open(
  h: Pick<Harness, "app">,
  t: TestTenant,
  method: "GET" | "POST",
  path: string,
  { body, form, headers = {} }: PlayOptions & { body?: object } = {},
): Promise<LiveStream> {
  const all = {
    authorization: `Bearer ${t.token}`,
    "content-type": "application/json",
    ...(form === undefined ? {} : { "api-form": form }),
    ...headers,
  };
  const payload = body === undefined ? null : JSON.stringify(body);
  const response = await h.app(new Request(`http://parley.test${path}`, { method, headers: all, body: payload }));
  return new LiveStream(response);
}

/** Waits until a session's turn is over. */
export async function idle(h: Pick<Harness, "sql">, sessionId: string): Promise<void> {
  await eventually(async () => {
    const [row] = await h.sql`
      select 1 from turns where session_id = ${sessionId} and status in ('queued', 'running', 'waiting')`;
    return row === undefined;
  });
}

/** What a turn has been metered with; null while it has not been. */
export async function usageOf(h: Pick<Harness, "sql">, turnId: string) {
  const [row] = await h.sql<{ inputTokens: number; outputTokens: number; sessionId: string; userId: string }[]>`
    select input_tokens, output_tokens, session_id, user_id from usage where turn_id = ${turnId}`;
  return row ?? null;
}

/** How many readers follow a turn at the process that serves this harness. */
export async function readersOf(h: Pick<Harness, "app">): Promise<number | undefined> {
  const response = await h.app(new Request("http://parley.test/metrics"));
  return sampleOf(await response.text(), "parley_followers_open");
}
