import { expect, test } from "bun:test";
import { previewOf } from "../../src/messages/text.ts";
import type { UiMessage } from "../../src/messages/ui-message.ts";
import { longestStallMs } from "../harness/stall.ts";

const preview = (...texts: string[]) =>
  previewOf({ id: "m", role: "user", parts: texts.map((text) => ({ type: "text", text })) } as UiMessage);

test("a preview is the first words on one line", () => {
  expect(preview("  \n one\n\n two", "three")).toBe("one two three");
  expect(preview(`${" ".repeat(100_000)}one`)).toBe("one");
  expect(preview("😀".repeat(300))).toBe("😀".repeat(200));
});

test("it takes no longer of a long text", async () => {
  const long = "x ".repeat(8 * 1024 * 1024);
  const stood = await longestStallMs(() => {
    for (let times = 0; times < 5; times++) expect(preview(long)).toHaveLength(200);
  });
  expect(stood).toBeLessThan(400);
});
