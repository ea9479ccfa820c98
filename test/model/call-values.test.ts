import { expect, test } from "bun:test";
import { answerValuesMax } from "../../src/kernel/limits.ts";
import { CallValues } from "../../src/model/call-values.ts";
import { ChatEvents } from "../../src/providers/events/chat-events.ts";

const lists = (values: number) => Array(values - 1).fill([]);

test("the inputs of an answer have a bound together, and those of the answer that goes on count", async () => {
  const values = new CallValues([{ input: lists(50_000) }, { type: "text" }]);
  expect(await values.takeInput(JSON.stringify(lists(answerValuesMax - 50_000 + 1)))).toBe("too_many_values");
  // What is too large counts as whole, so that it is refused for that.
  for (const [input, isWhole] of [
    ["[1]", true],
    ["[1", false],
    [`${"1,".repeat(answerValuesMax)}`, true],
  ] as const)
    expect(await values.isWhole(input)).toBe(isWhole);
  expect(await values.takeInput(JSON.stringify(lists(answerValuesMax - 50_000)))).toBeNull();
  expect(await values.takeInput("1")).toBe("too_many_values");
  expect(await new CallValues([]).takeInput("[".repeat(1_000))).toBe("too_deep");
});

test("a result that there is no room for is kept as the text of its JSON", () => {
  const values = new CallValues([{ output: { rows: lists(40_000) } }]);
  const result = { rows: lists(50_000) };
  expect(values.admit(result)).toBe(result);
  expect(values.admit(result)).toBe(JSON.stringify(result));
  expect(values.admit("text")).toBe("text");
  expect(values.admit({ rows: [1] })).toEqual({ rows: [1] });
});

test("of an event's details of thoughts the first 1,000 are read", () => {
  const delta = { content: "x", reasoning_details: Array(30_000).fill({ type: "reasoning.summary", summary: "s" }) };
  const [read] = new ChatEvents().read({ choices: [{ index: 0, delta }] }, "") as [
    { choices: [{ delta: { reasoning_details: unknown[] } }] },
  ];
  expect(read.choices[0].delta.reasoning_details).toHaveLength(1_000);
});
