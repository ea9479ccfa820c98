import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { type App, createApp } from "../../../src/app.ts";
import { listen } from "../../../src/kernel/runtime.ts";
import { linkPressesMax } from "../../../src/mcp-connections/limits.ts";
import { hasBrowser, startBrowser } from "../../harness/browser.ts";
import { useService } from "../../harness/fixture.ts";
import { SignInBrowser } from "../../harness/sign-in-browser.ts";
import { dashboardSecret, SignInScene } from "../../harness/sign-in-scene.ts";

const h = await useService({ env: { DASHBOARD_JWT_SECRET: dashboardSecret } });
let s: SignInScene;
beforeEach(async () => {
  s = await SignInScene.open(h);
});
afterEach(() => s.close());

describe("the page behind a link", () => {
  test("names tenant, connection and server, and changes nothing however often it is opened or looked at", async () => {
    const id = await s.connection({ name: "files <1>" });
    const url = await s.link(id);
    for (const method of ["HEAD", "GET", "HEAD", "GET"])
      expect((await new SignInBrowser(h.app).visit(url, { method })).status).toBe(200);
    expect(s.auth.requests).toEqual([]);
    const page = await s.browser.visit(url);
    const [tenant] = await h.sql`select name from tenants where id = ${s.t.id}`;
    for (const told of [tenant?.name, "files &lt;1&gt;", new URL(s.mcp.url).origin, '<form method="post">'])
      expect(page.text).toContain(told);
    expect(page.headers.get("set-cookie")).toMatch(
      /^parley_sign_in=[\w-]{43}; HttpOnly; SameSite=Lax; Path=\/; Max-Age=600$/,
    );
    // Opened twice, pressed twice: the same browser gets through.
    await s.begin(url);
    expect((await s.browser.follow(url)).text).toContain("Connected");
    expect((await s.show(id)).status).toBe("connected");
  });

  test("is pressed ten times at most", async () => {
    const url = await s.link(await s.connection());
    const statuses: number[] = [];
    for (let press = 0; press < linkPressesMax + 1; press++) statuses.push((await s.browser.press(url)).status);
    expect([new Set(statuses.slice(0, -1)), statuses.at(-1)]).toEqual([new Set([302]), 410]);
  });

  test("has a cookie for this host alone where the service is reached over https", async () => {
    const app = createApp({ ...h.ctx, publicUrl: "https://parley.test" });
    const page = await app(new Request(await s.link(await s.connection())));
    expect(page.headers.get("set-cookie")).toMatch(/^__Host-parley_sign_in=[\w-]{43}; .*Path=\/; .*Secure$/);
  });

  test("has a button that counts only on that page", async () => {
    const url = await s.link(await s.connection());
    await s.browser.visit(url);
    const elsewhere = [
      { origin: "https://elsewhere.test" },
      { origin: "null" },
      { origin: "http://parley.test", "sec-fetch-site": "cross-site" },
      { "sec-fetch-site": "same-site" },
    ];
    for (const headers of elsewhere) expect((await s.browser.press(url, headers)).status).toBe(403);
    expect(s.auth.requests).toEqual([]);
    expect((await s.browser.press(url, { "sec-fetch-site": "same-origin" })).status).toBe(302);
  });

  test("binds the sign-in to its browser: the authorization server's answer counts in no other one", async () => {
    const id = await s.connection();
    const step = await s.begin(await s.link(id));
    const back = (await s.browser.visit(step.location as string)).location as string;
    // Somebody else's browser, one that began a sign-in of its own, and a look by a program.
    const other = new SignInBrowser(h.app);
    expect((await other.visit(back)).status).toBe(400);
    await other.press(await s.link(id));
    expect((await other.visit(back)).status).toBe(400);
    expect((await s.browser.visit(back, { method: "HEAD" })).status).toBe(400);
    expect([s.auth.grants("authorization_code"), (await s.show(id)).status]).toEqual([0, "needs_auth"]);
    // None of that used it up.
    expect((await s.browser.visit(back)).text).toContain("Connected");
  });
});

describe.skipIf(!hasBrowser)("in a person's browser", () => {
  test("the button of the page leads to the authorization server and back", async () => {
    const browser = await startBrowser();
    let app: App = () => Promise.reject(new Error("It is not made yet."));
    const server = listen({ hostname: "127.0.0.1", port: 0, fetch: (request) => app(request) });
    const origin = `http://localhost:${server.port}`;
    app = createApp({ ...h.ctx, publicUrl: origin });
    try {
      const id = await s.connection();
      const page = await browser.newPage();
      const refusals: string[] = [];
      page.on("console", (message) => {
        refusals.push(message.text());
      });
      await page.goto((await s.link(id)).replace("http://parley.test", origin));
      await page.getByRole("button", { name: "Continue" }).click();
      await page.getByRole("heading", { name: "Connected" }).waitFor();
      expect((await s.show(id)).status).toBe("connected");
      expect(refusals.filter((text) => !text.includes("favicon") && !text.includes("404"))).toEqual([]);
    } finally {
      await browser.close();
      await server.stop(true);
    }
  }, 30_000);
});
