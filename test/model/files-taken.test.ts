import { describe, expect, test } from "bun:test";
import type { ModelMessage } from "ai";
import { haveFiles, withTakenFiles } from "../../src/model/files-taken.ts";

const file = (mediaType: string) => ({
  type: "file" as const,
  mediaType,
  data: { type: "data" as const, data: "AAAA" },
});
const result = (...types: readonly string[]): ModelMessage => ({
  role: "tool",
  content: [
    {
      type: "tool-result",
      toolCallId: "c",
      toolName: "draw",
      output: { type: "content", value: [{ type: "text", text: "Here." }, ...types.map(file)] },
    },
  ],
});
/** The media types that are left of a result. */
function typesTaken(provider: string, modelId: string, refuses = false): string[] {
  const messages = [{ role: "user" as const, content: "Hello" }, result("image/png", "image/svg+xml", "audio/wav")];
  const [, taken] = withTakenFiles(messages, { provider, modelId }, refuses);
  return [...JSON.stringify(taken).matchAll(/"mediaType":"([^"]+)"/g)].map(([, type]) => type as string);
}

describe("files of tools' results", () => {
  test.each([
    ["openai.responses", "gpt-5", ["image/png"]],
    ["openai.chat", "gpt-5", []],
    ["custom.chat", "m", []],
    ["anthropic.messages", "claude", ["image/png"]],
    ["google.generative-ai", "gemini", ["image/png", "audio/wav"]],
    ["openrouter", "openai/gpt-5", ["image/png", "audio/wav"]],
    ["gateway", "anthropic/claude", ["image/png"]],
    ["gateway", "meta/llama", []],
  ])("%s takes of them for %s what its vendor takes", (provider, model, types) => {
    expect(typesTaken(provider, model)).toEqual(types);
    expect(typesTaken(provider, model, true)).toEqual([]);
  });

  test("what is left out is said in the result's text, which stays one", () => {
    const [taken] = withTakenFiles(
      [result("image/png", "audio/wav")],
      { provider: "anthropic.messages", modelId: "m" },
      false,
    );
    const [part] = (taken as Extract<ModelMessage, { role: "tool" }>).content;
    const value = part?.type === "tool-result" && part.output.type === "content" ? part.output.value : [];
    expect(value.map(({ type }) => type)).toEqual(["text", "file"]);
    expect(JSON.stringify(value[0])).toContain("Here.\\n[The person is shown these files.");
    expect(haveFiles([taken as ModelMessage])).toBe(true);
    const [none] = withTakenFiles([result("image/png")], { provider: "custom.chat", modelId: "m" }, false);
    expect(haveFiles([none as ModelMessage])).toBe(false);
  });

  test("a result without files is left as it is", () => {
    const messages: ModelMessage[] = [result()];
    expect(withTakenFiles(messages, { provider: "custom.chat", modelId: "m" }, true)[0]).toBe(
      messages[0] as ModelMessage,
    );
  });
});
