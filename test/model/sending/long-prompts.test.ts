import { describe, expect, test } from "bun:test";
import type { ModelMessage } from "ai";
import { languagePrompt } from "../../../src/model/language-prompt.ts";
import { modelMessages } from "../../../src/model/prompt.ts";
import { ToolNames } from "../../../src/model/sending/call-names.ts";
import { fitMessages } from "../../../src/model/sending/fit-prompt.ts";
import { rowOf } from "../../../src/model/sending/rules.ts";
import { longestStallMs } from "../../harness/stall.ts";

const call = (toolCallId: string) => ({
  type: "dynamic-tool",
  toolName: "look",
  toolCallId,
  state: "output-available",
  input: { a: 1 },
  output: "x",
});
const answer = (id: string, parts: readonly object[]) => ({ id, role: "assistant" as const, parts });
const question = (id: string) => ({ id, role: "user" as const, parts: [{ type: "text", text: "and?" }] });
const numbers = (count: number) => Array.from({ length: count }, (_, n) => n);

const rules = rowOf("common");

/** Makes a prompt of a transcript, as a turn does. */
async function promptOf(transcript: readonly object[]): Promise<{ fit: ModelMessage[]; prompt: readonly unknown[] }> {
  const messages = await modelMessages(transcript as never);
  const fit = await fitMessages(messages, { rules, names: new ToolNames(rules.toolName), thoughts: "own" });
  const prompt = await languagePrompt({
    instructions: "",
    messages: fit,
    supportedUrls: {},
    download: undefined,
    provider: "x",
  });
  return { fit, prompt };
}

describe("a prompt of a long transcript", () => {
  test("is made in pieces that are the same as the whole, and the loop does not stand", async () => {
    // Made at once, each of the three steps took 0.3 to 0.7 s of this.
    const transcript = numbers(20).flatMap((m) => [
      question(`u${m}`),
      answer(
        `a${m}`,
        numbers(5_000).flatMap((n) => [{ type: "step-start" }, call(`c${m}-${n}`)]),
      ),
    ]);
    let made: Awaited<ReturnType<typeof promptOf>> | null = null;
    const stallMs = await longestStallMs(async () => {
      made = await promptOf(transcript);
    });
    const { fit, prompt } = made as unknown as Awaited<ReturnType<typeof promptOf>>;
    // Of each question one message, of each call two, and between results and the next question one.
    expect(prompt.length).toBe(fit.length);
    expect(prompt.length).toBe(20 + 200_000 + 19);
    expect(prompt.at(-1)).toMatchObject({ role: "tool", content: [{ type: "tool-result", toolName: "look" }] });
    expect(stallMs).toBeLessThan(250);
  }, 30_000);

  test("has the files of one call with it, in time that does not grow with the square of their number", async () => {
    const file = {
      type: "file",
      mediaType: "image/png",
      url: "data:image/png;base64,AAAA",
      providerMetadata: { parley: { toolCallId: "c" } },
    };
    const once = await longestStallMs(() => promptOf([question("u"), answer("a", [call("c"), file, file])]));
    const { fit } = await promptOf([question("u"), answer("a", [call("c"), file, call("c"), file, file])]);
    const files = fit
      .filter(({ role }) => role === "tool")
      .flatMap(({ content }) => content as { output: { value: { type: string }[] } }[])
      .map(({ output }) => output.value.filter(({ type }) => type === "file").length);
    expect(files).toEqual([1, 2]);
    // Before it took 2 to 3 s.
    const stallMs = await longestStallMs(() =>
      promptOf([question("u"), answer("a", [call("c"), ...numbers(8_000).map(() => file)])]),
    );
    expect(stallMs).toBeLessThan(250 + once);
  });
});
