import { expect, test } from "bun:test";
import { convertToModelMessages, type UIMessage } from "ai";
import type { UiMessage } from "../../src/messages/ui-message.ts";
import { modelMessages } from "../../src/model/prompt.ts";

const text = (said: string) => ({ type: "text", text: said });
const message = (role: string, ...parts: unknown[]) => ({ id: `${parts.length}`, role, parts }) as unknown as UiMessage;

const plain = [
  message("user", text("one"), text("two")),
  message("assistant", { type: "step-start" }, { ...text("three"), state: "done" }, text("")),
  message("user"),
  message("assistant", { type: "step-start" }),
  message("assistant"),
];
const call = { type: "tool-read", toolCallId: "c", input: { path: "/" } };
const mixed = {
  "a picture": message("user", text("see"), { type: "file", mediaType: "image/png", url: "https://example.com/a.png" }),
  thoughts: message("assistant", { type: "step-start" }, { type: "reasoning", text: "hm" }, text("so")),
  "what a provider says of a text": message("assistant", { ...text("so"), providerMetadata: { a: { b: 1 } } }),
  "two steps": message("assistant", { type: "step-start" }, text("a"), { type: "step-start" }, text("b")),
  "a step that begins late": message("assistant", text("a"), { type: "step-start" }, text("b")),
  "a call that was answered": message(
    "assistant",
    { type: "step-start" },
    { ...call, state: "output-available", output: "x" },
  ),
  "a call that never was": message("assistant", { type: "step-start" }, { ...call, state: "input-available" }),
  "a call that waits": message("assistant", { ...call, state: "approval-requested", approval: { id: "p" } }),
  "a call that was decided": message("assistant", {
    ...call,
    state: "approval-responded",
    approval: { id: "p", approved: true },
  }),
  "the system's": message("system", text("be kind")),
};

test.each(Object.entries(mixed))(
  "a transcript with %s is put over as by the SDK, wherever it stands",
  async (_what, other) => {
    for (const transcript of [[other], [...plain, other], [...plain, other, ...plain], [other, ...plain, other]]) {
      const sdk = await convertToModelMessages(transcript as unknown as UIMessage[], {
        ignoreIncompleteToolCalls: true,
      });
      expect(await modelMessages(transcript)).toEqual(sdk);
    }
  },
);

test("a transcript of texts is put over as by the SDK", async () => {
  const sdk = await convertToModelMessages(plain as unknown as UIMessage[], { ignoreIncompleteToolCalls: true });
  expect(sdk.length).toBe(3);
  expect(await modelMessages(plain)).toEqual(sdk);
});

const file = (data: string, toolCallId = "c") => ({
  type: "file",
  mediaType: "image/png",
  url: `data:image/png;base64,${data}`,
  providerMetadata: { parley: { toolCallId } },
});
const given = (text: string, ...files: readonly string[]) => ({
  type: "content",
  value: [
    { type: "text", text },
    ...files.map((data) => ({ type: "file", mediaType: "image/png", data: { type: "data", data } })),
  ],
});

test("files that tools returned are in the results of their calls, also where an id comes again, and no words of the model", async () => {
  const done = { ...call, state: "output-available" };
  const sent = await modelMessages([
    ...plain,
    message(
      "assistant",
      { type: "step-start" },
      { ...done, output: "first" },
      file("AAAA"),
      { type: "step-start" },
      { ...done, output: "second" },
      { ...done, toolCallId: "d", output: { sum: 3 } },
      file("BBBB"),
      file("CCCC", "d"),
      file("DDDD"),
      { type: "step-start" },
      { ...call, toolCallId: "e", state: "output-error", errorText: "lost" },
      file("EEEE", "e"),
      file("FFFF", "nobody's"),
      text("so"),
    ),
  ]);
  const results = sent.flatMap(({ role, content }) =>
    role === "tool" ? content.map((part) => (part.type === "tool-result" ? part.output : null)) : [],
  );
  expect(results).toEqual([
    given("first", "AAAA"),
    given("second", "BBBB", "DDDD"),
    given('{"sum":3}', "CCCC"),
    { type: "error-text", value: "lost" },
  ] as never);
  expect(JSON.stringify(sent.filter(({ role }) => role === "assistant"))).not.toContain('"file"');
  expect(JSON.stringify(sent)).not.toContain("EEEE");
});
