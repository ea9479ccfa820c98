import { expect, test } from "bun:test";
import { createGateway } from "@ai-sdk/gateway";
import { callTokensMax } from "../../src/kernel/limits.ts";
import { tokenCounts } from "../../src/model/token-counts.ts";
import { bothSides, onVendor } from "../harness/model-sides.ts";
import { userMessage } from "../harness/seed.ts";

test.each([0, 1, callTokensMax])("%p is a count of tokens", (count) => {
  expect(tokenCounts({ inputTokens: count, outputTokens: 7 })).toEqual({ inputTokens: count, outputTokens: 7 });
  expect(tokenCounts({ inputTokens: 7, outputTokens: count })).toEqual({ inputTokens: 7, outputTokens: count });
});

test.each([-1, -1e12, 1.5, callTokensMax + 1, 1e30, Number.NaN, Number.POSITIVE_INFINITY, "5", null, undefined, {}])(
  "%p counts as 0, and the other count as it is said",
  (said) => {
    expect(tokenCounts({ inputTokens: said, outputTokens: 7 })).toEqual({ inputTokens: 0, outputTokens: 7 });
    expect(tokenCounts({ inputTokens: 7, outputTokens: said })).toEqual({ inputTokens: 7, outputTokens: 0 });
  },
);

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

test.each([
  [{ inputTokens: { total: 5 }, outputTokens: { total: 7 } }, 5, 7],
  [{ inputTokens: { total: "5" }, outputTokens: { total: 7 } }, 0, 7],
  [{ inputTokens: { total: -5 }, outputTokens: { total: null } }, 0, 0],
  [{ inputTokens: null }, 0, 0],
  [null, 0, 0],
  [undefined, 0, 0],
])("an answer whose usage is %j is a whole one", async (usage, inputTokens, outputTokens) => {
  const answer = () => gatewayAnswer(usage);
  const modelAt = (baseURL: string) => createGateway({ baseURL, apiKey: "key" })("vendor/model");
  const { ours } = await onVendor([answer, answer], modelAt, (stage) =>
    bothSides(stage, { messages: [userMessage("x")], withoutTools: true }),
  );
  expect(ours.ended).toBe("finished");
  expect(ours.used).toEqual({ inputTokens, outputTokens, modelCalls: 1 });
});
