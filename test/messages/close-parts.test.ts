import { describe, expect, test } from "bun:test";
import { readUIMessageStream, type UIMessage, type UIMessageChunk } from "ai";
import { closeParts, closingChunks } from "../../src/messages/close-parts.ts";
import type { UiMessage } from "../../src/messages/ui-message.ts";

const lost = "The worker was lost while this ran; it may have happened.";
const call = { toolCallId: "call_1", toolName: "send" };
const called = { type: "tool-input-available", ...call, input: { to: "ada" } } as const;
const step = { type: "start-step" } as const;

/** The message that the AI SDK makes of chunks, as it is stored. */
async function assembled(chunks: readonly UIMessageChunk[], extended?: UiMessage): Promise<UiMessage> {
  const stream = new ReadableStream<UIMessageChunk>({
    start: (controller) => {
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });
  const message = (extended ?? { id: "msg_1", role: "assistant", parts: [] }) as unknown as UIMessage;
  let last = message;
  for await (const next of readUIMessageStream<UIMessage>({ message, stream, terminateOnError: true })) last = next;
  return JSON.parse(JSON.stringify(last));
}

const cutOff: [what: string, chunks: UIMessageChunk[], closing: UIMessageChunk[]][] = [
  ["nothing", [], []],
  ["a step that is over", [step, { type: "finish-step" }], []],
  ["an empty step", [step], [{ type: "finish-step" }]],
  [
    "a text",
    [step, { type: "text-start", id: "t" }, { type: "text-delta", id: "t", delta: "Hal" }],
    [{ type: "text-end", id: "t" }, { type: "finish-step" }],
  ],
  [
    "a thought beside a text of the same id that is over",
    [
      step,
      { type: "text-start", id: "0" },
      { type: "reasoning-start", id: "0" },
      { type: "text-end", id: "0" },
      { type: "reasoning-delta", id: "0", delta: "hm" },
    ],
    [{ type: "reasoning-end", id: "0" }, { type: "finish-step" }],
  ],
  [
    "a call that ran",
    [step, called],
    [{ type: "tool-output-error", toolCallId: "call_1", errorText: lost }, { type: "finish-step" }],
  ],
  [
    "a call of a remote tool",
    [step, { ...called, dynamic: true }],
    [{ type: "tool-output-error", toolCallId: "call_1", errorText: lost, dynamic: true }, { type: "finish-step" }],
  ],
  [
    "a call that has said something of its result",
    [step, called, { type: "tool-output-available", toolCallId: "call_1", output: 1, preliminary: true }],
    [{ type: "tool-output-error", toolCallId: "call_1", errorText: lost }, { type: "finish-step" }],
  ],
  [
    "a call whose input was still coming",
    [
      step,
      { type: "tool-input-start", ...call },
      { type: "tool-input-delta", toolCallId: "call_1", inputTextDelta: '{"to' },
    ],
    [{ type: "tool-input-error", ...call, input: {}, errorText: lost }, { type: "finish-step" }],
  ],
  [
    "a call that has returned",
    [step, called, { type: "tool-output-available", toolCallId: "call_1", output: 1 }],
    [{ type: "finish-step" }],
  ],
  [
    "a call that was denied and not yet told so",
    [
      step,
      called,
      { type: "tool-approval-request", approvalId: "apr_1", toolCallId: "call_1" },
      { type: "tool-approval-response", approvalId: "apr_1", approved: false },
    ],
    [{ type: "tool-output-denied", toolCallId: "call_1" }, { type: "finish-step" }],
  ],
];

describe("an answer that was cut off", () => {
  test.each(cutOff)("is closed by chunks: %s", (_what, chunks, closing) => {
    expect(closingChunks(chunks, null, lost)).toEqual(closing);
  });

  test.each(cutOff)("is the same closed as a message and by chunks: %s", async (_what, chunks, closing) => {
    const message = closeParts(await assembled(chunks), lost);
    const shown = await assembled([...chunks, ...closing]);
    // What a reader had of the input, as text, is no part of what is kept.
    const kept = (of: UiMessage) => of.parts.map((part) => ({ ...(part as object), rawInput: undefined, input: null }));
    expect(kept(message)).toEqual(kept(shown));
  });

  test("is closed in the message that it goes on with too", async () => {
    const parts = ["call_1", "call_2", "call_3"].map((toolCallId) => ({
      type: "tool-send",
      toolCallId,
      state: "approval-responded",
      input: {},
      approval: { id: `apr_${toolCallId}`, approved: toolCallId !== "call_3" },
    }));
    const extended: UiMessage = { id: "msg_1", role: "assistant", parts };
    const chunks: UIMessageChunk[] = [{ type: "tool-output-available", toolCallId: "call_1", output: "sent" }];
    const closing = closingChunks(chunks, extended, lost);
    expect(closing).toEqual([
      { type: "tool-output-error", toolCallId: "call_2", errorText: lost },
      { type: "tool-output-denied", toolCallId: "call_3" },
    ]);
    const shown = await assembled([...chunks, ...closing], structuredClone(extended));
    expect(closeParts(await assembled(chunks, structuredClone(extended)), lost)).toEqual(shown);
  });
});
