import { describe, expect, test } from "bun:test";
import { type LanguageModel, streamText, type TextStreamPart, type ToolSet } from "ai";
import { Gathering } from "../src/model/gather.ts";

type Model = Exclude<LanguageModel, string> & { specificationVersion: "v4" };
type ModelPart = Awaited<ReturnType<Model["doStream"]>>["stream"] extends ReadableStream<infer P> ? P : never;

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
} as const;
const finish = { type: "finish", finishReason: { unified: "stop", raw: "stop" }, usage } as unknown as ModelPart;

/** A model whose stream delivers each group of parts in one piece, and then ends or breaks. */
function modelOf(groups: readonly (readonly ModelPart[])[], breaks?: Error): LanguageModel {
  const model = {
    specificationVersion: "v4",
    provider: "test",
    modelId: "test",
    supportedUrls: {},
    doGenerate: () => Promise.reject(new Error("not asked for")),
    doStream: async () => {
      const waiting = [...groups];
      const stream = new ReadableStream<ModelPart>(
        {
          pull: async (controller) => {
            const group = waiting.shift();
            // A group comes in a turn of the event loop of its own, as a piece from the network does.
            await new Promise<void>((resolve) => void setTimeout(resolve, 1));
            for (const part of group ?? []) controller.enqueue(part);
            if (group === undefined) breaks === undefined ? controller.close() : controller.error(breaks);
          },
        },
        { highWaterMark: 0 },
      );
      return { stream };
    },
  };
  return model as unknown as LanguageModel;
}

type Part = TextStreamPart<ToolSet>;

/** The deltas that came out of the SDK, and the same after they were split again. */
async function play(model: LanguageModel): Promise<{ inside: Part[]; outside: Part[]; error: unknown }> {
  const gathering = new Gathering();
  const inside: Part[] = [];
  const outside: Part[] = [];
  const result = streamText({ model: gathering.wrap(model), prompt: "hello", maxRetries: 0, onError: () => {} });
  let error: unknown = null;
  try {
    for await (const part of result.stream) {
      if (!part.type.endsWith("-delta")) continue;
      inside.push(part as Part);
      outside.push(...gathering.split(part as Part));
    }
  } catch (cause) {
    error = cause;
  }
  return { inside, outside, error };
}

const textsOf = (parts: readonly Part[]) => parts.map((part) => ("text" in part ? part.text : part.type));
const start = { type: "text-start", id: "1" } as ModelPart;
const end = { type: "text-end", id: "1" } as ModelPart;
const delta = (text: string, more: object = {}) => ({ type: "text-delta", id: "1", delta: text, ...more }) as ModelPart;

describe("gathering", () => {
  test("deltas that arrive together pass the SDK as one and come out as they were", async () => {
    const { inside, outside } = await play(modelOf([[start, delta("a"), delta("b"), delta("c"), end, finish]]));
    expect(textsOf(inside)).toEqual(["abc"]);
    expect(textsOf(outside)).toEqual(["a", "b", "c"]);
  });

  test("deltas that arrive alone pass alone", async () => {
    const { inside, outside } = await play(modelOf([[start], [delta("a")], [delta("b")], [end, finish]]));
    expect(textsOf(inside)).toEqual(["a", "b"]);
    expect(textsOf(outside)).toEqual(["a", "b"]);
  });

  test("texts, reasoning and what a provider says of a delta stay apart and in order", async () => {
    const reasoning = [
      { type: "reasoning-start", id: "r" },
      { type: "reasoning-delta", id: "r", delta: "hm " },
      { type: "reasoning-delta", id: "r", delta: "so" },
      { type: "reasoning-end", id: "r" },
    ] as ModelPart[];
    const signed = delta("c", { providerMetadata: { vendor: { signature: "s" } } });
    const parts = [...reasoning, start, delta("a"), delta("b"), signed, delta("d"), delta("e"), end, finish];
    const { inside, outside } = await play(modelOf([parts]));
    expect(textsOf(inside)).toEqual(["hm so", "ab", "c", "de"]);
    expect(textsOf(outside)).toEqual(["hm ", "so", "a", "b", "c", "d", "e"]);
    expect(outside[4]).toMatchObject({ providerMetadata: { vendor: { signature: "s" } } });
    expect(outside.slice(0, 4).some((part) => "providerMetadata" in part && part.providerMetadata)).toBe(false);
  });

  test("the same text twice, once joined and once not, is not taken for the other", async () => {
    const { outside } = await play(
      modelOf([[start, delta("a"), delta("b")], [delta("ab")], [delta("c"), delta("d"), end, finish]]),
    );
    expect(textsOf(outside)).toEqual(["a", "b", "ab", "c", "d"]);
  });

  test("more parts than are read ahead come out whole", async () => {
    const many = Array.from({ length: 3_000 }, (_, index) => delta(`${index} `));
    const { inside, outside } = await play(modelOf([[start, ...many, end, finish]]));
    expect(textsOf(outside)).toEqual(many.map((_, index) => `${index} `));
    expect(inside.length).toBeLessThan(20);
  });

  test("what came before a stream breaks is passed on, then the error", async () => {
    const { outside, error } = await play(modelOf([[start, delta("a"), delta("b")]], new Error("broken off")));
    expect(textsOf(outside)).toEqual(["a", "b"]);
    expect(error).toMatchObject({ message: "broken off" });
  });
});
