import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { inRepository } from "../harness/repository.ts";

const folder = "docs/decisions";
const names = readdirSync(inRepository(folder));
const textOf = (name: string) => readFileSync(inRepository(`${folder}/${name}`), "utf8");

describe("docs/decisions", () => {
  test.each(names)("%s opens with the rule, says why, and names tests that exist", (name) => {
    const text = textOf(name);
    const headings = [...text.matchAll(/^#{1,2} (.+)$/gm)].map((match) => match[1]);
    expect(headings.slice(-2)).toEqual(["Why", "Tested by"]);
    const [, rule = "", why = "", tests = ""] = text.split(/^# .+$|^## Why$|^## Tested by$/m);
    expect([rule.trim() !== "" && !rule.trim().startsWith("#"), why.trim() !== ""]).toEqual([true, true]);
    const paths = [...tests.matchAll(/`([^`]+)`/g)].map((match) => match[1] as string);
    expect(paths.length).toBeGreaterThan(0);
    expect(paths.filter((path) => !/^test\/.+\.(test|kit)\.ts$/.test(path) || !existsSync(inRepository(path)))).toEqual(
      [],
    );
  });

  test("each page is listed once on docs/decisions.md", () => {
    const listed = [...readFileSync(inRepository("docs/decisions.md"), "utf8").matchAll(/\(decisions\/([^)]+)\)/g)];
    expect(listed.map((match) => match[1] as string).sort()).toEqual([...names].sort());
  });
});
