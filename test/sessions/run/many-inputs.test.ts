import { afterAll, describe, expect, test } from "bun:test";
import { valuesOf } from "../../../src/kernel/json-bounds.ts";
import { answerValuesMax } from "../../../src/kernel/limits.ts";
import { eventStream } from "../../harness/anthropic-events.ts";
import { useTenant } from "../../harness/fixture.ts";
import { makeAgent, makeProvider, userMessage } from "../../harness/seed.ts";
import { longestStallMs } from "../../harness/stall.ts";
import { messagesOf, play } from "../../harness/turns.ts";
import { startVendor } from "../../servers/vendor.ts";

const { h, t } = await useTenant({ worker: true });

interface StoredCall {
  readonly toolCallId: string;
  readonly input: unknown;
  readonly errorText?: string;
}

/** What the model answers with, one after the other. */
let answers: Response[] = [];
const vendor = startVendor(({ body }) =>
  body === null ? new Response("no", { status: 404 }) : (answers.shift() ?? new Response("no", { status: 400 })),
);
afterAll(() => vendor.stop());

const event = (delta: object, reason: string | null = null) =>
  `data: ${JSON.stringify({ id: "c", choices: [{ index: 0, delta, finish_reason: reason }] })}\n\n`;
const says = (content: string) =>
  new Response(`${event({ content })}${event({}, "stop")}data: [DONE]\n\n`, eventStream);

/** An answer of calls whose inputs have so many empty lists each. */
function calls(ids: readonly string[], lists: number): Response {
  const input = `{"a":[${Array(lists).fill("[]").join()}]}`;
  const events = ids.map((id, index) =>
    event({ tool_calls: [{ index, id, type: "function", function: { name: "write_todos", arguments: input } }] }),
  );
  return new Response(`${events.join("")}${event({}, "tool_calls")}data: [DONE]\n\n`, eventStream);
}

async function storedCalls(...said: Response[]): Promise<{ parts: unknown[]; made: StoredCall[] }> {
  answers = [...said, says("Done.")];
  const { id } = await makeProvider(h, t, { baseUrl: `${vendor.url}/v1` });
  const agentId = await makeAgent(h, t, { providerId: id, model: "m", tools: ["write_todos"] });
  const played = await play(t, agentId, null, { message: userMessage("hi"), stream: false });
  expect([played.status, answers]).toEqual([201, []]);
  const parts = (await messagesOf(t, agentId, played.sessionId)).at(-1).parts;
  return { parts, made: parts.filter((part: Partial<StoredCall>) => part.toolCallId !== undefined) };
}

const tooMany = "This call was not made: the inputs of this answer's calls have too many values.";

describe("the inputs of an answer's calls", () => {
  test("have a bound together: further calls are not made, and the loop does not stand", async () => {
    const ids = Array.from({ length: 128 }, (_, index) => `call_${index}`);
    let stored: Awaited<ReturnType<typeof storedCalls>> | undefined;
    const stood = await longestStallMs(async () => {
      stored = await storedCalls(calls(ids, 14_000));
    });
    const { parts, made } = stored as NonNullable<typeof stored>;
    expect(made).toHaveLength(128);
    const told = made.map(({ errorText = "" }) => errorText.includes(tooMany));
    expect(told).toEqual(ids.map((_, index) => index >= 7));
    expect(valuesOf(parts, 1_000_000)).toBeLessThan(answerValuesMax + 128 * 20);
    expect(stood).toBeLessThan(250);
  });

  test("count over all steps of the answer", async () => {
    const { made } = await storedCalls(calls(["one"], 60_000), calls(["two"], 60_000), calls(["three"], 10_000));
    expect(made.map(({ toolCallId, errorText = "" }) => [toolCallId, errorText.includes(tooMany)])).toEqual([
      ["one", false],
      ["two", true],
      ["three", false],
    ]);
  });
});
