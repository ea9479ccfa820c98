import { afterAll, describe, expect, test } from "bun:test";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLogger } from "../../src/kernel/telemetry/log.ts";
import { ensureConsolePages } from "../../src/roles/console-pages.ts";

const home = await mkdtemp(join(tmpdir(), "parley-pages-"));
afterAll(() => rm(home, { recursive: true, force: true }));
const log = createLogger("silent");
const indexOf = (folder: string) => readFile(join(folder, "index.html"), "utf8").catch(() => null);

describe("an installation without pages of the console", () => {
  test("gets them at its start, in the first folder that can be written", async () => {
    // Nothing can be made below a file.
    await writeFile(join(home, "read-only"), "");
    const folders = [join(home, "read-only", "console"), join(home, "console")];
    await ensureConsolePages({ console: false }, log, folders);
    expect(await indexOf(folders[1] as string)).toBeNull();
    await ensureConsolePages({ console: true }, log, folders);
    expect(await indexOf(folders[1] as string)).toContain("/console/assets/");
  }, 60_000);

  test("keeps those that it has, and starts where none can be made", async () => {
    const kept = join(home, "console");
    await writeFile(join(kept, "index.html"), "kept");
    await ensureConsolePages({ console: true }, log, [join(home, "other"), kept]);
    expect([await indexOf(kept), await indexOf(join(home, "other"))]).toEqual(["kept", null]);
    await ensureConsolePages({ console: true }, log, [join(home, "read-only", "console")]);
  });
});
