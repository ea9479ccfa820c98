import { describe, expect, test } from "bun:test";
import { hasBrowser, useConsole } from "../harness/console-browser.ts";
import { makeAgent } from "../harness/seed.ts";

const { h, t, visit } = await useConsole();
await h.sql`update tenants set api_keys_max = 10 where id = ${t.id}`;
const agentId = await makeAgent(h, t, { name: "Desk" });

/** Signs in with a new key of a role, at an address. */
async function signedInAs(role: "reader" | "runner" | "editor" | "admin", path: string) {
  const { token } = await t.parley.apiKeys.create({ name: role, role });
  const person = await visit();
  await person.open(path);
  await person.signIn(token);
  return person;
}

describe.skipIf(!hasBrowser)("the console offers", () => {
  test("a reader no screen and no button for what it may not do", async () => {
    const person = await signedInAs("reader", `/agents/${agentId}`);
    await person.heading("Desk").waitFor();
    const links = await person.page.getByRole("navigation").getByRole("link").allTextContents();
    expect(links).toContain("Agents");
    for (const name of ["Keys", "Billing", "Audit", "Playground"]) expect(links).not.toContain(name);
    expect(await person.page.locator(".page-head .actions button").count()).toBe(0);
    await person.sees("reader");
    const field = person.page.getByLabel("Name", { exact: true });
    expect([await field.inputValue(), await field.isDisabled()]).toEqual(["Desk", true]);
    await person.sees("Only to read: changing it needs the role editor.");
    expect(await person.wrongs()).toEqual([]);
    await person.open("/keys");
    await person.sees("Keys is not for your role.");
    await person.open("/nowhere");
    await person.sees("There is nothing at this address.");
    expect(person.faults).toEqual([]);
  });

  test("a runner the playground, and an editor the buttons of an agent", async () => {
    const runner = await signedInAs("runner", "/playground");
    await runner.heading("Playground").waitFor();
    const editor = await signedInAs("editor", `/agents/${agentId}`);
    await editor.heading("Desk").waitFor();
    await editor.page.locator(".page-head .actions button").first().waitFor();
    expect(await editor.page.getByRole("navigation").getByRole("link", { name: "Keys" }).count()).toBe(0);
  });

  test("an admin keys with a role and an agent, and shows both", async () => {
    const person = await signedInAs("admin", "/keys");
    await person.press("New key");
    await person.page.getByLabel("Name").fill("made here");
    await person.page.getByLabel("Role").selectOption("approver");
    await person.page.getByLabel("Agents").selectOption("Desk");
    await person.press("Create");
    await person.sees("Copy the key now.");
    await person.page
      .getByRole("button", { name: /done|close/i })
      .first()
      .click();
    const row = person.page.getByRole("table", { name: "API keys" }).locator("tbody tr", { hasText: "made here" });
    for (const cell of ["approver", "Desk", "never"])
      await row.getByRole("cell", { name: cell, exact: true }).first().waitFor();
    expect(await person.wrongs()).toEqual([]);
    expect(await person.wrongsOnPhone()).toEqual([]);
  });
});
