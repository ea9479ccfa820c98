import type { LanguageModel } from "ai";
import { type ModelRequest, type ModelResult, runModel } from "../../src/model/run-model.ts";

/** Has a model answer "Hello" as a turn does, without tools and history; `more` says what else there is. */
export function runModelAlone(model: LanguageModel, more: Partial<ModelRequest> = {}): Promise<ModelResult> {
  return runModel(
    {
      model,
      instructions: "",
      messages: [{ id: "question", role: "user", parts: [{ type: "text", text: "Hello" }] }],
      thinking: {},
      chain: [],
      format: null,
      messageId: "answer",
      signal: new AbortController().signal,
      download: () => Promise.resolve([]),
      extended: null,
      reached: null,
      afterStep: () => Promise.resolve(),
      tools: [],
      policy: { default: "full", overrides: [] },
      canAsk: false,
      modelCallsMax: 1,
      meter: { beforeCall: () => Promise.resolve(), onCall: () => {} },
      beforeTool: () => Promise.resolve(),
      ...more,
    },
    () => {},
  );
}
