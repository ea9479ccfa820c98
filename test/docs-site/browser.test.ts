import { afterAll, describe, expect, test } from "bun:test";
import type { Browser, BrowserContextOptions } from "playwright-core";
import { buildDocs } from "../../src/docs-site/build.ts";
import { builtDocsFolder } from "../../src/docs-site/folders.ts";
import { listen } from "../../src/kernel/runtime.ts";
import { hasBrowser, startBrowser } from "../harness/browser.ts";
import { ConsoleVisit } from "../harness/console-visit.ts";
import { useService } from "../harness/fixture.ts";
import { eventually } from "../harness/harness.ts";

// The pages as they are now, whatever was built before.
if (hasBrowser) await buildDocs(builtDocsFolder);
const h = await useService();
const service = listen({ hostname: "127.0.0.1", port: 0, fetch: h.app });
const origin = `http://127.0.0.1:${service.port}`;
const browser = hasBrowser ? await startBrowser() : null;
afterAll(async () => {
  await browser?.close();
  await service.stop(true);
});

async function visit(path: string, options: BrowserContextOptions = {}): Promise<ConsoleVisit> {
  const context = await (browser as Browser).newContext({ reducedMotion: "reduce", ...options });
  const made = new ConsoleVisit(await context.newPage(), origin);
  await made.page.goto(`${origin}${path}`);
  return made;
}

/** Sections that hold each kind of thing. */
const kept = "#authentication, #errors, #sessions, #forms";
const hits = (of: ConsoleVisit) => of.page.locator("#hits li").allInnerTexts();

describe.skipIf(!hasBrowser)("the page of operations in a browser", () => {
  test("opens with little work, and asks no other server", async () => {
    const { page, faults } = await visit("/docs/operations.json");
    const session = await page.context().newCDPSession(page);
    await session.send("Performance.enable");
    await page.goto(`${origin}/docs`);
    await page.locator(".search-open").waitFor();
    const { metrics } = await session.send("Performance.getMetrics");
    // CPU of the page's main thread: 0.15 s; with a generic browser of OpenAPI documents it was 2.4 s.
    expect(metrics.find(({ name }) => name === "ThreadTime")?.value).toBeLessThan(1);
    expect(faults).toEqual([]);
  });

  test("an address opens its operation, by link and by hand", async () => {
    const { page } = await visit("/docs#/sessions/sessions.create");
    const open = (id: string) =>
      page.locator(`[id="${id}"]`).evaluate((details) => (details as { open?: boolean }).open);
    await eventually(async () => (await open("sessions.create")) === true);
    await page.locator('[id="sessions.create"] a[href="#error-agent_disabled"]').click();
    await page.locator("#error-agent_disabled").waitFor({ state: "visible" });
    expect(await open("sessions.resume")).toBe(false);
  });

  test("the search is opened by key, and goes where its first hit leads", async () => {
    const seen = await visit("/docs");
    for (const [key, text, first] of [
      ["/", "session_busy", "409 session_busy"],
      ["Control+k", "create sess", "Create a session with its first turn"],
      ["Control+k", "POST /v1/webhooks", "Create a webhook"],
    ] as const) {
      await seen.page.keyboard.press(key);
      await seen.page.keyboard.type(text);
      await eventually(async () => (await hits(seen))[0]?.startsWith(first) === true);
      await seen.page.keyboard.press("Escape");
    }
    await seen.page.keyboard.press("/");
    await seen.page.keyboard.type("session_busy");
    await eventually(async () => (await hits(seen))[0]?.startsWith("409 session_busy") === true);
    await seen.page.keyboard.press("Enter");
    await seen.hasAddress("#error-session_busy");
    await seen.page.locator("#error-session_busy").waitFor({ state: "visible" });
    expect(seen.faults).toEqual([]);
  });

  test("fits every window in both schemes, for people who see it and who do not", async () => {
    const found: string[] = [];
    for (const [width, colorScheme] of [
      [390, "dark"],
      [1_280, "light"],
      [2_560, "dark"],
    ] as const) {
      const seen = await visit("/docs#sessions.create", { colorScheme, viewport: { width, height: 900 } });
      // axe-core takes 17 s for all of it; each kind of thing is in what is left.
      await seen.page.locator(`section:not(${kept})`).evaluateAll((all) => {
        for (const section of all) section.remove();
      });
      found.push(...(await seen.wrongs()).map((wrong) => `at ${width}: ${wrong}`));
      if (width > 390) continue;
      await seen.press("Contents");
      await seen.page.getByRole("link", { name: "Errors", exact: true }).click();
      await seen.hasAddress("#errors");
      await seen.page.locator("#contents").waitFor({ state: "hidden" });
    }
    expect(found).toEqual([]);
  });
});

describe.skipIf(!hasBrowser)("the pages in a browser", () => {
  test("are found by their words, fit every window, and lead to each other", async () => {
    const seen = await visit("/docs/readme");
    await seen.page.keyboard.press("Control+k");
    await seen.page.keyboard.type("backup restore");
    await eventually(async () => (await hits(seen)).some((hit) => hit.startsWith("Backup and restore")));
    await seen.page
      .getByRole("option", { name: /^Backup and restore/ })
      .first()
      .click();
    await seen.hasAddress("/docs/deployment#backup-and-restore");
    await seen.page.locator("#search").waitFor({ state: "hidden" });
    const found: string[] = [];
    for (const [path, width, colorScheme] of [
      ["/docs/readme", 390, "light"],
      ["/docs/examples", 1_280, "dark"],
      ["/docs/configuration", 2_560, "light"],
    ] as const) {
      await seen.page.setViewportSize({ width, height: 900 });
      await seen.page.emulateMedia({ colorScheme });
      await seen.page.goto(`${origin}${path}`);
      found.push(...(await seen.wrongs()).map((wrong) => `${path} at ${width}: ${wrong}`));
    }
    expect(found).toEqual([]);
  });
});
