import { describe, expect, test } from "bun:test";
import { createLink } from "../../src/console-server/store.ts";
import { hasBrowser, useConsole } from "../harness/console-browser.ts";
import { eventually } from "../harness/harness.ts";
import { makeAgent } from "../harness/seed.ts";

const { h, t, origin, operatorToken, visit, signedIn } = await useConsole();

describe.skipIf(!hasBrowser)("signing in to the console", () => {
  test("a wrong key is refused in words, and the right one leads to the address that was asked for", async () => {
    const person = await visit();
    await person.open("/sessions?userId=ada");
    await person.page.getByLabel("API key").fill("parley_wrong");
    await person.press("Sign in");
    await person.page.getByRole("alert").waitFor();
    expect(await person.wrongs()).toEqual([]);
    await person.signIn(t.token);
    await person.heading("Sessions").waitFor();
    expect(await person.page.getByLabel("User").inputValue()).toBe("ada");
    await eventually(async () => (await person.page.title()) === "Sessions · Parley");
    expect(person.faults).toEqual([]);
  });

  test("Sign out ends it in all windows of the browser", async () => {
    const person = await signedIn("/playground");
    const other = await person.page.context().newPage();
    await other.goto(`${origin}/console/sessions`);
    await other.getByRole("heading", { level: 1, name: "Sessions" }).waitFor();
    await person.press("Sign out");
    await person.page.getByLabel("API key").waitFor();
    await other.getByLabel("API key").waitFor();
    expect(person.faults).toEqual([]);
  });

  test("a session that ended leads to the sign-in, and back to the same address", async () => {
    const person = await signedIn("/sessions?userId=ada");
    await h.sql`delete from console_sessions`;
    // The list is read anew by itself.
    await person.page.getByLabel("API key").waitFor();
    await person.signIn(t.token);
    await person.heading("Sessions").waitFor();
    expect(await person.page.getByLabel("User").inputValue()).toBe("ada");
    expect(person.faults).toEqual([]);
  });

  test("a tab goes on as whoever signs in in another one", async () => {
    const agentId = await makeAgent(h, t);
    const person = await signedIn(`/playground?agent=${agentId}`);
    await person.page.getByLabel("Message").fill("still here");
    const other = await person.page.context().newPage();
    // A new session of the same tenant has another token for its requests.
    await other.goto(`${origin}/console#${await createLink(h.sql, t.id as never, t.token)}`);
    await other.getByRole("button", { name: "Sign out" }).waitFor();
    await person.press("Send");
    await person.page.locator("article.assistant").getByText("still here").waitFor();
    const stranger = await h.tenant({ name: "Stranger" });
    await other.getByRole("button", { name: "Sign out" }).click();
    await other.getByLabel("API key").fill(stranger.token);
    await other.getByRole("button", { name: "Sign in" }).click();
    await person.page.getByRole("navigation").getByText("Stranger").waitFor();
    expect(await person.page.getByText("still here").count()).toBe(0);
    expect(person.faults).toEqual([]);
  });

  test("a link signs in once, and its code leaves the address", async () => {
    const code = await createLink(h.sql, t.id as never, t.token);
    const person = await visit();
    await person.open(`#${code}`);
    await person.heading("Overview").waitFor();
    await eventually(() => person.page.url() === `${origin}/console`);
    const second = await visit();
    await second.open(`#${code}`);
    await second.page.getByLabel("API key").waitFor();
    await eventually(() => second.page.url() === `${origin}/console`);
  });

  test("the navigation marks the present screen, and what is not there is said", async () => {
    const person = await signedIn();
    const current = person.page.getByRole("navigation").locator("[aria-current=page]");
    await eventually(async () => (await current.textContent()) === "Overview");
    await person.go("Playground");
    await eventually(async () => (await current.textContent()) === "Playground");
    const links = await person.page.getByRole("navigation").getByRole("link").all();
    const hrefs = await Promise.all(links.map((link) => link.getAttribute("href")));
    expect(new Set(hrefs).size).toBe(hrefs.length);
    expect(await person.page.getByRole("link", { name: "Operator" }).count()).toBe(0);
    await person.open("/nothing-here");
    await person.sees("There is nothing at this address.");
    expect(person.faults).toEqual([]);
  });

  test("an operator sees no tenant's screens", async () => {
    const person = await visit();
    await person.open("");
    await person.signIn(operatorToken);
    await person.button("Sign out").waitFor();
    for (const name of ["Overview", "Playground", "Sessions", "Keys"])
      expect(await person.page.getByRole("link", { name, exact: true }).count()).toBe(0);
    expect(person.faults).toEqual([]);
  });

  test("what is loaded first has at most 200 kB", async () => {
    const person = await visit();
    const sizes: Promise<number>[] = [];
    person.page.on("response", (response) => {
      sizes.push(
        response
          .request()
          .sizes()
          .then(({ responseBodySize }) => responseBodySize),
      );
    });
    await person.open("");
    await person.page.getByLabel("API key").waitFor();
    await person.signIn(t.token);
    await person.heading("Overview").waitFor();
    await person.page.waitForLoadState("networkidle");
    const bytes = (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
    expect(bytes).toBeGreaterThan(50_000);
    expect(bytes).toBeLessThan(200_000);
  });
});
