import { describe, expect, test } from "bun:test";
import { AnswerContent, contentCharactersMax, promptContent } from "../../src/model/span-content.ts";

const read = (attributes: object, name: string) => JSON.parse(String((attributes as Record<string, unknown>)[name]));

describe("contents of a span", () => {
  test("of a prompt longer than an attribute, the newest messages are kept, and it stays JSON", () => {
    const prompt = Array.from({ length: 100 }, (_, at) => ({ role: "user", content: `${at} ${"x".repeat(2_000)}` }));
    const attributes = promptContent([{ role: "system", content: "Be kind." }, ...prompt]);
    const messages = read(attributes, "gen_ai.input.messages");
    expect(messages.at(-1).parts[0].content).toStartWith("99 ");
    expect(messages.length).toBeLessThan(33);
    expect(String(attributes["gen_ai.input.messages"]).length).toBeLessThanOrEqual(contentCharactersMax);
    expect(read(attributes, "gen_ai.system_instructions")).toEqual([{ type: "text", content: "Be kind." }]);
  });

  test("the bytes of a picture are left out; its address is not", () => {
    const url = new URL("https://example.org/cat.png");
    const files = [url, new Uint8Array(9)].map((data) => ({ type: "file", data, mediaType: "image/png" }));
    expect(read(promptContent([{ role: "user", content: files }]), "gen_ai.input.messages")[0].parts).toEqual([
      { type: "uri", modality: "image", mime_type: "image/png", uri: url.href },
      { type: "blob", modality: "image", mime_type: "image/png", content: "" },
    ]);
  });

  test("an endless answer is kept up to the limit", () => {
    const answer = new AnswerContent();
    for (let at = 0; at < 10_000; at++) answer.came({ type: "text-delta", id: "1", delta: "x".repeat(1_000) });
    const [message] = read(answer.content("length"), "gen_ai.output.messages");
    expect(message.finish_reason).toBe("length");
    expect(message.parts[0].content.length).toBeLessThan(contentCharactersMax);
  });
});
