import { describe, expect, test } from "bun:test";
import { hasBrowser, useConsole } from "../harness/console-browser.ts";
import { eventually } from "../harness/harness.ts";
import { makeAgent, userMessage } from "../harness/seed.ts";

const { h, t, visit, signedIn } = await useConsole();
const agentId = await makeAgent(h, t, { name: "Ada's agent" });
const session = await t.call("POST", `/v1/agents/${agentId}/sessions`, {
  body: { stream: false, message: userMessage('[[sim: text="# Plan\\n\\n- one\\n- **two**\\n\\n`code`"]]') },
});
const sessionId = session.headers.get("location")?.split("/").at(-1);
/** The session's question, in one line and without the signs of Markdown. */
const question = '[[sim: text="# Plan\\n\\n- one\\n- two\\n\\ncode"]]';
/** Every page that these engineers' screens have, with what is there when it is loaded. */
const pages: readonly (readonly [path: string, heading: string, text: string | RegExp])[] = [
  ["", "Overview", "Nothing waits."],
  [`/playground?agent=${agentId}&session=${sessionId}`, "Playground", /^Plan$/],
  ["/sessions", "Sessions", "Ada's agent"],
  [`/sessions/${agentId}/${sessionId}`, question, "From the first text"],
];
const schemes = ["light", "dark"] as const;
const phone = { width: 360, height: 740 };
const wall = { width: 3840, height: 2160 };

