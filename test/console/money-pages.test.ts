import { describe, expect, test } from "bun:test";
import type { Budget } from "parley/client";
import { budgetOfForm, budgetText, formOfBudget, usedShare } from "../../src/console/budgets/budget-words.ts";
import { adviceOn } from "../../src/console/conversation/failure-advice.ts";
import { costSoFar, costText, dollarText, tokensSoFar } from "../../src/console/parts/money.ts";
import { pageOfId, placesOf } from "../../src/console/shell/palette-places.ts";
import { hasBrowser, useConsole } from "../harness/console-browser.ts";
import { eventually } from "../harness/harness.ts";
import { makeAgent, userMessage } from "../harness/seed.ts";

describe("money in words", () => {
  test("has cents from ten of them on, two figures below, and says what is not known", () => {
    expect(["1234.5", "0.9", "0.0123", "0.000001", "0"].map(dollarText)).toEqual([
      ...["$1,234.50", "$0.90", "$0.012", "< $0.00001", "$0"],
    ]);
    expect(costText({ costUsd: null, costIsComplete: false })).toBe("–");
    expect(costText({ costUsd: "2", costIsComplete: false })).toBe("≥ $2.00");
  });

  test("a budget is said in a line, and its form sends what it was", () => {
    const budget: Budget = {
      ...{ id: "bud_1", name: "B", agentId: null, userId: "eve", each: "user" as const, period: "hour" as const },
      ...{ limit: { tokens: 60_000 }, warnAtPercent: 80, enabled: true, createdAt: "", updatedAt: "" },
    };
    expect(budgetText(budget)).toBe("60,000 tokens an hour, each user");
    expect(budgetText({ ...budget, each: "tenant" })).toBe("60,000 tokens an hour, user eve");
    expect(budgetOfForm({ ...formOfBudget(budget), limit: "1,000" })).toMatchObject({
      ...{ userId: "eve", agentId: null, limit: { tokens: 1_000 }, warnAtPercent: 80 },
    });
    expect([usedShare("5", "10"), usedShare(20, 10), usedShare(0, 0)]).toEqual([0.5, 1, 1]);
  });

  test("of a turn that runs is not known before anything was counted", () => {
    const running = { costUsd: "0", costIsComplete: true, finishedAt: null, inputTokens: 0, outputTokens: 0 };
    expect([costSoFar(running), tokensSoFar(running)]).toEqual(["–", "–"]);
    expect(tokensSoFar({ ...running, finishedAt: "2026-01-01T00:00:00Z" })).toBe("0");
    expect(costSoFar({ ...running, costUsd: "0.5", outputTokens: 9 })).toBe("$0.50");
  });
});

describe("what to do about a failure", () => {
  const vendor = (fields: object) => ({ providerId: "prv_1", status: 400, code: null, message: "", ...fields });
  const advice = (fields: object) => adviceOn({ code: "provider_error", agentId: "ag_1", vendor: vendor(fields) });

  test("depends on what the vendor said", () => {
    expect(advice({ code: "context_length_exceeded" })?.text).toContain("longer than the model takes");
    expect(advice({ status: 401 })?.link?.to).toBe("/providers/prv_1");
    expect(advice({ status: 404 })?.link?.to).toBe("/agents/ag_1");
    expect(advice({ status: 429, code: "insufficient_quota" })?.text).toContain("no credit");
    expect(advice({ status: null })?.link?.to).toBe("/providers/prv_1");
    expect(advice({ status: 503 })?.text).toContain("the vendor's");
    expect(advice({})).toBeNull();
    expect(adviceOn({ code: "budget_exceeded", agentId: "ag_1", budgetId: "bud_1" })?.link?.to).toBe("/budgets/bud_1");
  });
});

describe("the palette", () => {
  test("leads to an id's page before all else, and to a user by any words", () => {
    expect(pageOfId("turn_0mwxuh1zwqu1bcc6xc5ct0bz")).toBe("/turns/turn_0mwxuh1zwqu1bcc6xc5ct0bz");
    expect(pageOfId("turn it")).toBeNull();
    const of = { screens: [], agents: [{ id: "ag_1", name: "Ada" }], found: [], isTenant: true, may: () => false };
    expect(placesOf("ada", of).map(({ to }) => to)).toEqual(["/agents/ag_1", "/users?id=ada", "/sessions?words=ada"]);
    const ofOperator = { ...of, isTenant: false, agents: [] };
    expect(placesOf("ada", ofOperator)).toEqual([]);
    expect(placesOf("dead", ofOperator).map(({ to }) => to)).toEqual(["/operator/dead-letters"]);
    expect(placesOf("ten_0mwyeij8gsq4", ofOperator)[0]?.to).toBe("/operator/tenants/ten_0mwyeij8gsq4");
  });
});

const { h, t, signedIn } = await useConsole();

