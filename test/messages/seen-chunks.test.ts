import { expect, test } from "bun:test";
import { readUIMessageStream, type UIMessage, type UIMessageChunk } from "ai";
import { SeenChunks } from "../../src/messages/seen-chunks.ts";
import type { UiMessage } from "../../src/messages/ui-message.ts";

const metadata = { vendor: { signature: "s" } };

/** An answer with everything that a stream may have, in two steps. */
const answer = [
  { type: "start-step" },
  { type: "reasoning-start", id: "0" },
  { type: "reasoning-delta", id: "0", delta: "I should " },
  { type: "reasoning-delta", id: "0", delta: "look it up.", providerMetadata: metadata },
  { type: "reasoning-end", id: "0" },
  { type: "text-start", id: "0" },
  { type: "text-delta", id: "0", delta: "Let me " },
  { type: "text-delta", id: "0", delta: "see. é\u2028" },
  { type: "text-end", id: "0" },
  { type: "tool-input-start", toolCallId: "a", toolName: "search" },
  { type: "tool-input-delta", toolCallId: "a", inputTextDelta: '{"q":' },
  { type: "tool-input-delta", toolCallId: "a", inputTextDelta: '"x"}' },
  { type: "tool-input-available", toolCallId: "a", toolName: "search", input: { q: "x" } },
  { type: "tool-input-available", toolCallId: "b", toolName: "broken", input: {} },
  { type: "data-tool-progress", data: { toolCallId: "a", progress: 1, total: 2, message: null }, transient: true },
  { type: "tool-output-available", toolCallId: "a", output: { some: true }, preliminary: true },
  { type: "tool-output-available", toolCallId: "a", output: { found: 1 } },
  { type: "tool-output-error", toolCallId: "b", errorText: "It broke." },
  { type: "source-url", sourceId: "s1", url: "https://example.com/" },
  { type: "finish-step" },
  { type: "start-step" },
  { type: "text-start", id: "0" },
  { type: "text-delta", id: "0", delta: "Found " },
  { type: "text-delta", id: "0", delta: "it." },
  { type: "text-end", id: "0" },
  { type: "file", url: "data:image/png;base64,AA==", mediaType: "image/png" },
  { type: "tool-input-available", toolCallId: "c", toolName: "ask", input: {} },
  { type: "tool-approval-request", approvalId: "ap", toolCallId: "c" },
  { type: "finish-step" },
] as UIMessageChunk[];

/** Returns the message that the AI SDK's client has after these chunks. */
async function assembled(chunks: readonly unknown[], extended: UiMessage | null = null): Promise<UiMessage> {
  const stream = new ReadableStream<UIMessageChunk>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(structuredClone(chunk) as UIMessageChunk);
      controller.close();
    },
  });
  const begun = structuredClone(extended ?? { id: "msg_1", role: "assistant", parts: [] }) as unknown as UIMessage;
  let message = begun;
  for await (const state of readUIMessageStream({ message: begun, stream })) message = state;
  return message as unknown as UiMessage;
}

function restAfter(seen: readonly UIMessageChunk[], message: UiMessage, before: UiMessage | null = null) {
  const reader = new SeenChunks();
  for (const chunk of seen) reader.note(chunk);
  return reader.rest(message, before);
}

/** What a part says, without what the AI SDK keeps of a text's state. */
const said = ({ parts }: UiMessage) => parts.map((part) => ({ ...(part as object), rawInput: undefined }));

test("with the rest of a stored answer a reader has the whole, wherever its stream broke off", async () => {
  const whole = await assembled(answer);
  for (let count = 0; count <= answer.length; count++) {
    const seen = answer.slice(0, count);
    const rest = restAfter(seen, whole);
    if (rest === null) throw new Error(`nobody knows the rest after ${count}`);
    expect(said(await assembled([...seen, ...rest]))).toEqual(said(whole));
    const deltas = [...seen, ...(rest as UIMessageChunk[])].filter(({ type }) => type === "text-delta");
    expect(deltas.map((chunk) => (chunk as { delta: string }).delta).join("")).toBe("Let me see. é\u2028Found it.");
  }
});

test("after a stop the rest begins with the ends of its calls", async () => {
  const before = await assembled(answer);
  const goneOn = [
    { type: "tool-output-available", toolCallId: "c", output: "yes" },
    { type: "start-step" },
    { type: "text-start", id: "0" },
    { type: "text-delta", id: "0", delta: "Done" },
    { type: "text-delta", id: "0", delta: "." },
    { type: "text-end", id: "0" },
    { type: "finish-step" },
  ] as UIMessageChunk[];
  const whole = await assembled(goneOn, before);
  for (let count = 0; count <= goneOn.length; count++) {
    const seen = goneOn.slice(0, count);
    const rest = restAfter(seen, whole, before);
    if (rest === null) throw new Error(`nobody knows the rest after ${count}`);
    expect(said(await assembled([...seen, ...rest], before))).toEqual(said(whole));
  }
});

test("what is no part of the stored answer has no rest", async () => {
  const whole = await assembled(answer);
  const other = [
    { type: "start-step" },
    { type: "text-start", id: "0" },
    { type: "text-delta", id: "0", delta: "A much longer text than the one that was stored" },
  ] as UIMessageChunk[];
  expect(restAfter(other, whole)).toBeNull();
  expect(restAfter([...answer, { type: "start-step" }], whole)).toBeNull();
});
