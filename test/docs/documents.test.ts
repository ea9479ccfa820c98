import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { AgentCreate, AgentCreateShownInA } from "../../src/agents/schema.ts";
import { readConfig } from "../../src/kernel/config.ts";
import { jobNames } from "../../src/kernel/queue/catalogue.ts";
import { inRepository } from "../harness/repository.ts";

const read = (path: string) => readFileSync(inRepository(path), "utf8");

/** What a package manager tells its scripts, and nobody else sets. */
const notForOperators = "npm_lifecycle_event";
/** What the OpenTelemetry SDK reads by itself. */
const ofTheSdk = "OTEL_EXPORTER_OTLP_HEADERS";

const page = "docs/configuration.md";

/** The rows of the page's table of variables: names, and the values in backticks of the second column. */
function documented(): { names: string[]; defaults: string[] }[] {
  const section = /^## Variables$(.*?)^## /ms.exec(read(page))?.[1] ?? "";
  const rows = section.split("\n").filter((line) => line.startsWith("| `"));
  return rows.map((row) => {
    const [, first = "", second = ""] = row.split(/(?<!\\)\|/);
    // A default that takes words to say is none that could be set.
    return { names: quoted(first), defaults: /^[\s,]*$/.test(second.replaceAll(/`[^`]+`/g, "")) ? quoted(second) : [] };
  });
}

const quoted = (text: string) => [...text.matchAll(/`([^`]+)`/g)].map((match) => match[1] as string);

describe(`the table of variables of ${page}`, () => {
  test("names what the configuration reads, and nothing else", () => {
    const asked = new Set<string>();
    readConfig(
      new Proxy<Record<string, undefined>>({}, { get: (_, name) => void asked.add(String(name)) }) as Record<
        string,
        undefined
      >,
    );
    asked.delete(notForOperators);
    expect(
      documented()
        .flatMap(({ names }) => names)
        .sort(),
    ).toEqual([...asked].sort());
    expect(read(page)).toContain(`\`${ofTheSdk}\``);
  });

  test("says what holds where a variable is not set", () => {
    const rows = documented().filter(({ names, defaults }) => names.length === defaults.length);
    expect(rows.length).toBeGreaterThanOrEqual(5);
    for (const { names, defaults } of rows)
      for (const [at, name] of names.entries()) {
        const value = defaults[at] as string;
        if (value.includes("HOST")) continue; // An address that is put together of others.
        expect([name, readConfig({ [name]: value })]).toEqual([name, readConfig({})]);
      }
  });
});

test("the table of forms names the fields that an agent has in form B alone", () => {
  const [, cell = ""] = /^\| further fields of an agent \|[^|]*\|([^|]*)\|$/m.exec(read("docs/forms.md")) ?? [];
  const inA = Object.keys(AgentCreateShownInA.properties);
  // In form A it is `sandboxId`, which has a row of its own.
  const inB = Object.keys(AgentCreate.properties).filter((name) => name !== "workspaceId" && !inA.includes(name));
  expect(quoted(cell).sort()).toEqual(inB.sort());
});

test("the table of jobs in docs/workers.md names each kind of job once", () => {
  const [, table = ""] = /^## The jobs$(.*?)^## /ms.exec(read("docs/workers.md")) ?? [];
  const named = [...table.matchAll(/^\| (`.+?) \|/gm)].flatMap(([, cell = ""]) => quoted(cell));
  expect(named.sort()).toEqual([...jobNames].sort());
});

describe("README.md", () => {
  const text = read("README.md");

  test("leads to each page of docs/", () => {
    const pages = readdirSync(inRepository("docs")).filter((name) => name.endsWith(".md"));
    expect(pages.filter((name) => !text.includes(`(docs/${name})`))).toEqual([]);
  });

  test("has at most 100 lines, and a small picture", () => {
    expect(text.split("\n").length).toBeLessThanOrEqual(101);
    const [, picture = ""] = /!\[[^\]]+\]\(([^)]+)\)/.exec(text) ?? [];
    expect(statSync(inRepository(picture)).size).toBeLessThan(200_000);
  });

  test("makes its first promises by pages that name the tests of them", () => {
    const promises = (text.split("## Start")[0] ?? "").split("\n").filter((line) => line.startsWith("- "));
    expect(promises.length).toBeGreaterThanOrEqual(3);
    for (const promise of promises) expect(promise).toMatch(/\(\[[^\]]+\]\(docs\/decisions\/[\w-]+\.md\)\)\.$/);
  });
});

/** The words of a page without its code and its tables, which are looked up and not read. */
function wordsOf(text: string): number {
  const prose = text.replaceAll(/^```[\s\S]*?^```$/gm, "").replaceAll(/^\|.*$/gm, "");
  return prose.split(/\s+/).filter((word) => word !== "").length;
}

test("a page can be read at a sitting: 1,600 words beside its code and tables", () => {
  const names = readdirSync(inRepository("docs"), { recursive: true, encoding: "utf8" }).map((name) => `docs/${name}`);
  // The changelog is read by its release.
  const ofDocs = names.filter((name) => name.endsWith(".md") && name !== "docs/changelog.md");
  const pages = [...ofDocs, "README.md", "loadtest/README.md"];
  expect(pages.filter((path) => wordsOf(read(path)) > 1_600)).toEqual([]);
});