describe.skipIf(!hasBrowser)("the screens of money and users", () => {
  test("a budget is made, shows what was used, and stops a user who is let go on again", async () => {
    const agentId = await makeAgent(h, t, { name: "Ada" });
    const say = (userId: string) =>
      t.call("POST", `/v1/agents/${agentId}/sessions`, {
        body: { stream: false, userId, message: userMessage('[[sim: text="Hello"]]') },
      });
    await say("eve");
    const person = await signedIn("/budgets");
    await person.press("New budget");
    await person.page.getByLabel("Name").fill("Turns of all");
    await person.page.getByLabel("At most").fill("many");
    await person.page.getByLabel("Of", { exact: true }).selectOption("turns");
    await person.press("Create");
    await person.page.getByRole("dialog").getByRole("alert").first().waitFor();
    await person.page.getByLabel("At most").fill("20");
    await person.press("Create");
    await person.sees("1 of 20 turns");
    await person.page.getByRole("link", { name: "Turns of all" }).click();
    await person.heading("Turns of all").waitFor();
    await person.sees("all together");
    expect(await person.wrongs()).toEqual([]);
    const mark = (text: string) => person.page.locator("header .badge", { hasText: text }).waitFor();
    await person.page.getByLabel("At most").fill("1");
    await person.press("Save");
    await mark("used up");
    await person.page.getByLabel("At most").fill("20");
    await person.press("Save");
    await mark("enabled");
    await person.go("Users");
    await person.page.getByRole("link", { name: "eve" }).click();
    await person.heading("eve").waitFor();
    await person.page.getByRole("link", { name: "New budget" }).click();
    expect(await person.page.getByLabel("Only turns of user").inputValue()).toBe("eve");
    await person.page.goBack();
    await person.heading("eve").waitFor();
    await person.press("Stop user");
    await person.page.getByRole("alertdialog").getByRole("button", { name: "Stop user" }).click();
    await person.button("Resume user").waitFor();
    await person.page.locator("header .badge", { hasText: "stopped" }).waitFor();
    expect((await say("eve")).status).toBe(429);
    await person.go("Users");
    await person.page.getByRole("row", { name: /eve/ }).getByText("stopped").waitFor();
    await person.page.getByRole("link", { name: "eve" }).click();
    await person.press("Resume user");
    await person.page.getByRole("alertdialog").getByRole("button", { name: "Resume user" }).click();
    await person.button("Stop user").waitFor();
    expect((await say("eve")).status).toBe(201);
    await t.parley.memories.create(agentId, { text: "Eve likes tea.", userId: "eve" });
    await t.parley.memories.create(agentId, { text: "Tea is at five." });
    await person.press("Forget user");
    await person.page.getByRole("alertdialog").getByRole("button", { name: "Forget user" }).click();
    await person.sees("2 sessions and 1 memory are erased.");
    expect((await t.parley.memories.list(agentId)).data.map(({ text }) => text)).toEqual(["Tea is at five."]);
    expect(await person.wrongs()).toEqual([]);
    expect(await person.wrongsOnPhone()).toEqual([]);
  });

  test("prices are saved as a whole, and what is wrong with one is said; prompts are kept", async () => {
    const person = await signedIn("/usage");
    // The simulated model has no price: it is named, with the way to where one is set.
    await person.page.getByText(/^“–” is a cost that is not known: there was no price for simulated/).waitFor();
    await person.sees("Nothing in these days has a price.");
    await person.page.getByRole("link", { name: "Set prices" }).first().click();
    await person.heading("Prices").waitFor();
    await person.page.getByRole("button", { name: /^simulated/ }).click();
    expect(await person.page.getByRole("combobox", { name: "Model" }).inputValue()).toStartWith("simulated");
    await person.page.getByRole("combobox", { name: "Model" }).fill("acme");
    await person.page.getByLabel("Input", { exact: true }).fill("-1");
    await person.page.getByLabel("Output").fill("10");
    await person.press("Save");
    const input = person.page.getByLabel("Input", { exact: true });
    await input.and(person.page.locator("[aria-invalid=true]")).waitFor();
    expect(await person.page.getByRole("alert").allTextContents()).toEqual([expect.not.stringMatching(/Usd/)]);
    await person.page.getByLabel("Input", { exact: true }).fill("2.5");
    await person.press("Save");
    await eventually(async () => (await t.parley.modelPrices.get()).prices.length === 1);
    await person.go("Prompts");
    await person.press("New prompt");
    await person.page.getByLabel("Name").fill("Greeting");
    await person.page.getByLabel("Text").fill("Greet {{name}}.");
    await person.press("Create");
    await person.page.getByRole("cell", { name: "name", exact: true }).waitFor();
    expect(await person.wrongs()).toEqual([]);
  });

  test("Ctrl+K leads to a screen by its name, with the keyboard alone", async () => {
    const person = await signedIn();
    await person.page.keyboard.press("Control+k");
    const field = person.page.getByRole("combobox", { name: "Go to" });
    await field.fill("budg");
    await person.page.getByRole("option", { name: /Budgets/ }).waitFor();
    expect(await person.wrongs()).toEqual([]);
    await person.page.keyboard.press("Enter");
    await person.heading("Budgets").waitFor();
    await field.waitFor({ state: "detached" });
  });
});
