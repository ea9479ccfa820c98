import { afterAll, describe, expect, test } from "bun:test";
import { mkdir, mkdtemp, readFile, rename, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { newestFirst } from "../../src/console-server/folders.ts";
import { digestSources, isBuiltFrom, noteSources } from "../../src/console-server/sources.ts";
import { createLogger } from "../../src/kernel/telemetry/log.ts";
import { type BuiltPages, ensurePages, servedPages, warnOfOldPages } from "../../src/roles/built-pages.ts";

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
    expect(await found.current([other, folder])).toEqual([folder]);
    await ensurePages(log, pagesIn(other, folder));
    expect([await read(mark), await read(mark, other)]).toEqual(["kept", null]);
    await ensurePages(log, pagesIn(join(readOnly, "pages")));
  });
});

describe("a console that was built before the sources changed, as by `git pull`", () => {
  const found = servedPages({ console: true, home }).find(({ what }) => what === "the console") as BuiltPages;
  const folder = join(home, "old");
  const old = async (at = folder) => {
    await mkdir(at, { recursive: true });
    await writeFile(join(at, "index.html"), "old");
    await noteSources(at, "0".repeat(64));
  };
  const page = (at = folder) => readFile(join(at, "index.html"), "utf8");
  /** Warns into a list. */
  const listening = () => {
    const said: string[] = [];
    const heard = createLogger("silent");
    heard.warn = (...words: unknown[]) => void said.push(String(words.at(-1)));
    return { said, heard };
  };

  test("is built again at the start, once", async () => {
    await old();
    await ensurePages(log, { ...found, folders: [folder] });
    expect(await page()).toContain("/console/assets/");
    await writeFile(join(folder, "index.html"), "kept");
    await ensurePages(log, { ...found, folders: [folder] });
    expect(await page()).toBe("kept");
  }, 60_000);

  test("is served from the home where it cannot be replaced", async () => {
    const [beside, second] = [join(home, "beside"), join(home, "second")];
    await old(beside);
    const build = (to: string) => (to === beside ? Promise.reject(new Error("read-only")) : found.build(to));
    await ensurePages(log, { ...found, folders: [beside, second], build });
    expect([await page(beside), newestFirst([beside, second])]).toEqual(["old", [second, beside]]);
  }, 60_000);

  test("is told of by who builds nothing, and where building fails", async () => {
    await old();
    const { said, heard } = listening();
    await warnOfOldPages(heard, { ...found, folders: [folder] });
    await ensurePages(heard, { ...found, folders: [folder], build: () => Promise.reject(new Error("no room")) });
    await warnOfOldPages(heard, { ...found, folders: [join(home, "nowhere")] });
    const warning = "the console was built from other sources than these: run `npm run build:console`";
    expect([await page(), said]).toEqual(["old", [warning, warning]]);
  });

  test("is what an installation without sources has, which serves any", async () => {
    const empty = join(home, "empty");
    await mkdir(empty);
    await old();
    expect(await digestSources(empty)).toBeNull();
    expect(await isBuiltFrom(folder, null)).toBe(true);
  });

  test("is known by the contents of its sources, wherever they lie, not by their times", async () => {
    const [one, other] = [join(home, "one"), join(home, "other-one")];
    for (const root of [one, other]) {
      await mkdir(join(root, "src/console/parts"), { recursive: true });
      await mkdir(join(root, "src/client"), { recursive: true });
      await writeFile(join(root, "src/console/index.html"), "<p>");
      await writeFile(join(root, "src/console/parts/a.ts"), "1");
    }
    await utimes(join(one, "src/console/parts/a.ts"), 1, 1);
    const digests = () => Promise.all([one, other].map((root) => digestSources(root)));
    const [before, same] = await digests();
    expect(before).toBe(same as string);
    await rename(join(other, "src/console/parts/a.ts"), join(other, "src/console/parts/b.ts"));
    expect((await digests())[1]).not.toBe(before as string);
    await writeFile(join(one, "src/client/a.ts"), "1");
    expect((await digests())[0]).not.toBe(before as string);
  });
});

test("where the console is switched off, its pages are not made", () => {
  expect(servedPages({ console: false, home }).map(({ what }) => what)).toEqual(["the documentation"]);
});
