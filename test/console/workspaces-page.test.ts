import { describe, expect, test } from "bun:test";
import { hasBrowser, useConsole } from "../harness/console-browser.ts";
import { eventually } from "../harness/harness.ts";

const { t, signedIn } = await useConsole();

describe.skipIf(!hasBrowser)("the page of a workspace", () => {
  test("lists workspaces, runs a command in one, and shows what it put out and wrote", async () => {
    const { id } = await t.parley.workspaces.create({ name: "Reports" });
    await t.parley.workspaces.writeFile(id, "tea,3\n", { path: "prices.csv" });
    const person = await signedIn();
    await person.open("/workspaces");
    await person.page.getByRole("link", { name: "Reports" }).click();
    await person.page.getByRole("heading", { level: 1, name: "Reports" }).waitFor();
    await person.page.getByText("simulated").waitFor();
    await person.page.getByText("prices.csv").waitFor();
    await person.page.getByLabel("Command").fill("cat prices.csv; echo '<b>x</b>' > made.txt; cat made.txt; exit 3");
    await person.page.getByRole("button", { name: "Run" }).click();
    await person.page.getByText("(exit code 3)").waitFor();
    expect(await person.page.locator("pre").first().textContent()).toContain("tea,3\n<b>x</b>");
    await eventually(async () => (await person.page.getByRole("cell", { name: "made.txt" }).count()) === 1);
    await person.page
      .getByRole("row", { name: /prices\.csv/ })
      .getByRole("button", { name: "Edit" })
      .click();
    const dialog = person.page.getByRole("dialog");
    await eventually(async () => (await dialog.getByLabel("Text").inputValue()) === "tea,3\n");
    await dialog.getByLabel("Text").fill("tea,4\n");
    await dialog.getByRole("button", { name: "Save" }).click();
    await person.sees("prices.csv is saved.");
    expect(new TextDecoder().decode(await t.parley.workspaces.getFiles(id, { path: "prices.csv" }))).toBe("tea,4\n");
    expect(await person.wrongs()).toEqual([]);
  });
});
