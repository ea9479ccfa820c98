import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { RE2JS } from "re2js";
import { inSlices } from "../../src/kernel/async/slices.ts";
import { LinearPattern, patternSizeMax, sizeBound } from "../../src/kernel/linear-pattern.ts";
import { longestStallMs } from "../harness/stall.ts";

const isIn = (pattern: LinearPattern, text: string) =>
  inSlices({ msMax: 60_000 }, (clock) => pattern.isIn(text, clock));

/** Patterns and texts of few characters, so that they often match. */
const characters = fc.constantFrom("a", "b", "-", "\n", "é", "😀", "7", "_", "K");
const patterns = fc.letrec<{ pattern: string }>((tie) => ({
  pattern: fc.oneof(
    { depthSize: "small" },
    characters,
    fc.constantFrom(
      ".",
      "\\d",
      "\\w",
      "\\s",
      "\\b",
      "\\B",
      "^",
      "$",
      "[a-b]",
      "[^a]",
      "\\p{L}",
      "\\P{L}",
      "[\\]a]",
      "é",
    ),
    fc.tuple(tie("pattern"), tie("pattern")).map(([left, right]) => `${left}${right}`),
    fc.tuple(tie("pattern"), tie("pattern")).map(([left, right]) => `(?:${left}|${right})`),
    fc
      .tuple(tie("pattern"), fc.constantFrom("*", "+", "?", "{2}", "{1,3}", "{2,}", "*?", "{0,2}?"))
      .map(([inner, times]) => `(${inner})${times}`),
  ),
})).pattern;
const texts = fc.array(characters, { maxLength: 12 }).map((all) => all.join(""));

describe("a pattern in linear time", () => {
  test("finds what JavaScript and the library find", async () => {
    await fc.assert(
      fc.asyncProperty(patterns, texts, async (pattern, text) => {
        const linear = LinearPattern.compile(pattern);
        if (linear === null) return;
        const found = await isIn(linear, text);
        expect(found).toBe(RE2JS.compile(RE2JS.translateRegExp(pattern)).test(text));
        // JavaScript's own spaces are more than RE2's; none is among the characters.
        expect(found).toBe(new RegExp(pattern, "u").test(text));
      }),
      { numRuns: 400 },
    );
  }, 60_000);

  test("its size is never larger than what it is bounded by", () => {
    const pieces = fc.constantFrom(
      ..."ab|()*+?[]^$.{}\\:-,Q".split(""),
      ..."\\Q|\\E|{2}|{1,3}|{2,}|[^|[]]|[[:alpha:]]|\\p{L}|\\pL|(?:|()|a{30}|[(]|[)]|\\(|(?i:|(?P<n>".split("|"),
    );
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 14 }), (all) => {
        const source = all.join("");
        let size: number;
        try {
          size = RE2JS.compile(source).re2().prog.inst.length;
        } catch {
          return;
        }
        expect(size).toBeLessThanOrEqual(sizeBound(source));
      }),
      { numRuns: 20_000 },
    );
  }, 60_000);

  test("is not matched where its program would be large, or where it looks around", () => {
    const refused = [
      "a{1000}".repeat(200),
      "((a{0,100}){0,100}){0,100}",
      "[^\\p{L}]{900}".repeat(20),
      "(?=a)b",
      "\\1",
      "(",
    ];
    for (const pattern of [...refused, "a".repeat(3_000), "(".repeat(1_000) + ")".repeat(1_000)])
      expect(LinearPattern.compile(pattern)).toBeNull();
    for (const pattern of ["^[\\s\\S]{1,1000}$", "^\\p{Lu}[\\p{L}\\p{M}' -]{0,99}$", "^.{900}a"])
      expect(LinearPattern.compile(pattern)?.size).toBeLessThan(patternSizeMax);
  });

  test("a long text is matched in slices", async () => {
    const backtracking = LinearPattern.compile("^(a+)+$") as LinearPattern;
    const wide = LinearPattern.compile("(.{40}b){1}c") as LinearPattern;
    const stood = await longestStallMs(async () => {
      expect(await isIn(backtracking, `${"a".repeat(300_000)}b`)).toBe(false);
      expect(await isIn(wide, "ab".repeat(10_000))).toBe(false);
    });
    expect(stood).toBeLessThan(300);
  });
});
