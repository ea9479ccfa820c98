import { describe, expect, test } from "bun:test";
import { hasBrowser, useConsole } from "../harness/console-browser.ts";
import { eventually } from "../harness/harness.ts";
import { makeAgent, makeProvider } from "../harness/seed.ts";

const { h, t, signedIn } = await useConsole();
const hostile = `<img src=x onerror="alert(1)"><script>alert(2)</script>${"long".repeat(6)}`;
const evil = await makeAgent(h, t, { name: hostile, instructions: hostile, metadata: { note: hostile } });

describe.skipIf(!hasBrowser)("the screens of agents", () => {
  test("the list shows names as text, and leads to an agent's page", async () => {
    const person = await signedIn("/agents");
    await person.page.getByRole("table", { name: "Agents" }).getByRole("link", { name: hostile }).click();
    await person.heading(hostile).waitFor();
    await person.hasAddress(`/agents/${evil}`);
    await eventually(async () => (await person.page.getByLabel("Instructions").inputValue()) === hostile);
    expect(await person.wrongs()).toEqual([]);
    expect(await person.wrongsOnPhone()).toEqual([]);
    await person.page.goBack();
    await person.heading("Agents").waitFor();
    expect(await person.wrongsOnPhone()).toEqual([]);
  });

  test("an agent is created, and what the service says of a field stands at that field", async () => {
    const provider = await makeProvider(h, t, { name: `${hostile}2` });
    const person = await signedIn("/agents");
    await person.page.getByRole("link", { name: "New agent" }).click();
    await person.heading("New agent").waitFor();
    // As the newest agent has it.
    await eventually(async () => (await person.page.getByRole("combobox", { name: "Model" }).inputValue()) !== "");
    await eventually(async () => (await person.page.getByLabel("Provider").inputValue()) !== "");
    await person.press("Create");
    await eventually(async () => (await person.page.getByLabel("Name").getAttribute("aria-invalid")) === "true");
    const fault = await person.page.getByLabel("Name").getAttribute("aria-describedby");
    expect(await person.page.locator(`[id="${fault}"]`).getAttribute("role")).toBe("alert");
    await person.page.getByLabel("Name").fill("Made here");
    await person.page.getByLabel("Provider").selectOption(provider.id);
    await person.page
      .getByRole("textbox", { name: "Model" })
      .or(person.page.getByRole("combobox", { name: "Model" }))
      .fill("simulated/model");
    await person.page.getByLabel("Instructions").fill("First line.\nSecond line.");
    await person.page.getByText("More settings").click();
    await person.page.getByLabel("Metadata").fill("{ no JSON");
    await person.press("Create");
    await eventually(async () => (await person.page.getByLabel("Metadata").getAttribute("aria-invalid")) === "true");
    expect(await person.wrongs()).toEqual([]);
    expect(await person.wrongsOnPhone()).toEqual([]);
    await person.page.getByLabel("Metadata").fill('{ "team": "ada" }');
    await person.page.getByLabel("Model calls").fill("0");
    await person.press("Create");
    await eventually(async () => (await person.page.getByLabel("Model calls").getAttribute("aria-invalid")) === "true");
    expect((await t.parley.agents.list()).agents.some(({ name }) => name === "Made here")).toBe(false);
    await person.page.getByLabel("Model calls").fill("9");
    await person.press("Create");
    await person.heading("Made here").waitFor();
    const made = (await t.parley.agents.list()).agents.find(({ name }) => name === "Made here");
    expect(made).toMatchObject({
      instructions: "First line.\nSecond line.",
      providerId: provider.id,
      model: "simulated/model",
      metadata: { team: "ada" },
      turnLimits: { maxModelCalls: 9 },
    });
  });

  test("a change is saved as the next version, two versions are compared, and an old one is restored", async () => {
    const agentId = await makeAgent(h, t, { name: "Versioned", instructions: "Keep.\nBe kind." });
    const person = await signedIn(`/agents/${agentId}`);
    await person.heading("Versioned").waitFor();
    expect(await person.button("Save").isDisabled()).toBe(true);
    await person.page.getByLabel("Instructions").fill(`Keep.\n${hostile}`);
    await person.page.getByLabel("Why (optional)").fill(hostile);
    await person.press("Save");
    await person.sees("Version 2 is saved.");
    const tabs = person.page.getByRole("list", { name: "Parts of the agent" });
    await tabs.getByRole("link", { name: "Versions" }).click();
    const newest = person.page.getByRole("table", { name: "Versions" }).getByRole("row").nth(1);
    await newest.getByText(hostile).waitFor();
    const { apiKeys } = await t.parley.apiKeys.list();
    // Who made it: the key that signed in.
    const maker = newest.getByText(new RegExp(`^(${apiKeys.map(({ name }) => name).join("|")})$`));
    await maker.waitFor();
    const diff = person.page.getByLabel("From version 1 to 2");
    await diff.locator("del", { hasText: "Be kind." }).waitFor();
    expect(await diff.locator("ins").textContent()).toBe(hostile);
    expect(await diff.locator("span").textContent()).toBe("Keep.");
    expect(await person.wrongs()).toEqual([]);
    expect(await person.wrongsOnPhone()).toEqual([]);
    await person.page.getByLabel("Version", { exact: true }).selectOption("1");
    await person.press("Restore");
    const dialog = person.page.getByRole("alertdialog");
    await dialog.getByRole("button", { name: "Restore" }).click();
    await person.sees("Version 1 is restored as version 3.");
    await newest.getByText("Restores version 1").waitFor();
    // Sooner than the page asks again by itself.
    await maker.waitFor({ timeout: 15_000 });
    expect(await t.parley.agents.get(agentId)).toMatchObject({ version: 3, instructions: "Keep.\nBe kind." });
    await tabs.getByRole("link", { name: "Settings" }).click();
    await eventually(async () => (await person.page.getByLabel("Instructions").inputValue()) === "Keep.\nBe kind.");
  });

  test("an agent is disabled, enabled and deleted, each after a question", async () => {
    const agentId = await makeAgent(h, t, { name: "Leaving" });
    const person = await signedIn(`/agents/${agentId}`);
    const dialog = person.page.getByRole("alertdialog");
    await person.press("Disable");
    await dialog.getByRole("button", { name: "Disable" }).click();
    await person.button("Enable").waitFor();
    expect((await t.parley.agents.get(agentId)).status).toBe("disabled");
    expect(await person.wrongs()).toEqual([]);
    await person.press("Enable");
    await person.button("Disable").waitFor();
    expect((await t.parley.agents.get(agentId)).status).toBe("active");
    await person.press("Delete");
    await dialog.getByRole("button", { name: "Back" }).click();
    await dialog.waitFor({ state: "detached" });
    await person.press("Delete");
    await dialog.getByRole("button", { name: "Delete" }).click();
    await person.heading("Agents").waitFor();
    expect((await t.call("GET", `/v1/agents/${agentId}`)).status).toBe(404);
    await person.page.getByRole("link", { name: "Leaving" }).waitFor({ state: "detached" });
    await person.open(`/agents/${agentId}`);
    await person.page.getByRole("alert").waitFor();
    expect(await person.wrongs()).toEqual([]);
  });
});
