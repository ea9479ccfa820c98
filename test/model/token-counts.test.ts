import { expect, test } from "bun:test";
import { createGateway } from "@ai-sdk/gateway";
import { callTokensMax } from "../../src/kernel/limits.ts";
import { callUsage } from "../../src/model/token-counts.ts";
import { noTokens } from "../../src/usage/tokens.ts";
import { bothSides, onVendor } from "../harness/model-sides.ts";
import { userMessage } from "../harness/seed.ts";

const bytes = () => ({ sent: 41, came: 9 });

test.each([1, callTokensMax])("%p is a count of tokens", (count) => {
  const usage = { ...noTokens, inputTokens: count, outputTokens: 7, estimated: false };
  expect(callUsage({ inputTokens: count, outputTokens: 7 }, bytes)).toEqual(usage);
  const other = { ...noTokens, inputTokens: 7, outputTokens: count, estimated: false };
  expect(callUsage({ inputTokens: 7, outputTokens: count }, bytes)).toEqual(other);
});

test.each([-1, -1e12, 1.5, callTokensMax + 1, 1e30, Number.NaN, Number.POSITIVE_INFINITY, "5", null, undefined, {}])(
  "%p is none: a quarter of the bytes counts in its place, and the other count as it is said",
  (said) => {
    const input = { ...noTokens, inputTokens: 11, outputTokens: 7, estimated: true };
    expect(callUsage({ inputTokens: said, outputTokens: 7 }, bytes)).toEqual(input);
    const output = { ...noTokens, inputTokens: 7, outputTokens: 3, estimated: true };
    expect(callUsage({ inputTokens: 7, outputTokens: said }, bytes)).toEqual(output);
  },
);

test("0 is a count only where there were no bytes: the vendors' clients make it of a count that is missing", () => {
  expect(callUsage({ inputTokens: 0, outputTokens: 7 }, bytes)).toEqual({
    ...noTokens,
    inputTokens: 11,
    outputTokens: 7,
    estimated: true,
  });
  expect(callUsage({ inputTokens: 7, outputTokens: 0 }, bytes)).toEqual({
    ...noTokens,
    inputTokens: 7,
    outputTokens: 3,
    estimated: true,
  });
  expect(callUsage({ inputTokens: 0, outputTokens: 0 }, bytes)).toEqual({
    ...noTokens,
    inputTokens: 11,
    outputTokens: 3,
    estimated: true,
  });
  const silent = () => ({ sent: 41, came: 0 });
  expect(callUsage({ inputTokens: 7, outputTokens: 0 }, silent)).toEqual({
    ...noTokens,
    inputTokens: 7,
    outputTokens: 0,
    estimated: false,
  });
  expect(callUsage({ inputTokens: 7 }, silent)).toEqual({
    ...noTokens,
    inputTokens: 7,
    outputTokens: 0,
    estimated: true,
  });
  const none = () => ({ sent: 0, came: 0 });
  expect(callUsage({ inputTokens: 0, outputTokens: 0 }, none)).toEqual({
    ...noTokens,
    inputTokens: 0,
    outputTokens: 0,
    estimated: false,
  });
});

test("a part is a count, at most its whole, and the two parts of the input together are at most the input", () => {
  const parts = (said: object) => {
    const { cachedInputTokens, cacheWriteTokens, reasoningTokens } = callUsage(
      { inputTokens: 10, outputTokens: 7, ...said },
      bytes,
    );
    return [cachedInputTokens, cacheWriteTokens, reasoningTokens];
  };
  expect(parts({ cachedInputTokens: 4, cacheWriteTokens: 3, reasoningTokens: 7 })).toEqual([4, 3, 7]);
  expect(parts({ cachedInputTokens: 40, cacheWriteTokens: 3, reasoningTokens: 8 })).toEqual([10, 0, 7]);
  expect(parts({ cachedInputTokens: 4, cacheWriteTokens: 30 })).toEqual([4, 6, 0]);
  for (const odd of [-1, 1.5, "5", null, undefined, Number.NaN, {}])
    expect(parts({ cachedInputTokens: odd, cacheWriteTokens: 3, reasoningTokens: odd })).toEqual([0, 3, 0]);
  const unsaid = { inputTokens: null, outputTokens: null, cachedInputTokens: 100, reasoningTokens: 100 };
  expect(callUsage(unsaid, bytes)).toMatchObject({ inputTokens: 11, cachedInputTokens: 11, reasoningTokens: 3 });
});

/** A gateway's client has no schema for its answer: these are the parts of the SDK's own stream. */
function gatewayAnswer(usage: object | null | undefined): Response {
  const text = { id: "1", delta: "Yes." };
  const parts = [
    { type: "text-start", ...text },
    { type: "text-delta", ...text },
    { type: "text-end", ...text },
    { type: "finish", finishReason: { unified: "stop" }, usage },
  ];
  const events = parts.map((part) => `data: ${JSON.stringify(part)}\n\n`);
  return new Response(events.join(""), { headers: { "content-type": "text/event-stream" } });
}

/** "Yes." makes one token. */
test.each([
  [{ inputTokens: { total: 5 }, outputTokens: { total: 7 } }, 5, 7],
  [{ inputTokens: { total: "5" }, outputTokens: { total: 7 } }, null, 7],
  [{ inputTokens: { total: -5 }, outputTokens: { total: null } }, null, 1],
  [{ inputTokens: null }, null, 1],
  [null, null, 1],
  [undefined, null, 1],
])("an answer whose usage is %j is a whole one, and what is not said is estimated", async (usage, input, output) => {
  const answer = () => gatewayAnswer(usage);
  const modelAt = (baseURL: string) => createGateway({ baseURL, apiKey: "key" })("vendor/model");
  const { ours, usages } = await onVendor([answer, answer], modelAt, (stage) =>
    bothSides(stage, { messages: [userMessage("x")], withoutTools: true }),
  );
  expect(ours.ended).toBe("finished");
  const [sent] = ours.bodies;
  const estimated = Math.ceil(Buffer.byteLength(JSON.stringify({ prompt: (sent as { prompt: unknown }).prompt })) / 4);
  const inputTokens = input ?? estimated;
  expect([...usages]).toEqual([{ ...noTokens, inputTokens, outputTokens: output, estimated: input === null }]);
});
