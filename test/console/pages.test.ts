import { afterAll, describe, expect, test } from "bun:test";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { ConsolePages } from "../../src/console-server/pages.ts";
import { useService } from "../harness/fixture.ts";

const folder = await mkdtemp(join(tmpdir(), "parley-console-"));
afterAll(() => rm(folder, { recursive: true, force: true }));
const page = "<!doctype html><title>Console</title>";
const script = `const text = "${"parley ".repeat(1_000)}";`;
await mkdir(join(folder, "assets"));
await writeFile(join(folder, "index.html"), page);
await writeFile(join(folder, "assets", "main-1a2b.js"), script);
await writeFile(join(folder, "assets", "ready-1a2b.css"), "plain");
await writeFile(join(folder, "assets", "ready-1a2b.css.br"), "made by the build");
await writeFile(join(folder, "assets", ".hidden.js"), "hidden");
await writeFile(join(folder, "favicon.svg"), "<svg/>");

const pages = new ConsolePages([join(folder, "nowhere"), folder]);
const get = (path: string, headers: Record<string, string> = {}) =>
  pages.respond(new Request(`http://parley.test/console/${path}`, { headers }), path);

describe("the pages of the console", () => {
  test("every path without an extension is the page, which may load from this service only", async () => {
    for (const path of ["", "agents", "sessions/ss_0123456789abcdefghijklmn", "operator/tenants"]) {
      const response = await get(path);
      expect([response.status, await response.text()]).toEqual([200, page]);
      expect(response.headers.get("content-type")).toBe("text/html; charset=utf-8");
      expect(response.headers.get("cache-control")).toBe("no-cache");
      const policy = response.headers.get("content-security-policy") as string;
      expect(policy).toStartWith("default-src 'none'; ");
      expect(policy).toContain("frame-ancestors 'none'");
      expect(policy.match(/https?:|unsafe|\*/)).toBeNull();
      expect(response.headers.get("x-content-type-options")).toBe("nosniff");
      expect(response.headers.get("referrer-policy")).toBe("no-referrer");
    }
  });

  test("files with a digest in their names are kept by browsers, others are asked for again", async () => {
    const asset = await get("assets/main-1a2b.js");
    expect(asset.headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
    expect(asset.headers.get("content-type")).toBe("text/javascript; charset=utf-8");
    const icon = await get("favicon.svg");
    expect([icon.headers.get("content-type"), icon.headers.get("cache-control")]).toEqual([
      "image/svg+xml",
      "no-cache",
    ]);
    const tag = (await get("")).headers.get("etag") as string;
    expect((await get("", { "if-none-match": tag })).status).toBe(304);
  });

  test("are sent compressed to who takes that, as the build made them or as they are", async () => {
    const bytesOf = async (accepted: string, path = "assets/main-1a2b.js") => {
      const response = await get(path, { "accept-encoding": accepted });
      return {
        encoding: response.headers.get("content-encoding"),
        bytes: new Uint8Array(await response.arrayBuffer()),
      };
    };
    const brotli = await bytesOf("gzip, deflate, br");
    expect([brotli.encoding, brotliDecompressSync(brotli.bytes).toString()]).toEqual(["br", script]);
    const gzip = await bytesOf("gzip, br;q=0");
    expect([gzip.encoding, gunzipSync(gzip.bytes).toString()]).toEqual(["gzip", script]);
    expect((await bytesOf("identity")).encoding).toBeNull();
    expect(Buffer.from((await bytesOf("br", "assets/ready-1a2b.css")).bytes).toString()).toBe("made by the build");
  });

  test("nothing else is a file", async () => {
    const paths = [
      "missing.js",
      "assets/.hidden.js",
      "../package.json",
      "assets/../../package.json",
      "..%2fa.json",
      "a//b.js",
    ];
    for (const path of paths) expect(get(path)).rejects.toMatchObject({ reason: "not_found" });
  });

  test("say what to do where they are not built", async () => {
    const response = await new ConsolePages([join(folder, "nowhere")]).respond(
      new Request("http://parley.test/console"),
      "",
    );
    expect([response.status, await response.text()]).toEqual([503, expect.stringContaining("npm run build:console")]);
  });
});

describe("the console is a part of the service", () => {
  const root = async (env: Record<string, string>) => {
    const h = await useService({ env });
    const to = async (path: string) => h.app(new Request(`http://parley.test${path}`));
    return to;
  };

  test("where it is switched on, the root leads to it", async () => {
    const to = await root({ CONSOLE: "1" });
    expect((await to("/")).headers.get("location")).toBe("/console");
    expect([200, 503]).toContain((await to("/console")).status);
    expect((await to("/console/api/session")).status).toBe(401);
  });

  test("where it is off, nothing is there", async () => {
    const to = await root({});
    expect((await to("/")).headers.get("location")).toBe("/docs");
    for (const path of ["/console", "/console/agents", "/console/api/session"])
      expect((await to(path)).status).toBe(404);
  });
});
