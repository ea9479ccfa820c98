import { describe, expect, test } from "bun:test";
import { hasBrowser, useConsole } from "../harness/console-browser.ts";
import { eventually } from "../harness/harness.ts";
import { makeAgent, makeProvider, userMessage } from "../harness/seed.ts";

const { h, t, signedIn } = await useConsole();
const hostile = `<img src=x onerror="alert(1)"><script>alert(2)</script>${"long".repeat(6)}`;
const agentId = await makeAgent(h, t, { name: hostile });

describe.skipIf(!hasBrowser)("the screen of tasks", () => {
  test("a task is made by the calendar, which says when it fires, and the service's errors stand at its fields", async () => {
    const person = await signedIn("/tasks");
    await person.sees("There is no task.");
    await person.page.getByRole("link", { name: "New task" }).click();
    await person.heading("New task").waitFor();
    await person.page.getByLabel("Name").fill(hostile);
    await person.page.getByLabel("Prompt").fill("Say hello.");
    await person.page.getByLabel("Kind").selectOption("cron");
    await person.page.getByLabel("Expression").fill("not cron");
    await person.sees("It would not fire any more.");
    await person.press("Create");
    await person.page.getByRole("alert").first().waitFor();
    expect((await t.parley.tasks.list()).data).toEqual([]);
    await person.page.getByLabel("Expression").fill("30 7 * * *");
    await person.page.getByLabel("Time zone").fill("Europe/Lisbon");
    await person.sees("It fires next, in your own time:");
    expect(await person.page.locator("ul.hint li").count()).toBe(5);
    expect(await person.wrongs()).toEqual([]);
    expect(await person.wrongsOnPhone()).toEqual([]);
    await person.press("Create");
    await person.heading(hostile).waitFor();
    const [task] = (await t.parley.tasks.list()).data;
    expect(task).toMatchObject({
      agentId,
      enabled: true,
      schedule: { kind: "cron", config: { expression: "30 7 * * *", timezone: "Europe/Lisbon" } },
    });
    expect(await person.wrongs()).toEqual([]);
    expect(await person.wrongsOnPhone()).toEqual([]);
    await person.page.getByRole("link", { name: "Tasks" }).first().click();
    await person.heading("Tasks").waitFor();
    await person.page.getByRole("table", { name: "Tasks" }).getByRole("link", { name: hostile }).first().waitFor();
    expect(await person.wrongsOnPhone()).toEqual([]);
  });

  test("a task is run now, its run is canceled after a question, and it is disabled, enabled and deleted", async () => {
    const hang = '[[sim: text="one two three" hangAfterChunks=1]]';
    const { task } = await t.parley.tasks.create({
      agentId,
      name: "Long",
      prompt: hang,
      schedule: { kind: "interval", config: { everyMs: 86_400_000 } },
    });
    const person = await signedIn(`/tasks/${task.id}`);
    const dialog = person.page.getByRole("alertdialog");
    await person.sees("It has not run yet.");
    await person.press("Run now");
    const run = person.page.getByRole("table", { name: "Runs" }).locator("tbody tr");
    await run.getByRole("button", { name: "Cancel" }).click();
    await dialog.getByRole("button", { name: "Back" }).click();
    await dialog.waitFor({ state: "detached" });
    expect((await t.parley.taskRuns.list(task.id)).data[0]?.finishedAt).toBeNull();
    await run.getByRole("button", { name: "Cancel" }).click();
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await run.getByText("canceled").waitFor();
    expect(await person.wrongs()).toEqual([]);
    expect(await person.wrongsOnPhone()).toEqual([]);
    await person.press("Disable");
    await person.button("Enable").waitFor();
    expect((await t.parley.tasks.get(task.id)).enabled).toBe(false);
    await person.press("Enable");
    await person.button("Disable").waitFor();
    await person.press("Delete");
    await dialog.getByRole("button", { name: "Delete" }).click();
    await person.heading("Tasks").waitFor();
    expect((await t.call("GET", `/v1/tasks/${task.id}`)).status).toBe(404);
    expect(person.faults).toEqual([]);
  });
});

