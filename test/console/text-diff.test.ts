import { describe, expect, test } from "bun:test";
import { diffTexts } from "../../src/console/parts/text-diff.ts";
import { placeUnanswered } from "../../src/console/playground/placed.ts";

describe("what differs between two answers", () => {
  test("is marked word by word, in any script, and both are whole", () => {
    const { one, other } = diffTexts("It comes on Monday.", "It comes on Tuesday, I think.");
    expect(one.filter(({ isOwn }) => isOwn).map(({ text }) => text)).toEqual(["Monday"]);
    expect(one.map(({ text }) => text).join("")).toBe("It comes on Monday.");
    expect(other.map(({ text }) => text).join("")).toBe("It comes on Tuesday, I think.");
    const japanese = diffTexts("靴は明日届きます", "靴は今日届きます");
    expect(japanese.other.filter(({ isOwn }) => !isOwn).length).toBeGreaterThan(0);
    expect(diffTexts("same", "same").one).toEqual([{ text: "same", isOwn: false }]);
  });

  test("is all of both where very many words differ", () => {
    const words = (letter: string) => Array.from({ length: 600 }, (_, at) => `${letter}${at}`).join(" ");
    expect(diffTexts(words("a"), words("b")).one).toEqual([{ text: words("a"), isOwn: true }]);
  });
});

describe("the place of a turn without an answer", () => {
  const message = (id: string, role: "user" | "assistant") => ({ id, role, parts: [] }) as never;
  const turn = (fields: object) =>
    ({
      turnId: "turn_1",
      status: "failed",
      error: null,
      acceptedAt: "",
      message: null,
      afterMessageId: null,
      ...fields,
    }) as never;
  const shown = [message("u1", "user"), message("a1", "assistant"), message("u2", "user")];
  const placeOf = (fields: object, messages = shown, isBrokenOff = false) =>
    placeUnanswered([turn(fields)], messages, isBrokenOff).map(({ afterId, isAskedShown }) => [afterId, isAskedShown]);

  test("is behind its question where the page has that, or the beginning of its answer", () => {
    expect(placeOf({ message: { id: "u2" }, afterMessageId: "a1" })).toEqual([["u2", true]]);
    const broken = [...shown, message("a2", "assistant")];
    expect(placeOf({ message: { id: "u2" } }, broken, true)).toEqual([["a2", true]]);
    expect(placeOf({ message: { id: "u2" } }, broken, false)).toEqual([["u2", true]]);
  });

  test("is where the transcript has it, or in front of all, and nowhere where a stopped answer was kept", () => {
    expect(placeOf({ message: { id: "u9" }, afterMessageId: "a1" })).toEqual([["a1", false]]);
    expect(placeOf({ message: { id: "u9" }, afterMessageId: "gone" })).toEqual([[null, false]]);
    expect(placeOf({ status: "canceled" })).toEqual([]);
  });
});
