import { expect, test } from "bun:test";
import { createGateway } from "@ai-sdk/gateway";
import { callTokensMax } from "../../src/kernel/limits.ts";
import { callUsage } from "../../src/model/token-counts.ts";
import { bothSides, onVendor } from "../harness/model-sides.ts";
import { userMessage } from "../harness/seed.ts";

const bytes = () => ({ sent: 41, came: 9 });

test.each([1, callTokensMax])("%p is a count of tokens", (count) => {
  const usage = { inputTokens: count, outputTokens: 7, estimated: false };
  expect(callUsage({ inputTokens: count, outputTokens: 7 }, bytes)).toEqual(usage);
  const other = { inputTokens: 7, outputTokens: count, estimated: false };
  expect(callUsage({ inputTokens: 7, outputTokens: count }, bytes)).toEqual(other);
});

test.each([-1, -1e12, 1.5, callTokensMax + 1, 1e30, Number.NaN, Number.POSITIVE_INFINITY, "5", null, undefined, {}])(
  "%p is none: a quarter of the bytes counts in its place, and the other count as it is said",
  (said) => {
    const input = { inputTokens: 11, outputTokens: 7, estimated: true };
    expect(callUsage({ inputTokens: said, outputTokens: 7 }, bytes)).toEqual(input);
    const output = { inputTokens: 7, outputTokens: 3, estimated: true };
    expect(callUsage({ inputTokens: 7, outputTokens: said }, bytes)).toEqual(output);
  },
);

test("0 is a count only where there were no bytes: the vendors' clients make it of a count that is missing", () => {
  expect(callUsage({ inputTokens: 0, outputTokens: 7 }, bytes)).toEqual({
    inputTokens: 11,
    outputTokens: 7,
    estimated: true,
  });
  expect(callUsage({ inputTokens: 7, outputTokens: 0 }, bytes)).toEqual({
    inputTokens: 7,
    outputTokens: 3,
    estimated: true,
  });
  expect(callUsage({ inputTokens: 0, outputTokens: 0 }, bytes)).toEqual({
    inputTokens: 11,
    outputTokens: 3,
    estimated: true,
  });
  const silent = () => ({ sent: 41, came: 0 });
  expect(callUsage({ inputTokens: 7, outputTokens: 0 }, silent)).toEqual({
    inputTokens: 7,
    outputTokens: 0,
    estimated: false,
  });
  expect(callUsage({ inputTokens: 7 }, silent)).toEqual({ inputTokens: 7, outputTokens: 0, estimated: true });
  const none = () => ({ sent: 0, came: 0 });
  expect(callUsage({ inputTokens: 0, outputTokens: 0 }, none)).toEqual({
    inputTokens: 0,
    outputTokens: 0,
    estimated: false,
  });
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
  expect([...usages]).toEqual([{ inputTokens, outputTokens: output, estimated: input === null }]);
});