describe.skipIf(!hasBrowser)("the screen of keys", () => {
  test("a key's secret is shown once, it works, and it is deleted after a question", async () => {
    const person = await signedIn("/keys");
    await person.press("New key");
    const made = person.page.getByRole("dialog");
    await made.getByLabel("Name").fill(hostile);
    // What a program needs that talks to agents, and what each role may in words.
    expect(await made.getByLabel("Role").inputValue()).toBe("runner");
    await made.getByText("approver also decides approvals").waitFor();
    await made.getByLabel("Expires").fill("2001-01-01T00:00");
    await made.getByRole("button", { name: "Create" }).click();
    await eventually(async () => (await made.getByLabel("Expires").getAttribute("aria-invalid")) === "true");
    await made.getByLabel("Expires").fill("");
    await made.getByRole("button", { name: "Create" }).click();
    await made.getByText("It is not shown again.").waitFor();
    const token = (await made.locator("code").textContent()) as string;
    expect((await t.call("GET", "/v1/agents", { token })).status).toBe(200);
    expect(await person.wrongs()).toEqual([]);
    expect(await person.wrongsOnPhone()).toEqual([]);
    await made.getByRole("button", { name: "Done" }).click();
    await made.waitFor({ state: "detached" });
    const row = person.page.getByRole("table", { name: "API keys" }).locator("tbody tr", { hasText: "onerror" });
    await row.getByText(`…${token.slice(-4)}`).waitFor();
    expect(await person.page.content()).not.toContain(token);
    await person.press("New key");
    await made.getByLabel("Name").waitFor();
    expect(await made.getByText("It is not shown again.").count()).toBe(0);
    await person.page.keyboard.press("Escape");
    await made.waitFor({ state: "detached" });
    expect(await person.wrongs()).toEqual([]);
    expect(await person.wrongsOnPhone()).toEqual([]);
    await row.getByRole("button", { name: "Delete" }).click();
    await person.page.getByRole("alertdialog").getByRole("button", { name: "Delete" }).click();
    await person.page.getByRole("alertdialog").waitFor({ state: "detached" });
    await row.waitFor({ state: "detached" });
    expect((await t.call("GET", "/v1/agents", { token })).status).toBe(401);
  });
});

describe.skipIf(!hasBrowser)("the screen of providers", () => {
  test("a provider is made, shows its models, is renamed, and is deleted where no agent uses it", async () => {
    const secret = "sk-shown-nowhere-0123456789";
    const person = await signedIn("/providers");
    await person.press("New provider");
    const form = person.page.getByRole("dialog");
    await form.getByRole("button", { name: "Create" }).click();
    await eventually(async () => (await form.getByLabel("Name").getAttribute("aria-invalid")) === "true");
    await form.getByLabel("Name").fill(`${hostile}3`);
    await form.getByLabel("Kind").selectOption("openai");
    await form.getByLabel("Base URL").fill(h.model.url);
    await form.getByLabel("Vendor's key").fill(secret);
    expect(await person.wrongs()).toEqual([]);
    expect(await person.wrongsOnPhone()).toEqual([]);
    await form.getByRole("button", { name: "Create" }).click();
    await form.waitFor({ state: "detached" });
    await person.heading(`${hostile}3`).waitFor();
    await person.page.getByRole("link", { name: "Make one" }).click();
    const chosen = person.page.getByLabel("Provider").locator("option:checked");
    await eventually(async () => (await chosen.textContent()) === `${hostile}3`);
    await person.page.goBack();
    await person.page.getByRole("region", { name: "Models" }).getByRole("listitem").first().waitFor();
    expect(await person.page.content()).not.toContain(secret);
    expect(await person.wrongs()).toEqual([]);
    expect(await person.wrongsOnPhone()).toEqual([]);
    await person.page.getByLabel("Name").fill("Renamed");
    await person.press("Save");
    await person.heading("Renamed").waitFor();
    await person.press("Delete");
    await person.page.getByRole("alertdialog").getByRole("button", { name: "Delete" }).click();
    await person.heading("Providers").waitFor();
    expect((await t.parley.providers.list()).providers.some(({ name }) => name === "Renamed")).toBe(false);
    const used = (await t.parley.agents.get(agentId)).providerId as string;
    await person.open(`/providers/${used}`);
    await person.press("Delete");
    const dialog = person.page.getByRole("alertdialog");
    await dialog.getByRole("button", { name: "Delete" }).click();
    await dialog.getByRole("alert").waitFor();
    expect((await t.parley.providers.get(used)).id).toBe(used);
    expect(await person.wrongs()).toEqual([]);
  });
});

describe.skipIf(!hasBrowser)("the screen of memory", () => {
  test("memories are made, found, changed and deleted", async () => {
    const person = await signedIn(`/memory?agentId=${agentId}`);
    await person.sees("This agent remembers nothing yet.");
    const form = person.page.getByRole("dialog");
    for (const [text, userId] of [
      [hostile, "eve"],
      ["Ada likes tea.", ""],
    ] as const) {
      await person.press("New memory");
      await form.getByLabel("Text").fill(text);
      await form.getByLabel("User").fill(userId);
      await form.getByRole("button", { name: "Create" }).click();
      await form.waitFor({ state: "detached" });
    }
    const rows = person.page.getByRole("table", { name: "Memories, the newest first" }).locator("tbody tr");
    await eventually(async () => (await rows.count()) === 2);
    await rows.getByText(hostile).waitFor();
    expect(await person.wrongs()).toEqual([]);
    expect(await person.wrongsOnPhone()).toEqual([]);
    await person.page.getByLabel("Search").fill("tea");
    await person.hasAddress("search=tea");
    await eventually(async () => (await rows.count()) === 1);
    await rows.getByRole("button", { name: "Edit" }).click();
    await form.getByLabel("Text").fill("Ada likes coffee, not tea.");
    await form.getByRole("button", { name: "Save" }).click();
    await rows.getByText("coffee").waitFor();
    await rows.getByRole("button", { name: "Delete" }).click();
    await person.page.getByRole("alertdialog").getByRole("button", { name: "Delete" }).click();
    await person.sees("No memory matches.");
    expect((await t.parley.memories.list(agentId)).data.map(({ text }) => text)).toEqual([hostile]);
    expect(await person.wrongs()).toEqual([]);
  });
});

