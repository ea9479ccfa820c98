import { readFileSync } from "node:fs";
import type { Browser, Page } from "playwright-core";
import { listen } from "../../src/kernel/runtime.ts";
import { bundle, namedBlocks, servePage, startBrowser } from "./browser.ts";
import { makeClientToken } from "./client-tokens.ts";
import type { Harness, TestTenant } from "./harness.ts";
import { inRepository } from "./repository.ts";

/** A page of docs/browsers.md in a browser, whose tokens are of the user `anna`. */
export interface ClientPages extends AsyncDisposable {
  /** The service's address, which is another origin than the pages'. */
  readonly url: string;
  readonly servicePort: number;
  /** The token that a page was given last, and how many were given. */
  readonly granted: { readonly id: string; readonly token: string; readonly count: number };
  /** Opens the page; `strange`: on an origin that its token does not name. */
  visit(strange?: "strange"): Promise<Page>;
}

/** Bundles the blocks of docs/browsers.md from one on, with packages of `modules`, and serves the page on two origins. */
export async function openClientPages(
  { h, t, agentId }: { readonly h: Harness; readonly t: TestTenant; readonly agentId: string },
  entry: string,
  modules?: string,
): Promise<ClientPages> {
  const script = await bundle(namedBlocks(readFileSync(inRepository("docs/browsers.md"), "utf8")), entry, modules);
  const service = listen({ hostname: "127.0.0.1", port: 0, fetch: h.app });
  const url = `http://127.0.0.1:${service.port}`;
  const granted = { id: "", token: "", count: 0 };
  const grant = async () => {
    const { id, token } = await makeClientToken(t, { agentId, origins: [named.origin] });
    Object.assign(granted, { id, token, count: granted.count + 1 });
    return Response.json({ url, agentId, token });
  };
  const named = servePage(script, { "/token": grant });
  const strange = servePage(script, { "/token": grant });
  const browser: Browser = await startBrowser();
  return {
    url,
    servicePort: service.port,
    granted,
    async visit(kind) {
      const page = await browser.newPage();
      await page.goto((kind === "strange" ? strange : named).origin);
      return page;
    },
    async [Symbol.asyncDispose]() {
      await browser.close();
      await Promise.all([named.server.stop(true), strange.server.stop(true), service.stop(true)]);
    },
  };
}
