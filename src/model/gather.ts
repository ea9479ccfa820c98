import { setImmediate } from "node:timers";
import { type LanguageModel, type TextStreamPart, type ToolSet, wrapLanguageModel } from "ai";

type Model = Exclude<LanguageModel, string>;
type WrappedModel = ReturnType<typeof wrapLanguageModel>;
type ModelPart = Awaited<ReturnType<WrappedModel["doStream"]>>["stream"] extends ReadableStream<infer P> ? P : never;
type Delta = Extract<ModelPart, { type: "text-delta" | "reasoning-delta" }>;

/** Parts that are read ahead of the reader; more wait at the provider. */
const partsAheadMax = 512;

/**
 * Takes the deltas that arrive together through the SDK as one, and gives them
 * back as they came. Each part of a stream passes some ten stages there, which
 * cost more than all else that a worker does for a turn, and a model's answer
 * arrives many deltas at a time: in one piece from a cache or a proxy that buffers,
 * a few a piece from a fast model. What arrives alone passes alone and at once.
 */
export class Gathering {
  /** The texts that were joined and have not come out yet, in order. */
  readonly #joined: { readonly text: string; readonly pieces: readonly string[] }[] = [];

  /** The model with its deltas joined. */
  wrap(model: LanguageModel): LanguageModel {
    return wrapLanguageModel({
      model: model as Model,
      middleware: {
        wrapStream: async ({ doStream }) => {
          const answer = await doStream();
          return { ...answer, stream: this.#gather(answer.stream) };
        },
      },
    });
  }

  /** The parts as the model sent them, for one that came out of the SDK. */
  split<T extends ToolSet>(part: TextStreamPart<T>): readonly TextStreamPart<T>[] {
    const [next] = this.#joined;
    if (next === undefined || (part.type !== "text-delta" && part.type !== "reasoning-delta")) return [part];
    if (part.text !== next.text) return [part];
    this.#joined.shift();
    return next.pieces.map((text) => ({ ...part, text }));
  }

  #gather(source: ReadableStream<ModelPart>): ReadableStream<ModelPart> {
    const ahead = new ReadAhead(source.getReader());
    return new ReadableStream<ModelPart>(
      {
        pull: async (controller) => {
          const parts = await ahead.take();
          if (parts.length === 0) controller.close();
          for (const part of this.#join(parts)) controller.enqueue(part);
        },
        cancel: (reason) => ahead.cancel(reason),
      },
      { highWaterMark: 0 },
    );
  }

  /** Deltas of one text that follow each other become one, unless a provider has something to say of one of them. */
  #join(parts: readonly ModelPart[]): ModelPart[] {
    const out: ModelPart[] = [];
    let run: Delta[] = [];
    const close = () => {
      const [first] = run;
      if (first === undefined) return;
      const pieces = run.map(({ delta }) => delta);
      const text = pieces.join("");
      if (pieces.length > 1) this.#joined.push({ text, pieces });
      out.push(pieces.length > 1 ? { ...first, delta: text } : first);
      run = [];
    };
    for (const part of parts) {
      const [first] = run;
      if (!isPlainDelta(part)) {
        close();
        out.push(part);
      } else {
        if (first !== undefined && (first.type !== part.type || first.id !== part.id)) close();
        run.push(part);
      }
    }
    close();
    return out;
  }
}

function isPlainDelta(part: ModelPart): part is Delta {
  const isDelta = part.type === "text-delta" || part.type === "reasoning-delta";
  return isDelta && part.delta !== "" && part.providerMetadata === undefined;
}

/** Reads a stream ahead of whoever takes from it, and hands over all that is there. */
class ReadAhead<T> {
  readonly #reader: ReadableStreamDefaultReader<T>;
  #parts: T[] = [];
  #ended = false;
  #error: { readonly cause: unknown } | null = null;
  #reading = false;
  #wake: (() => void) | null = null;

  constructor(reader: ReadableStreamDefaultReader<T>) {
    this.#reader = reader;
  }

  /** Waits for a part, then takes it and what has arrived with it; nothing at the end. Rejects as the stream does. */
  async take(): Promise<T[]> {
    void this.#read();
    while (this.#parts.length === 0 && !this.#ended && this.#error === null) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    // What came over the network in one piece is read within this turn of the event loop.
    await new Promise<void>((resolve) => {
      setImmediate(resolve);
    });
    const parts = this.#parts;
    this.#parts = [];
    if (parts.length === 0 && this.#error !== null) throw this.#error.cause;
    return parts;
  }

  async cancel(reason: unknown): Promise<void> {
    this.#ended = true;
    this.#wake?.();
    await this.#reader.cancel(reason);
  }

  async #read(): Promise<void> {
    if (this.#reading) return;
    this.#reading = true;
    try {
      while (!this.#ended && this.#parts.length < partsAheadMax) {
        const { done, value } = await this.#reader.read();
        if (done) this.#ended = true;
        else this.#parts.push(value);
        this.#wake?.();
      }
    } catch (cause) {
      this.#error = { cause };
      this.#wake?.();
    } finally {
      this.#reading = false;
    }
  }
}
