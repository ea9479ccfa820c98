import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { inRepository } from "../harness/repository.ts";
import { importsOf, sourcesIn } from "../harness/sources.ts";

const page = readFileSync(inRepository("docs/imports.md"), "utf8");
/** The folders of a text, such as `src/agents/`, by their names. */
const foldersOf = (text: string) => [...text.matchAll(/`src\/([\w-]+)\/`/g)].map((match) => match[1] as string);
/** The level of each slice, by the page's second table. */
const levels = new Map(
  [...page.matchAll(/^\| (\d+) \| (.*)$/gm)].flatMap(([, level, cell = ""]) =>
    foldersOf(cell).map((folder) => [folder, Number(level)] as const),
  ),
);
const sources = sourcesIn("src");
const folderOf = (path: string) => /^src\/([\w-]+)\//.exec(path)?.[1];

test("docs/imports.md names each folder of src/", () => {
  const named = new Set(foldersOf(page));
  const folders = new Set(sources.map(({ path }) => folderOf(path)).filter((folder) => folder !== undefined));
  expect([...folders].filter((folder) => !named.has(folder))).toEqual([]);
  expect([...named].filter((folder) => !folders.has(folder))).toEqual([]);
});

test("a slice imports slices of its level and below, and the kernel", () => {
  expect(levels.size).toBeGreaterThan(20);
  const breaches = sources.flatMap((source) => {
    const own = levels.get(folderOf(source.path) ?? "");
    if (own === undefined) return [];
    const isAllowed = (folder: string | undefined) =>
      folder === "kernel" || (levels.get(folder ?? "") ?? own + 1) <= own;
    return importsOf(source)
      .filter((target) => !isAllowed(folderOf(target)))
      .map((target) => `${source.path} → ${target}`);
  });
  expect(breaches).toEqual([]);
});
