import { describe, expect, test } from "bun:test";
import { sourcesIn, topLevel } from "./harness/sources.ts";

/** A file with more lines has more than one reason to change. */
const linesMax = 400;
/** Half of the files are at most this long. */
const medianLinesMax = 100;
/** Folder names that say nothing about what is inside. */
const emptyNames = /(^|\/)(services?|utils?|helpers?|types|common|lib|misc)\//;
/** What may stand at the root, beside what git ignores. */
const rootEntries = [
  ".ci",
  ".git",
  ".gitignore",
  "LICENSE",
  "README.md",
  "biome.json",
  "bunfig.toml",
  "deno.json",
  "docs",
  "loadtest",
  "package-lock.json",
  "package.json",
  "sql",
  "src",
  "test",
  "tsconfig.json",
  "workers",
];
const ignored = /^(node_modules|\.parley|.*\.log)$/;

const lines = (text: string) => text.split("\n").length - 1;

describe("the house", () => {
  test(`no file has more than ${linesMax} lines`, () => {
    const long = sourcesIn("src", "workers", "test").filter(({ text }) => lines(text) > linesMax);
    expect(long.map(({ path, text }) => `${path}: ${lines(text)}`)).toEqual([]);
  });

  test(`half of the source files have at most ${medianLinesMax} lines`, () => {
    const sizes = sourcesIn("src", "workers")
      .map(({ text }) => lines(text))
      .sort((left, right) => left - right);
    expect(sizes[Math.floor(sizes.length / 2)]).toBeLessThanOrEqual(medianLinesMax);
  });

  test("no folder is named after nothing", () => {
    expect(sourcesIn("src", "workers").filter(({ path }) => emptyNames.test(path))).toEqual([]);
  });

  test("the root holds nothing beside what it is for", () => {
    expect(topLevel().filter((name) => !rootEntries.includes(name) && !ignored.test(name))).toEqual([]);
  });

  test("no test is left out or singled out", () => {
    const marked = sourcesIn("test").filter(
      ({ path, text }) => path !== "test/structure.test.ts" && /\.(only|todo)\(/.test(text),
    );
    expect(marked.map(({ path }) => path)).toEqual([]);
  });
});
