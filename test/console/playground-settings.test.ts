import { describe, expect, test } from "bun:test";
import type { Locator } from "playwright-core";
import { hasBrowser, useConsole } from "../harness/console-browser.ts";
import { eventually } from "../harness/harness.ts";
import { Player, played as script } from "../harness/player.ts";
import { makeAgent } from "../harness/seed.ts";

const bench = await useConsole();
const { h, t } = bench;
const agentId = await makeAgent(h, t, { name: "Ada" });
const open = (of: string = agentId) => Player.open(bench, of);

describe.skipIf(!hasBrowser)("the playground's workbench", () => {
  test("tries changed settings in a new conversation, and saves them as the next version", async () => {
    const tried = await makeAgent(h, t, { name: "Tried", instructions: "Be kind." });
    const player = await open(tried);
    const { page, visit } = player;
    await eventually(async () => (await page.locator(":focus").getAttribute("aria-label")) === "Message");
    await visit.sees("Those of version 1.");
    expect(await visit.button("Save as next version").isDisabled()).toBe(true);
    await player.send(script('text="one"'));
    await player.answers("one");
    await player.settled();
    const before = player.sessionId;
    await page.getByLabel("Instructions").fill("Be brief.");
    await visit.sees("Changed, not saved");
    await visit.press("Regenerate");
    await visit.sees("This conversation runs on draft 1.");
    await eventually(() => player.sessionId !== before && player.sessionId !== "");
    await player.answers("one");
    await player.settled();
    const session = await t.parley.sessions.get(tried, player.sessionId);
    const draft = await t.parley.agents.getVersion(tried, String(session.agentVersion));
    expect([draft.instructions, draft.version > 1_000_000_000]).toEqual(["Be brief.", true]);
    expect(await t.parley.agents.get(tried)).toMatchObject({ version: 1, instructions: "Be kind." });
    expect(await visit.wrongs()).toEqual([]);
    await page.reload();
    await player.answers("one");
    await visit.sees("This conversation runs on draft 1.");
    await eventually(async () => (await page.getByLabel("Instructions").inputValue()) === "Be brief.");
    expect(await visit.wrongsOnPhone()).toEqual([]);
    await page.getByLabel("Why (optional)").fill("Shorter");
    await visit.press("Save as next version");
    await visit.sees("Version 2 is saved.");
    const [saved] = (await t.parley.agents.listVersions(tried)).data;
    expect(saved).toMatchObject({ version: 2, instructions: "Be brief.", changeNote: "Shorter" });
  });

  test("leaves what is typed, and says at its field what is wrong with settings to try", async () => {
    const player = await open();
    await player.page.getByRole("combobox", { name: "Model" }).fill("");
    await player.send("hello");
    const model = player.page.getByRole("combobox", { name: "Model" });
    await eventually(async () => (await model.getAttribute("aria-invalid")) === "true");
    await eventually(async () => (await player.page.getByLabel("Message").inputValue()) === "hello");
    await player.visit.press("Discard changes");
    await player.visit.press("Send");
    await player.settled();
    expect(await player.roles()).toEqual(["user", "assistant"]);
  });

  test("begins a session with a user and metadata, and shows them while it goes on", async () => {
    const player = await open();
    const { page, visit } = player;
    await page.getByLabel("As user").fill("okafor");
    await page.getByText("Metadata", { exact: true }).click();
    await page.getByRole("textbox", { name: "Metadata" }).fill("{ no JSON");
    await page.getByLabel("Message").fill("hello");
    expect(await visit.button("Send").isDisabled()).toBe(true);
    await page.getByRole("textbox", { name: "Metadata" }).fill('{ "plan": "pro" }');
    await visit.press("Send");
    await player.settled();
    const session = await t.parley.sessions.get(agentId, player.sessionId);
    expect(session).toMatchObject({ userId: "okafor", metadata: { plan: "pro" } });
    for (const reload of [false, true]) {
      if (reload) await page.reload();
      await eventually(async () => (await page.getByLabel("As user").inputValue()) === "okafor");
      await eventually(async () => (await page.getByLabel("As user").getAttribute("readonly")) !== null);
    }
    await visit.press("New conversation");
    await eventually(async () => (await page.getByLabel("As user").getAttribute("readonly")) === null);
    expect(await visit.wrongs()).toEqual([]);
  });

  test("keeps questions of an agent, asks them, and runs them against two versions", async () => {
    const asked = await makeAgent(h, t, { name: "Asked", instructions: "Be kind." });
    await t.parley.agents.update(asked, { instructions: "Be brief." });
    const player = await open(asked);
    const { page, visit } = player;
    for (const question of [script('text="It is four."'), script('text="It is five."')]) {
      await page.getByLabel("Question to save").fill(question);
      await visit.press("Save question");
    }
    // With the agent, so that a colleague has them too, and keeps more while this page is open.
    const kept = async () => (await t.parley.agents.getSavedQuestions(asked)).questions;
    await eventually(async () => (await kept()).length === 2);
    await t.parley.agents.replaceSavedQuestions(asked, { questions: [...(await kept()), "And mine?"] });
    await page.getByRole("button", { name: /^Ask .*four/ }).click();
    await player.answers("It is four.");
    await player.settled();
    await page.reload();
    await page.getByRole("button", { name: /^Forget .*five/ }).click();
    await eventually(async () => (await kept()).length === 2);
    await page.getByRole("button", { name: "Forget And mine?" }).click();
    await eventually(async () => (await kept()).length === 1);
    await visit.press("Compare");
    const before = h.model.requests().length;
    await visit.press("Run all in both versions");
    const answers = page.getByRole("region", { name: /^Answers to/ });
    await answers.getByText("Both answers are the same.").waitFor();
    expect(await answers.count()).toBe(1);
    const told = JSON.stringify(h.model.requests().slice(before));
    expect([told.includes("Be kind."), told.includes("Be brief.")]).toEqual([true, true]);
    expect(await visit.wrongs()).toEqual([]);
    expect(await visit.wrongsOnPhone()).toEqual([]);
  });

  test("shows questions of any length within the column, and on a phone", async () => {
    const asked = await makeAgent(h, t, { name: "Asked at length" });
    const sentence =
      "A long question of a customer that wants to know where the parcel is and why it has not come yet.";
    const questions = [sentence, `First line.\n\n${sentence}\nLast line.`, `https://example.org/${"x".repeat(300)}`];
    await t.parley.agents.replaceSavedQuestions(asked, { questions });
    const { page, visit } = await open(asked);
    const workbench = page.getByRole("complementary", { name: "Workbench" });
    const excess = () => workbench.evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth);
    for (const comparing of ["", "&compare=1&version2=1"]) {
      await page.setViewportSize({ width: 1500, height: 900 });
      await visit.open(`/playground?agent=${asked}${comparing}`);
      await eventually(async () => (await page.getByRole("button", { name: /^Ask / }).count()) === 3);
      for (const width of [1500, 1280, 1100]) {
        await page.setViewportSize({ width, height: 900 });
        expect([width, await excess()]).toEqual([width, 0]);
        for (const name of [/^Ask A long/, /^Forget https/, "Save question"]) {
          const button = page.getByRole("button", { name });
          await button.scrollIntoViewIfNeeded();
          const { x = 0, width: wide = 0 } = (await button.boundingBox()) ?? {};
          const edge = await workbench.evaluate((element) => element.getBoundingClientRect().right);
          expect(x + wide).toBeLessThanOrEqual(edge);
        }
      }
      expect(await visit.wrongs()).toEqual([]);
      expect(await visit.wrongsOnPhone()).toEqual([]);
    }
  });

  test("says what is missing where there is no question to save", async () => {
    const asked = await makeAgent(h, t, { name: "Asked nothing" });
    const player = await open(asked);
    const { page, visit } = player;
    const kept = async () => (await t.parley.agents.getSavedQuestions(asked)).questions;
    await page.getByLabel("Message").fill("Not sent yet");
    await visit.press("Save question");
    const fault = page.getByRole("alert").getByText("Type a question: none was asked here yet.");
    await fault.waitFor();
    const bottomOf = async (what: Locator) => {
      const { y, height } = (await what.boundingBox()) ?? { y: 0, height: 0 };
      return y + height;
    };
    // In sight wherever its button is.
    expect(await bottomOf(fault)).toBeLessThan(await bottomOf(visit.button("Save question")));
    expect(await page.getByLabel("Question to save").getAttribute("aria-invalid")).toBe("true");
    expect(await visit.wrongs()).toEqual([]);
    await page.getByLabel("Question to save").fill("Where is it?");
    await fault.waitFor({ state: "detached" });
    await visit.press("Save question");
    await eventually(async () => (await kept()).length === 1);
    await visit.sees("Empty: the last one asked.");
    await player.send("And then?");
    await player.settled();
    await visit.press("Save question");
    await eventually(async () => (await kept()).includes("And then?"));
  });
});
