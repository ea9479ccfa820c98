import { describe, expect, test } from "bun:test";
import { hasBrowser, useConsole } from "../harness/console-browser.ts";
import { consoleOrigin } from "../harness/console-page.ts";
import { oidcEnv, useIdentityProvider } from "../harness/console-person.ts";
import { ConsoleVisit } from "../harness/console-visit.ts";

const idp = await useIdentityProvider();
const { h, t, visit } = await useConsole({ ...oidcEnv(idp), CONSOLE_OIDC_NAME: "Work" });

/** A window at the address that the service has by its own account. */
async function visitor(path: string): Promise<ConsoleVisit> {
  const { page } = await visit();
  const person = new ConsoleVisit(page, consoleOrigin);
  await person.open(path);
  return person;
}

/** What went wrong in a window; that it goes to the identity provider is right. */
const faultsIn = ({ faults }: ConsoleVisit) => faults.filter((fault) => !fault.startsWith(`asked ${idp.url}/`));

const wrongsIn = async (person: ConsoleVisit) =>
  (await person.wrongs()).filter((wrong) => !wrong.startsWith(`asked ${idp.url}/`));

describe.skipIf(!hasBrowser)("in the console", () => {
  test("an admin invites a member by a link, who signs in at the provider and sees what the role allows", async () => {
    await t.parley.members.create({ email: "ana@example.org", role: "admin" });
    const admin = await visitor("/members");
    idp.account = { email: "ana@example.org", name: "Ana" };
    await admin.page.getByRole("link", { name: "Sign in with Work" }).click();
    await admin.heading("Members").waitFor();
    await admin.press("Invite");
    await admin.page.getByLabel("E-mail address").fill("bert@example.org");
    await admin.page.getByLabel("Role").selectOption("reader");
    await admin.page.getByRole("dialog").getByRole("button", { name: "Invite" }).click();
    await admin.page.getByRole("button", { name: "Copy link" }).waitFor();
    const link = await admin.page.getByRole("dialog").locator("code").textContent();
    await admin.press("Done");
    await admin.page.getByRole("table").locator("tbody tr", { hasText: "bert@example.org" }).waitFor();
    expect(await wrongsIn(admin)).toEqual([]);

    const { page } = await visit();
    const reader = new ConsoleVisit(page, consoleOrigin);
    await page.goto(link as string);
    idp.account = { email: "BERT@example.org" };
    await page.getByRole("link", { name: "Sign in with Work" }).click();
    await reader.heading("Overview").waitFor();
    await reader.sees("reader");
    expect(await page.getByRole("navigation").getByRole("link", { name: "Members" }).count()).toBe(0);
    expect([...faultsIn(admin), ...faultsIn(reader)]).toEqual([]);
  });

  test("a person in two tenants chooses, changes, and is named in the audit", async () => {
    const other = await h.tenant({ name: "Other team" });
    for (const tenant of [t, other])
      await tenant.call("POST", "/v1/members", { body: { email: "carla@example.org", role: "editor" } });
    const person = await visitor("/audit");
    idp.account = { email: "carla@example.org", name: "Carla" };
    await person.page.getByRole("link", { name: "Sign in with Work" }).click();
    await person.page.getByRole("button", { name: "Other team" }).click();
    await person.page.getByRole("row", { name: /Carla\s*Member/ }).waitFor();
    await person.press("Change tenant");
    await person.page.getByRole("dialog").getByRole("button", { name: "Test" }).click();
    await person.heading("Overview").waitFor();
    await person.page.getByRole("navigation").getByText("Test", { exact: true }).waitFor();
    expect(faultsIn(person)).toEqual([]);
  });

  test("who is refused is told why on the sign-in page", async () => {
    const person = await visitor("/turns");
    idp.account = { email: "stranger@example.org" };
    await person.page.getByRole("link", { name: "Sign in with Work" }).click();
    await person.sees("Your account has no access here.");
    expect(await wrongsIn(person)).toEqual([]);
  });
});
