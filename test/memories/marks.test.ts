import { expect, test } from "bun:test";
import { termsOf } from "../../src/memories/terms.ts";
import { wordsOf } from "../../src/memories/words.ts";

test("thousands of marks on one letter keep the process for no longer than other texts", () => {
  const text = `a${"\u0301".repeat(2_500)}${"\u0316".repeat(2_500)}`;
  const before = process.cpuUsage();
  for (let times = 0; times < 60; times++) {
    termsOf(text);
    wordsOf(text);
  }
  const { user, system } = process.cpuUsage(before);
  // 60 of them took 4 s; now some 10 ms.
  expect((user + system) / 1_000).toBeLessThan(1_000);
});