describe.skipIf(!hasBrowser)("the screen of skills", () => {
  test("a skill is written, its files are edited, and it is deleted", async () => {
    const person = await signedIn(`/skills?agentId=${agentId}`);
    await person.sees("This agent has no skill of its own yet.");
    await person.press("New skill");
    const form = person.page.getByRole("dialog");
    await form.getByLabel("SKILL.md").fill("no frontmatter");
    await form.getByRole("button", { name: "Create" }).click();
    await form.getByRole("alert").waitFor();
    expect(await person.wrongs()).toEqual([]);
    expect(await person.wrongsOnPhone()).toEqual([]);
    const skill = (body: string) => `---\nname: brewing\ndescription: ${JSON.stringify(hostile)}\n---\n${body}\n`;
    await form.getByLabel("SKILL.md").fill(skill("Boil water."));
    await form.getByRole("button", { name: "Create" }).click();
    await person.heading("brewing").waitFor();
    await person.sees(hostile);
    const content = person.page.getByLabel("Content");
    await eventually(async () => (await content.inputValue()) === skill("Boil water."));
    await content.fill(skill("Boil fresh water."));
    await person.press("Save");
    await person.sees("SKILL.md is saved.");
    const { data } = await t.parley.skills.list(agentId);
    const stored = await t.parley.skills.readFile(agentId, data[0]?.id as string, { path: "SKILL.md" });
    expect(new TextDecoder().decode(stored)).toBe(skill("Boil fresh water."));
    expect(await person.wrongs()).toEqual([]);
    expect(await person.wrongsOnPhone()).toEqual([]);
    await person.page.getByRole("link", { name: "Skills" }).first().click();
    const row = person.page.getByRole("table", { name: "Skills of the agent" }).locator("tbody tr");
    await row.getByText(hostile).waitFor();
    expect(await person.wrongsOnPhone()).toEqual([]);
    await row.getByRole("link", { name: "brewing" }).click();
    await person.press("Delete");
    await person.page.getByRole("alertdialog").getByRole("button", { name: "Delete" }).click();
    await person.sees("This agent has no skill of its own yet.");
    expect(person.faults).toEqual([]);
  });
});

describe.skipIf(!hasBrowser)("a provider that fails", () => {
  test("shows on the overview and in the list, with where it is asked, its key's end and who uses it", async () => {
    const made = await makeProvider(h, t, { name: "Broken vendor", apiKey: "sk-broken-98765" });
    const luckless = await makeAgent(h, t, { name: "Luckless", providerId: made.id });
    const body = { stream: false, message: userMessage("[[sim: fail=401]]") };
    for (const _ of [1, 2]) await t.call("POST", `/v1/agents/${luckless}/sessions`, { body });
    const person = await signedIn("");
    const failing = person.page.getByRole("table", { name: "Providers that failed turns of the last hour" });
    const row = failing.locator("tbody tr", { hasText: "Broken vendor" });
    await row.locator(".badge.bad", { hasText: "failing" }).waitFor();
    await row.locator('[data-name="Failed turns"]', { hasText: "2" }).waitFor();
    await row.getByRole("link", { name: /^401/ }).waitFor();
    expect(await person.wrongs()).toEqual([]);
    expect(await person.wrongsOnPhone()).toEqual([]);
    await row.getByRole("link", { name: "Broken vendor" }).click();
    await person.page.getByRole("region", { name: "Last failure" }).waitFor();
    await person.page.getByRole("link", { name: "Providers" }).first().click();
    const listed = person.page
      .getByRole("table", { name: "Model providers" })
      .locator("tr", { hasText: "Broken vendor" });
    await listed.getByText("8765").waitFor();
    await listed.getByText(h.model.url).waitFor();
    await listed.getByRole("link", { name: "Luckless" }).waitFor();
    await listed.locator(".badge.bad", { hasText: "failing" }).waitFor();
    await listed.getByRole("button", { name: "Test" }).click();
    await listed.getByRole("status").waitFor();
    expect(await person.wrongs()).toEqual([]);
    expect(await person.wrongsOnPhone()).toEqual([]);
  });
});
