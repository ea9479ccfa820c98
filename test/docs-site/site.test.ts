import { afterAll, describe, expect, test } from "bun:test";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { brotliDecompressSync } from "node:zlib";
import { buildDocs } from "../../src/docs-site/build.ts";
import { makeSite } from "../../src/docs-site/site.ts";
import { useTenant } from "../harness/fixture.ts";
import { repository } from "../harness/repository.ts";

const { t } = await useTenant();
const folder = await mkdtemp(join(tmpdir(), "parley-site-"));
afterAll(() => rm(folder, { recursive: true, force: true }));

/** A repository of these files. */
async function rootWith(files: Readonly<Record<string, string>>): Promise<string> {
  const root = await mkdtemp(join(folder, "root-"));
  for (const name of ["docs/examples", "docs/deep"]) await mkdir(join(root, name), { recursive: true });
  for (const [name, text] of Object.entries(files)) await writeFile(join(root, name), text);
  return root;
}

describe("the site of this repository", () => {
  const { files, faults } = makeSite(repository);
  const pages = [...files]
    .filter(([name]) => name.endsWith(".html"))
    .map(([name, text]) => ({ name, text: String(text) }));

  test("has no link that leads nowhere, and no page that nothing leads to", () => {
    expect(faults).toEqual([]);
    expect(pages.length).toBeGreaterThan(20);
  });

  test("each address in it is one of its own, of the page of operations, or of another server", async () => {
    const idsOf = new Map(
      pages.map(({ name, text }) => [
        `/docs/${name.replace(/\.html$/, "")}`,
        new Set([...text.matchAll(/\sid="([^"]+)"/g)].map((match) => match[1] as string)),
      ]),
    );
    const wrong: string[] = [];
    for (const { name, text } of pages)
      for (const [, address = ""] of text.matchAll(/(?:href|src)="([^"]+)"/g)) {
        const [path = "", id] = (
          address.startsWith("#") ? `/docs/${name.replace(/\.html$/, "")}${address}` : address
        ).split("#");
        if (/^(https?|mailto|data):/.test(path) || path === "/docs") continue;
        const ids = idsOf.get(path);
        const isThere = ids === undefined ? files.has(path.slice("/docs/".length)) : id === undefined || ids.has(id);
        // What all pages load is not built.
        if (!isThere && (await t.call("GET", path, { token: null })).status !== 200) wrong.push(`${name} → ${address}`);
      }
    expect(wrong).toEqual([]);
  });

  test("shows its contents by the README's list, and the examples as they are", () => {
    const guide = pages.find(({ name }) => name === "guide.html")?.text ?? "";
    expect(guide).toMatch(/<h2>To use it<\/h2>.*aria-current="page">A first hour/s);
    const examples = pages.find(({ name }) => name === "examples.html")?.text ?? "";
    expect(examples).toContain('<h2 id="client.ts">');
    expect(examples).toContain("new Parley({ baseUrl: PARLEY_URL");
  });

  test("shows the pages of a folder below the page that it belongs to, where that or one of them is open", () => {
    const contentsOf = (name: string) => /<nav id="contents"[\s\S]*?<\/nav>/.exec(String(files.get(name)))?.[0] ?? "";
    for (const name of ["decisions.html", "decisions/turns.html"])
      expect(contentsOf(name)).toMatch(
        /href="\/docs\/decisions"[^>]*>Decisions<\/a><ul>[\s\S]*href="\/docs\/decisions\/turns"/,
      );
    expect(contentsOf("decisions/turns.html")).toMatch(/aria-current="page">Turns<\/a><ul><li><a href="#why"/);
    expect(contentsOf("guide.html")).not.toContain("/docs/decisions/");
  });

  test("has each part of a page in its search", () => {
    const parts: { url: string; text: string }[] = JSON.parse(String(files.get("search.json")));
    expect(parts.length).toBeGreaterThan(200);
    expect(new Set(parts.map(({ url }) => url)).size).toBe(parts.length);
    const slots = parts.find(({ url }) => url === "/docs/workers#slots");
    expect(slots?.text).toContain("WORKER_CONCURRENCY");
  });
});

describe("a site", () => {
  test("is written compressed too, in place of what was there", async () => {
    const root = await rootWith({
      "README.md": "# One\n\n[two](docs/two.md#a-b)",
      "docs/two.md": "# Two\n\n## A & B\n\n## `a` b",
    });
    // The second heading is `a-b`, the first `a--b`, as GitHub has them.
    const built = join(folder, "built");
    await mkdir(built);
    await writeFile(join(built, "old.html"), "old");
    await buildDocs(built, root);
    const plain = await readFile(join(built, "two.html"), "utf8");
    expect(plain).toContain('<h2 id="a--b">');
    expect(brotliDecompressSync(await readFile(join(built, "two.html.br"))).toString()).toBe(plain);
    expect(await readFile(join(built, "old.html")).catch(() => null)).toBeNull();
  });

  test("with a dead link is not built", async () => {
    for (const [text, fault] of [
      ["[a](docs/b.md)", "README.md → docs/b.md"],
      ["[a](docs/two.md#no)", "README.md → docs/two.md#no"],
      ["[a](#no)", "README.md → #no"],
      ["![a](docs/no.svg)", "README.md → docs/no.svg"],
      ["[a](../up.md)", "README.md → ../up.md"],
      ["[a](docs/examples/no.ts)", "README.md → docs/examples/no.ts"],
      ["", "docs/two.md: no page leads there"],
    ] as const) {
      const root = await rootWith({ "README.md": `# One\n\n${text}`, "docs/two.md": "# Two" });
      await expect(buildDocs(join(folder, "never"), root)).rejects.toThrow(fault);
    }
  });
});
