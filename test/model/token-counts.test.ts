import { expect, test } from "bun:test";
import { callTokensMax } from "../../src/kernel/limits.ts";
import { tokenCounts } from "../../src/model/token-counts.ts";

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
