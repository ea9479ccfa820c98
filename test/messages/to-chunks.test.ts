import { describe, expect, test } from "bun:test";
import { chunksOf, chunksSince } from "../../src/messages/to-chunks.ts";
import type { UiMessage } from "../../src/messages/ui-message.ts";
import { assembled } from "../harness/assembled.ts";
import { undecided } from "../harness/undecided.ts";

/** The message that the AI SDK makes of the chunks of a stored one. */
async function assembledOf(message: UiMessage, chunks = chunksOf(message)): Promise<unknown> {
  const whole = [{ type: "start", messageId: message.id }, ...chunks, { type: "finish" }];
  return assembled(whole as readonly object[], { terminateOnError: true });
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
    [
      "a picture that a call returned",
      {
        type: "file",
        mediaType: "image/png",
        url: "data:image/png;base64,AAAA",
        providerMetadata: { parley: { toolCallId: "call_1" } },
      },
    ],
    ["a call that failed", { ...call, state: "output-error", errorText: "no" }],
    [
      "a call of a tool that is known by its name only, with what its provider said of it",
      {
        type: "dynamic-tool",
        toolName: "look",
        toolCallId: "call_1",
        input: null,
        state: "output-available",
        output: [1],
        callProviderMetadata: { p: { k: 1 } },
      },
    ],
    [
      "a call that was approved and failed",
      { ...call, state: "output-error", errorText: "no", approval: { ...approval, approved: true } },
    ],
    ["a call that waits for its client", { ...call, state: "input-available" }],
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
  ])("assembles to that very message, but for decisions: %s", async (_what, part) => {
    const message = { id: "msg_1", role: "assistant", parts: [{ type: "step-start" }, part] } as unknown as UiMessage;
    expect(await assembledOf(message)).toEqual(JSON.parse(JSON.stringify(undecided(message))));
  });

  test("names no call that has ended as one that a client could run", () => {
    const parts = [
      { ...call, state: "output-available", output: 1 },
      { ...call, state: "output-error", errorText: "no" },
    ];
    const types = chunksOf({ id: "msg_1", role: "assistant", parts }).map((chunk) => (chunk as { type: string }).type);
    expect(types).not.toContain("tool-input-available");
  });

  test("goes on from a pause with the ends of the calls, and with what came after them", async () => {
    const step = { type: "step-start" };
    const [asks, waits] = [
      { ...call, state: "approval-responded", approval: { ...approval, approved: true } },
      { ...call, toolCallId: "call_2", state: "approval-responded", approval: { id: "apr_2", approved: false } },
    ];
    const before = { id: "msg_1", role: "assistant" as const, parts: [step, asks, waits] };
    const after = {
      ...before,
      parts: [
        step,
        { ...asks, state: "output-available", output: { ok: true } },
        { ...waits, state: "output-denied" },
        step,
        { type: "text", text: "Done.", state: "done" },
      ],
    };
    const whole = await assembledOf(after, [...chunksOf(before), ...chunksSince(before, after)]);
    expect(whole).toEqual(JSON.parse(JSON.stringify(undecided(after))));
  });
});
