import { expect, test } from "bun:test";
import { messageFaults } from "./commits.ts";

const faultsOf = (message: string) => messageFaults([{ id: "0123456789abcdef", message }]);

test("a message with a short subject and a body passes", () => {
  expect(faultsOf(`${"a".repeat(72)}\n\nIt was slow: 2.6 ms a turn.\n`)).toEqual([]);
});

test("a long subject, one with a full stop, and a missing or empty body are faults", () => {
  const why = "\n\nWhy.\n";
  expect(faultsOf(`${"a".repeat(73)}${why}`)).toEqual([expect.stringContaining("73 characters")]);
  expect(faultsOf(`Do it.${why}`)).toEqual([expect.stringContaining("full stop")]);
  expect(faultsOf("Do it\nWhy.\n")).toEqual([
    expect.stringContaining("no empty line"),
    expect.stringContaining("no body"),
  ]);
  for (const message of ["Do it", "Do it\n", "Do it\n\nSigned-off-by: A <a@b.example>\n"])
    expect(faultsOf(message)).toEqual([expect.stringContaining("no body")]);
});
