import { describe, expect, test } from "bun:test";
import { hasBrowser, useConsole } from "../harness/console-browser.ts";
import type { ConsoleVisit } from "../harness/console-visit.ts";
import { eventually } from "../harness/harness.ts";
import { makeAgent, userMessage } from "../harness/seed.ts";

const { h, t, signedIn } = await useConsole();
const agentId = await makeAgent(h, t, { name: "Ada" });
await t.call("POST", `/v1/agents/${agentId}/sessions`, {
  body: { stream: false, userId: "ada", message: userMessage('[[sim: text="Hello"]]') },
});

/** The addresses that a page asks from now on. */
function asked(person: ConsoleVisit): string[] {
  const addresses: string[] = [];
  person.page.on("request", (request) => addresses.push(request.url()));
  return addresses;
}

const time = (person: ConsoleVisit) => person.page.getByLabel("Time", { exact: true });
const chosen = (person: ConsoleVisit) => time(person).locator("option:checked").textContent();

describe.skipIf(!hasBrowser)("days that reports are by", () => {
  for (const path of ["/usage", "/users", "/users?id=ada"])
    test(`are those of UTC, which ${path} says`, async () => {
      // There it is the next day from 10:00 UTC on; the rest of the day its day is that of UTC.
      const person = await signedIn(path, { timezoneId: "Pacific/Kiritimati" });
      await person.page.clock.setFixedTime(new Date("2026-11-27T11:28:00Z"));
      await person.page.reload();
      const addresses = asked(person);
      await time(person).selectOption("Today");
      await eventually(() => addresses.some((address) => /\/usage\?.*from=2026-11-27&to=2026-11-27/.test(address)));
      await person.sees(/^Nov 27, 2026\. Days begin and end by UTC\.$/);
      expect(await person.wrongs()).toEqual([]);
      expect(await person.wrongsOnPhone()).toEqual([]);
    });
});

describe.skipIf(!hasBrowser)("an address with a time that there is not", () => {
  const screens = [
    ["/turns", "Any"],
    ["/turns?order=longest", "Last 24 hours"],
    ["/sessions", "Any"],
    ["/audit", "Any"],
    ["/usage", "Last 31 days"],
    ["/users", "This month"],
    ["/users?id=ada", "This month"],
    ["/", "Last hour"],
  ] as const;
  for (const since of ["2026-11-27..2026-11-20", "foo", "2026-02-31..2026-03-02"])
    test(`as ${since} is the usual time of the screen, in its control and in what it asks`, async () => {
      const person = await signedIn();
      for (const [path, usual] of screens) {
        await person.open(path);
        await time(person).waitFor();
        const usualEmpty = await person.page.getByText(/ matches\.$/).count();
        await person.open(`${path}${path.includes("?") ? "&" : "?"}since=${since}`);
        await eventually(async () => (await chosen(person)) === usual);
        await eventually(async () => (await person.page.getByText("Loading…").count()) === 0);
        expect([path, await person.page.getByText(/ matches\.$/).count()]).toEqual([path, usualEmpty]);
      }
      // What is not narrowed may not claim to be: canceling all needs a filter that is one.
      await person.open(`/turns?userId=ada&since=${since}`);
      await eventually(async () => !(await person.button("Cancel all").isDisabled()));
      await person.open(`/users?id=ada&since=${since}`);
      await person.page.getByRole("definition").getByRole("link", { name: "1", exact: true }).click();
      await person.hasAddress("/turns?userId=ada&since=this-month");
    });

  test("as an earlier month is one where it is asked for, though it is no choice otherwise", async () => {
    const person = await signedIn();
    for (const path of ["/turns", "/sessions", "/audit", "/"]) {
      const addresses = asked(person);
      await person.open(`${path}?since=2025-02`);
      await eventually(async () => (await chosen(person)) === "February 2025");
      await eventually(() => addresses.some((address) => /from=2025-0[12]-/.test(address)));
    }
  });

  test("that is too long is refused in words for people", async () => {
    const person = await signedIn();
    for (const path of ["/usage", "/users", "/users?id=ada", "/turns?order=longest", "/"]) {
      await person.open(`${path}${path.includes("?") ? "&" : "?"}since=2026-01-01..2026-05-01`);
      await person.page.getByRole("alert").getByText("At most 31 days can be shown.").first().waitFor();
      expect(await person.page.getByText(/must be/).count()).toBe(0);
    }
    expect(await person.wrongs()).toEqual([]);
  });
});
