import { expect, test } from "bun:test";
import { ToolError } from "../../src/tools/error.ts";
import { globPaths } from "../../src/workspaces/glob.ts";

const paths = Array.from({ length: 10_000 }, (_, index) => `${"a".repeat(60)}/${"a".repeat(60)}${index}`);

test("a search by a costly pattern leaves the process to others every few milliseconds, and ends", async () => {
  let turnsOfOthers = 0;
  const other = setInterval(() => {
    turnsOfOthers += 1;
  }, 0);
  const found = globPaths(`**/${"*a".repeat(30)}b`, paths, undefined);
  expect(await found.catch((error) => error)).toBeInstanceOf(ToolError);
  clearInterval(other);
  expect(turnsOfOthers).toBeGreaterThan(5);
});

test("a search stops when its turn does", async () => {
  const stop = new AbortController();
  const found = globPaths(`**/${"*a".repeat(30)}b`, paths, stop.signal);
  stop.abort(new Error("canceled"));
  expect(await found.catch((error: Error) => error.message)).toBe("canceled");
});

test("one path of one pattern takes a bounded time", async () => {
  const found = globPaths(`${"*a".repeat(499)}b`, ["a".repeat(1_024)], undefined);
  expect(await found.catch((error) => error)).toBeInstanceOf(ToolError);
});
