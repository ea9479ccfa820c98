import { describe, expect, test } from "bun:test";
import { readUIMessageStream, type UIMessage, type UIMessageChunk } from "ai";
import { chunksOf } from "../../src/messages/to-chunks.ts";
import type { UiMessage } from "../../src/messages/ui-message.ts";

/** The message that the AI SDK makes of the chunks of a stored one. */
async function assembled(message: UiMessage): Promise<unknown> {
  const stream = new ReadableStream<UIMessageChunk>({
    start: (controller) => {
      for (const chunk of [{ type: "start", messageId: message.id }, ...chunksOf(message), { type: "finish" }])
        controller.enqueue(chunk as UIMessageChunk);
      controller.close();
    },
  });
  let last: UIMessage | null = null;
  for await (const next of readUIMessageStream<UIMessage>({ stream, terminateOnError: true })) last = next;
  return JSON.parse(JSON.stringify(last));
}

const call = { type: "tool-memory_save", toolCallId: "call_1", input: { text: "tea" } };
const approval = { id: "apr_1" };

describe("a stream made of a stored message", () => {
  test.each([
    ["text", { type: "text", text: "hello", state: "done" }],
    [
      "reasoning, with the id it was streamed under",
      { type: "reasoning", id: "reasoning-0", text: "hm", state: "done" },
    ],
    ["a call that has returned", { ...call, state: "output-available", output: { memoryId: "mem_1" } }],
    ["a call that failed", { ...call, state: "output-error", errorText: "no" }],
    ["a call that waits for a person", { ...call, state: "approval-requested", approval }],
    ["a call that was decided", { ...call, state: "approval-responded", approval: { ...approval, approved: true } }],
    [
      "a call that was approved and has returned",
      { ...call, state: "output-available", approval: { ...approval, approved: true }, output: {} },
    ],
    [
      "a call that was denied, with the reason",
      { ...call, state: "output-denied", approval: { ...approval, approved: false, reason: "not now" } },
    ],
  ])("assembles to that very message: %s", async (_what, part) => {
    const message = { id: "msg_1", role: "assistant", parts: [{ type: "step-start" }, part] } as unknown as UiMessage;
    expect(await assembled(message)).toEqual(JSON.parse(JSON.stringify(message)));
  });
});
