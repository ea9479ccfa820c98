import { expect } from "bun:test";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { BunPlugin } from "bun";
import { type Browser, chromium, type Page } from "playwright-core";
import { type HttpServer, listen } from "../../src/kernel/runtime.ts";
import { eventually } from "./eventually.ts";
import { inRepository } from "./repository.ts";

/** Where Debian has it; .ci/run installs it. */
const executablePath = "/usr/bin/chromium";

/** Whether there is a browser; a file that needs one skips its tests where there is none. */
export const hasBrowser = existsSync(executablePath);
if (!hasBrowser) process.stderr.write(`Pages are not tried: there is no ${executablePath}.\n`);

/** Starts the system's Chromium. Root may start it only without its own sandbox. */
export function startBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
}

/** Returns the blocks of a document's code that have a file's name beside their language: ```` ```ts chat.ts ````. */
export function namedBlocks(markdown: string): Record<string, string> {
  const blocks = markdown.matchAll(/^```\w+ ([\w.-]+)\n(.*?)^```$/gms);
  return Object.fromEntries([...blocks].map(([, name = "", code = ""]) => [name, code]));
}

/** The transport is this repository's, wherever a page's packages are. */
const ownTransport: BunPlugin = {
  name: "the client's use-chat",
  setup(build) {
    build.onResolve({ filter: /^(parley|@parley-runtime\/client)\/use-chat$/ }, () => ({
      path: inRepository("src/client/use-chat.ts"),
    }));
  },
};

/** Bundles files for a browser, as a page's owner does, and returns the script. Packages are those of `modules`, this repository's where it is left out. */
export async function bundle(
  files: Readonly<Record<string, string>>,
  entry: string,
  modules?: string,
): Promise<string> {
  const home = modules ?? inRepository("dist");
  await mkdir(home, { recursive: true });
  const folder = await mkdtemp(join(home, "page-"));
  try {
    for (const [name, code] of Object.entries(files)) await writeFile(join(folder, name), code);
    const built = await Bun.build({
      entrypoints: [join(folder, entry)],
      target: "browser",
      define: { "process.env.NODE_ENV": '"production"' },
      plugins: [ownTransport],
    });
    return await (built.outputs[0] as Blob).text();
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** A server of a page that is one script, with what else it has by path. */
export function servePage(
  script: string,
  more: Readonly<Record<string, (request: Request) => Response | Promise<Response>>> = {},
): { readonly origin: string; readonly server: HttpServer } {
  const html = `<!doctype html><title>Page</title><main id="page"></main><script type="module" src="/page.js"></script>`;
  const server = listen({
    hostname: "127.0.0.1",
    port: 0,
    fetch: (request) => {
      const { pathname } = new URL(request.url);
      if (pathname === "/page.js") return new Response(script, { headers: { "Content-Type": "text/javascript" } });
      return more[pathname]?.(request) ?? new Response(html, { headers: { "Content-Type": "text/html" } });
    },
  });
  return { origin: `http://127.0.0.1:${server.port}`, server };
}

/** Presses a button of a page. */
export function press(page: Page, name: string): Promise<void> {
  return page.getByRole("button", { name, exact: true }).click();
}

/** Writes into the field for messages, and sends that. */
export async function sendText(page: Page, text: string): Promise<void> {
  await page.getByLabel("Message").fill(text);
  await press(page, "Send");
}

/** Waits until these stand on a page, message by message, without the words of their buttons. */
export async function showsMessages(page: Page, ...messages: string[]): Promise<void> {
  let shown: string[] = [];
  await eventually(async () => {
    const all = await page.locator("article").allInnerTexts();
    shown = all.map((text) => text.replace(/Regenerate$/, "").trim());
    return JSON.stringify(shown) === JSON.stringify(messages);
  }).catch(() => expect(shown).toEqual(messages));
}
