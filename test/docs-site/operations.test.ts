import { describe, expect, test } from "bun:test";
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { brotliDecompressSync } from "node:zlib";
import { operationsOf, type ShownDocument } from "../../src/docs-site/document.ts";
import { clientSample } from "../../src/docs-site/samples.ts";
import { useTenant } from "../harness/fixture.ts";
import { inRepository } from "../harness/repository.ts";

const { h, t } = await useTenant();
const get = (path: string, headers: Record<string, string> = {}) => t.call("GET", path, { token: null, headers });
const document: ShownDocument = (await get("/openapi.json")).body;
const operations = operationsOf(document);
const page = String((await get("/docs")).body);
const partOf = (id: string) => page.slice(page.indexOf(`id="${id}"`)).split('<details class="operation"')[0] ?? "";

describe("GET /docs", () => {
  test("200: a page whose files all come from this service, and nothing of which is written into it", async () => {
    const { status, headers } = await get("/docs");
    expect(status).toBe(200);
    expect(headers.get("content-type")).toBe("text/html; charset=utf-8");
    const policy = headers.get("content-security-policy") as string;
    expect(policy).toStartWith("default-src 'none'; ");
    expect(policy.match(/https?:|unsafe|\*/)).toBeNull();
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    expect(headers.get("x-frame-options")).toBe("DENY");
    expect(page).not.toMatch(/<script>|<style|\sstyle=|\son\w+=/);
    const [head = ""] = page.split("</head>");
    const files = [...head.matchAll(/(?:src|href)="(\/[^"]+)"/g)].map((match) => match[1] as string);
    expect(files.length).toBeGreaterThanOrEqual(2);
    for (const file of [...files, "/docs/assets/minisearch.js", "/docs/operations.json"])
      expect([file, (await get(file)).status]).toEqual([file, 200]);
    expect((await get("/docs/assets/package.json")).status).toBe(404);
  });

  test("is small: all that it loads fits into 80 kB", async () => {
    let bytes = 0;
    for (const path of ["/docs", "/docs/assets/page.css", "/docs/assets/page.js"]) {
      const request = new Request(`http://parley.test${path}`, { headers: { "accept-encoding": "gzip, br" } });
      const response = await h.app(request);
      expect([path, response.headers.get("content-encoding")]).toEqual([path, "br"]);
      const body = new Uint8Array(await response.arrayBuffer());
      if (path === "/docs") expect(brotliDecompressSync(body).toString()).toBe(page);
      bytes += body.byteLength;
    }
    expect(bytes).toBeLessThan(80_000);
  });

  test("begins with the API key, and ends with the two forms", () => {
    const titles = [...page.matchAll(/<section id="[^"]+"><h2>([^<]+)/g)].map((match) => match[1]);
    expect(titles[0]).toBe("Authentication");
    expect(titles.at(-1)).toBe("Forms");
    expect(titles.length).toBeGreaterThan(document.tags.length);
  });

  test("has every operation, with its samples, its bodies and its errors", () => {
    expect(operations.length).toBeGreaterThan(100);
    for (const { operationId, path } of operations) {
      const part = partOf(operationId);
      expect(part).toContain(`<code class="path">${path}</code>`);
      expect(part).toContain("<code>curl ");
      expect(part).toContain("<h4>Errors</h4>");
    }
    const create = partOf("sessions.create");
    expect(create).toContain("<code>promptId</code>");
    expect(create).toContain('<a href="#error-agent_disabled">');
    expect(create).toContain("await parley.sessions.create(agentId, {");
    expect(create).toContain("AGENT_DISABLED");
  });

  test("each link within it leads somewhere", () => {
    const ids = [...page.matchAll(/\sid="([^"]+)"/g)].map((match) => match[1] as string);
    expect(new Set(ids).size).toBe(ids.length);
    const links = [...page.matchAll(/href="#([^"]+)"/g)].map((match) => match[1] as string);
    expect(links.filter((link) => !ids.includes(link))).toEqual([]);
  });

  test("each sample of the client has the client's types", async () => {
    const samples = operations.flatMap((operation) => {
      const sample = clientSample(operation, document.components.schemas);
      if (sample === null) return [];
      const ids = operation.parameters.filter((field) => field.in === "path").map(({ name }) => `${name}: string`);
      return [`async (${[...ids, "file: Blob"].join(", ")}) => {\n${sample}\n};`];
    });
    await mkdir(inRepository("dist"), { recursive: true });
    const folder = await mkdtemp(inRepository("dist", "samples-"));
    try {
      const compilerOptions = { incremental: false };
      const config = { extends: "../../tsconfig.json", compilerOptions, include: ["."], exclude: [] };
      await writeFile(join(folder, "tsconfig.json"), JSON.stringify(config));
      const head = 'import type { Parley } from "parley/client";\ndeclare const parley: Parley;\n';
      await writeFile(join(folder, "samples.ts"), `${head}${samples.join("\n")}`);
      const tsc = inRepository("node_modules/.bin/tsc");
      const checked = await promisify(execFile)(tsc, ["--noEmit", "-p", folder]).catch((error) => error);
      expect(String(checked.stdout).replaceAll(folder, "")).toBe("");
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});

describe("GET /", () => {
  test("307 to the documentation", async () => {
    const { status, headers } = await get("/");
    expect([status, headers.get("location")]).toEqual([307, "/docs"]);
  });
});
