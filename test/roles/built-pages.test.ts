import { afterAll, describe, expect, test } from "bun:test";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLogger } from "../../src/kernel/telemetry/log.ts";
import { type BuiltPages, ensurePages, servedPages } from "../../src/roles/built-pages.ts";

const home = await mkdtemp(join(tmpdir(), "parley-pages-"));
afterAll(() => rm(home, { recursive: true, force: true }));
const log = createLogger("silent");

describe.each([
  ["the documentation", "readme.html", "search.json", "/docs/assets/page.css"],
  ["the console", "index.html", "index.html", "/console/assets/"],
])("an installation without the pages of %s", (name, page, mark, link) => {
  const found = servedPages({ console: true, home }).find(({ what }) => what === name) as BuiltPages;
  const folder = join(home, name);
  // Nothing can be made below a file.
  const readOnly = join(home, `${name}.file`);
  const pagesIn = (...folders: string[]): BuiltPages => ({ ...found, folders });
  const read = (file: string, from = folder) => readFile(join(from, file), "utf8").catch(() => null);

  test("gets them at its start, in the first folder that can be written", async () => {
    await writeFile(readOnly, "");
    await ensurePages(log, pagesIn(join(readOnly, "pages"), folder));
    expect(await read(page)).toContain(link);
  }, 60_000);

  test("keeps those that it has, and starts where none can be made", async () => {
    const other = join(home, "other");
    await writeFile(join(folder, mark), "kept");
    await ensurePages(log, pagesIn(other, folder));
    expect([await read(mark), await read(mark, other)]).toEqual(["kept", null]);
    await ensurePages(log, pagesIn(join(readOnly, "pages")));
  });
});

test("where the console is switched off, its pages are not made", () => {
  expect(servedPages({ console: false, home }).map(({ what }) => what)).toEqual(["the documentation"]);
});
