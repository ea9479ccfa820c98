import type { resolveLanguageModel } from "ai/internal";

/** A model of a vendor's client. */
export type Model = ReturnType<typeof resolveLanguageModel>;

/** A part of an answer as a vendor's client has it. */
export type ModelPart = Awaited<ReturnType<Model["doStream"]>>["stream"] extends ReadableStream<infer P> ? P : never;
