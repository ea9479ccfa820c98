/**
 * A turn as it is streamed: its chunks, each once. A program that stops reading (`break`,
 * or an abort signal) leaves the turn running; `sessions.join` comes back to it.
 */
export class TurnStream<Chunk extends { readonly type: string }> implements AsyncIterable<Chunk> {
  /** The response itself, for what is not read here. Its body is read by the iteration. */
  readonly response: Response;

  constructor(response: Response) {
    this.response = response;
  }

  get turnId(): string | null {
    return this.response.headers.get("x-turn-id");
  }

  /** The id of the session that the call created; null for any other call. */
  get sessionId(): string | null {
    return this.response.headers.get("location")?.split("/").at(-1) ?? null;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Chunk> {
    for await (const data of eventsOf(this.response)) {
      if (data === "[DONE]") return;
      yield JSON.parse(data) as Chunk;
    }
    throw new Error("The stream broke off before its end. Join the session to go on.");
  }

  /** The texts of the model's message, as they come. */
  async *texts(): AsyncGenerator<string> {
    for await (const chunk of this) if (chunk.type === "text-delta" && "delta" in chunk) yield String(chunk.delta);
  }

  /** The chunks as a web stream, which `readUIMessageStream` of the AI SDK takes. */
  toReadableStream(): ReadableStream<Chunk> {
    const chunks = this[Symbol.asyncIterator]();
    return new ReadableStream({
      async pull(controller) {
        const { done, value } = await chunks.next();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      cancel: async () => void (await chunks.return(undefined)),
    });
  }
}

/** The data of each server-sent event. */
async function* eventsOf({ body }: Response): AsyncGenerator<string> {
  if (body === null) return;
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const events = (rest + decoder.decode(value, { stream: true })).split("\n\n");
      rest = events.pop() ?? "";
      for (const event of events) {
        const data = /^data: (.*)$/m.exec(event)?.[1];
        if (data !== undefined) yield data;
      }
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}