describe.skipIf(!hasBrowser)("the console's pages for everybody", () => {
  for (const colorScheme of schemes)
    for (const viewport of [phone, wall])
      test(`have no serious fault at ${viewport.width} px, ${colorScheme}`, async () => {
        const person = await signedIn("", { colorScheme, viewport });
        for (const [path, heading, text] of pages) {
          await person.open(path);
          await person.heading(heading).waitFor();
          await person.sees(text);
          expect([path, ...(await person.wrongs())]).toEqual([path]);
        }
      });

  test("on a narrow screen a button opens the navigation, and a choice closes it", async () => {
    const person = await signedIn("", { viewport: phone });
    const link = person.page.getByRole("link", { name: "Sessions", exact: true });
    expect(await link.isVisible()).toBe(false);
    await person.page.getByRole("button", { name: /menu/ }).click();
    await link.click();
    await person.heading("Sessions").waitFor();
    const isClosed = () => person.page.locator("#navigation").waitFor({ state: "hidden" });
    await isClosed();
    const menu = person.page.getByRole("button", { name: /menu/ });
    await menu.click();
    await link.waitFor();
    expect(await person.wrongs()).toEqual([]);
    await person.page.keyboard.press("Escape");
    await isClosed();
    await eventually(() => menu.evaluate((button) => button === document.activeElement));
    await menu.click();
    await link.focus();
    await person.page.keyboard.press("Escape");
    await isClosed();
    await menu.click();
    await link.waitFor();
    await person.page.mouse.click(350, 500);
    await isClosed();
  });

  test("the playground takes the focus however it is opened, and leaves it at Escape", async () => {
    const person = await signedIn("/playground");
    const message = person.page.getByLabel("Message");
    const focused = () => message.evaluate((field) => field === document.activeElement);
    await eventually(focused);
    await person.go("Sessions");
    await person.go("Playground");
    await eventually(focused);
    await person.page.keyboard.type("What? g s");
    expect(await message.inputValue()).toBe("What? g s");
    await person.page.keyboard.press("Escape");
    await person.page.keyboard.press("?");
    await person.page.getByRole("dialog", { name: "Keys" }).waitFor();
    await person.page.keyboard.press("Escape");
    await person.press("New conversation");
    await eventually(focused);
    expect(await message.inputValue()).toBe("What? g s");
    expect(person.faults).toEqual([]);
  });

  test("can be used by keyboard alone", async () => {
    const person = await signedIn();
    const { keyboard } = person.page;
    await person.open("");
    await person.heading("Overview").waitFor();
    await person.page.locator("body").press("Tab");
    expect(await person.page.locator(":focus").textContent()).toBe("Skip to content");
    await keyboard.press("Enter");
    await eventually(async () => (await person.page.locator(":focus").getAttribute("id")) === "main");
    await keyboard.press("?");
    const dialog = person.page.getByRole("dialog", { name: "Keys" });
    await dialog.getByText("Go to Sessions").waitFor();
    expect(await person.wrongs()).toEqual([]);
    await keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    // The second key has to come within a second of the first, which a busy machine may miss.
    for (const [keys, screen] of [
      ["gs", "Sessions"],
      ["gp", "Playground"],
    ] as const)
      await eventually(async () => {
        await keyboard.type(keys);
        const shown = person.heading(screen).waitFor({ timeout: 10_000 });
        return shown.then(
          () => true,
          () => false,
        );
      });
    await person.page.getByRole("combobox", { name: "Agent" }).focus();
    await keyboard.press("ArrowDown");
    await person.page.getByRole("option").first().waitFor();
    await keyboard.press("Enter");
    await person.page.getByLabel("Message").focus();
    await keyboard.type("g s ? is what I type");
    await keyboard.press("Enter");
    await person.page.getByRole("log").getByText("g s ? is what I type").first().waitFor();
    await person.button("Regenerate").waitFor();
    expect(await person.wrongs()).toEqual([]);
  });

  test("go on where the browser is told to be offline, and copy without https", async () => {
    const person = await signedIn();
    await person.page.evaluate("Object.defineProperty(navigator, 'onLine', { get: () => false })");
    await person.page.evaluate("window.dispatchEvent(new Event('offline'))");
    await person.go("Sessions");
    await person.sees("Ada's agent");
    await person.page.evaluate("Object.defineProperty(window, 'isSecureContext', { get: () => false })");
    await person.page.getByRole("link", { name: /Plan/ }).click();
    await person.page.getByRole("button", { name: /^Copy ss_/ }).click();
    await person.sees("Copied.");
    expect(person.faults).toEqual([]);
  });

  test("in the overview each plot is a figure with a caption and a table, and is live", async () => {
    const person = await signedIn();
    for (const caption of ["Turns", "Time to first text", "Failures", "Tokens"]) {
      const figure = person.page.getByRole("figure").filter({ hasText: `Table of ${caption.toLowerCase()}` });
      await figure.locator("canvas").waitFor();
      await figure.getByText(`Table of ${caption.toLowerCase()}`).click();
      await eventually(async () => (await figure.getByRole("row").count()) === 61);
    }
    const turns = person.page.getByRole("figure").filter({ hasText: "Table of turns" });
    await t.call("POST", `/v1/agents/${agentId}/sessions`, {
      body: { stream: false, message: userMessage("One more.") },
    });
    const [row] = await h.sql`select count(*)::int as accepted from turns where tenant_id = ${t.id}`;
    // What took long to read is kept for 60 s at most, and the page asks every 5 s.
    await turns.getByText(String(row?.accepted), { exact: true }).first().waitFor({ timeout: 90_000 });
    await person.page.getByLabel("Time", { exact: true }).selectOption("Last 24 hours");
    await person.hasAddress("since=day");
    await eventually(async () => (await turns.locator("tr").count()) === 49);
    await person.page.getByLabel("Time", { exact: true }).selectOption("This month");
    await person.hasAddress("since=this-month");
    await turns.getByText(String(row?.accepted), { exact: true }).first().waitFor();
    expect(await person.wrongs()).toEqual([]);
  });

  test("a time in which every turn failed has no axis of times to the first text", async () => {
    const luckless = await h.tenant();
    const unlucky = await makeAgent(h, luckless);
    const body = { stream: false, message: userMessage("[[sim: fail=401]]") };
    await luckless.call("POST", `/v1/agents/${unlucky}/sessions`, { body });
    const person = await visit();
    await person.open("");
    await person.signIn(luckless.token);
    const figure = person.page.getByRole("figure").filter({ hasText: "Table of time to first text" });
    await figure.getByText("No turn has said anything in this time.").waitFor();
    expect(await figure.locator("canvas").count()).toBe(0);
    expect(await person.wrongs()).toEqual([]);
  });

  test("the first steps are ticked by what the tenant has, and go when all are done", async () => {
    await t.call("POST", `/v1/agents/${agentId}/sessions`, {
      body: { stream: false, message: userMessage("Hello.") },
    });
    const person = await signedIn();
    // The key that a program used is another one than that of who is signed in.
    const steps = person.page.getByRole("region", { name: "First steps" });
    const step = (text: RegExp) => steps.getByRole("listitem").filter({ hasText: text });
    await step(/Talk to it, done/).waitFor();
    await step(/Make a key for your program.*not done yet/).waitFor();
    const { token } = await t.parley.apiKeys.create({ name: "program", role: "reader" });
    await fetch(`${person.origin}/v1/agents`, { headers: { authorization: `Bearer ${token}` } });
    await steps.waitFor({ state: "detached" });
  });
});
