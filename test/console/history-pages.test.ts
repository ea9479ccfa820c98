import { describe, expect, test } from "bun:test";
import { readFile } from "node:fs/promises";
import { hasBrowser, useConsole } from "../harness/console-browser.ts";
import { eventually } from "../harness/harness.ts";
import { makeAgent, userMessage } from "../harness/seed.ts";

const { h, t, signedIn } = await useConsole();
const hostile = `<img src=x onerror="alert(1)"><script>alert(2)</script>${"long".repeat(6)}`;
const locate = { name: "locate", description: "", inputSchema: { type: "object" as const } };
const agentId = await makeAgent(h, t, {
  name: hostile,
  tools: ["memory"],
  clientTools: [locate],
  approvalInChat: {
    default: "manual",
    overrides: [{ tool: "locate", mcpConnectionId: null, mode: "full" }],
  },
});

/** Begins a session by a script of the simulated model; waits for the turn's end, or until it waits for a person. */
async function say(settings: string, userId: string): Promise<{ sessionId: string; turnId: string }> {
  const body = { stream: false, message: userMessage(`[[sim: ${settings}]]`), userId };
  const response = await t.call("POST", `/v1/agents/${agentId}/sessions`, { body });
  const sessionId = response.headers.get("location")?.split("/").at(-1) as string;
  const { data } = await t.parley.turns.list({ sessionId });
  return { sessionId, turnId: data[0]?.id as string };
}

const saves = (...texts: readonly string[]) =>
  `${texts.map((text) => `tool=memory_save args=${JSON.stringify({ text })}`).join(" ")} ; text="Done."`;
const statusOf = async (turnId: string) => (await t.parley.turns.get(turnId)).status;

describe.skipIf(!hasBrowser)("the screens of turns", () => {
  test("the list has its filters in the address", async () => {
    await say('text="Hello"', hostile);
    const failed = await say("fail=401", "eve");
    const person = await signedIn("/turns");
    const rows = person.page.getByRole("table", { name: "Turns, the newest first" }).locator("tbody tr");
    await eventually(async () => (await rows.count()) >= 2);
    await rows.getByText(hostile).first().waitFor();
    expect(await person.wrongs()).toEqual([]);
    expect(await person.wrongsOnPhone()).toEqual([]);
    expect(await person.button("Cancel all").isDisabled()).toBe(true);
    await person.page.getByLabel("User").fill("eve");
    await person.hasAddress("userId=eve");
    await eventually(async () => (await rows.count()) === 1);
    await person.page.getByLabel("Status").selectOption("failed");
    await person.hasAddress("status=failed");
    await person.page.getByLabel("Time", { exact: true }).selectOption("hour");
    await person.page.reload();
    await rows.getByRole("link", { name: "[[sim: fail=401]]" }).waitFor();
    expect(await rows.count()).toBe(1);
    expect(await person.page.getByLabel("Status").inputValue()).toBe("failed");
    // What has ended cannot be canceled.
    expect(await person.button("Cancel all").isDisabled()).toBe(true);
    await person.page.getByLabel("Kind").selectOption("task");
    await person.sees("No turn matches.");
    await person.page.getByLabel("Kind").selectOption("");
    await person.page.getByLabel("Longest first").check();
    await person.hasAddress("order=longest");
    await person.page.getByRole("table", { name: "Turns, the longest first" }).waitFor();
    await person.page.getByLabel("Error").selectOption("provider_error");
    await person.page.getByRole("link", { name: "[[sim: fail=401]]" }).click();
    await person.hasAddress(`/turns/${failed.turnId}`);
    await person.sees("Attempts");
    const box = person.page.getByRole("region", { name: "Why it ended" });
    await box.getByText("status 401").first().waitFor();
    await box.getByRole("button", { name: "Run again" }).click();
    await eventually(() => !person.page.url().includes(failed.turnId));
    await box.getByRole("button", { name: "Run again" }).waitFor();
    expect(await person.button("Cancel").count()).toBe(0);
    expect(await person.wrongs()).toEqual([]);
  });

  test("a turn's page shows its steps with their calls, and cancels it after a question", async () => {
    const { turnId, sessionId } = await say(saves("tea"), hostile);
    expect(await statusOf(turnId)).toBe("waiting");
    const person = await signedIn(`/turns/${turnId}`);
    const steps = person.page.getByRole("list", { name: "Steps and their tool calls" });
    await steps.getByText("memory_save").first().waitFor();
    expect(await steps.getByRole("listitem").count()).toBeGreaterThanOrEqual(2);
    await person.page.getByRole("definition").filter({ hasText: hostile }).first().waitFor();
    expect(await person.wrongs()).toEqual([]);
    expect(await person.wrongsOnPhone()).toEqual([]);
    await person.press("Cancel");
    const dialog = person.page.getByRole("alertdialog");
    await dialog.getByRole("button", { name: "Back" }).click();
    await dialog.waitFor({ state: "detached" });
    expect(await statusOf(turnId)).toBe("waiting");
    await person.press("Cancel");
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await person.sees("canceled");
    await eventually(async () => (await statusOf(turnId)) === "canceled");
    await person.button("Cancel").waitFor({ state: "detached" });
    await person.page.getByRole("link", { name: "Open session" }).click();
    await person.hasAddress(`/sessions/${agentId}/${sessionId}`);
  });

  test("all turns that match are canceled after their number was shown, and no other", async () => {
    const mine = [await say(saves("one"), "crowd"), await say(saves("two"), "crowd")];
    const other = await say(saves("three"), "bystander");
    const person = await signedIn("/turns?userId=crowd");
    await person.press("Cancel all");
    const dialog = person.page.getByRole("dialog");
    await dialog.getByText(/^2 turns end now\./).waitFor();
    expect(await person.wrongs()).toEqual([]);
    await dialog.getByRole("button", { name: "Back" }).click();
    await dialog.waitFor({ state: "detached" });
    expect(await statusOf(mine[0]!.turnId)).toBe("waiting");
    await person.press("Cancel all");
    await dialog.getByText(/^2 turns end now\./).waitFor();
    await dialog.getByRole("button", { name: "Cancel all" }).click();
    await person.sees("2 turns are canceled.");
    for (const { turnId } of mine) await eventually(async () => (await statusOf(turnId)) === "canceled");
    expect(await statusOf(other.turnId)).toBe("waiting");
    await person.press("Cancel all");
    await dialog.getByText(/^No turn that matches/).waitFor();
    expect(await dialog.getByRole("button", { name: "Cancel all" }).isDisabled()).toBe(true);
    await t.parley.turns.cancel({ userId: "bystander" });
  });
});

describe.skipIf(!hasBrowser)("the screen of approvals", () => {
  test("keys lead from call to call and decide; a reason goes with the decision, and a result is sent", async () => {
    const asked = await say(saves("first", "second", hostile), "approver");
    const located = await say('tool=locate args={"precise":true} ; text="There."', "approver");
    const person = await signedIn("/approvals");
    const calls = person.page.getByRole("list", { name: "Calls that wait" }).locator("> li");
    await eventually(async () => (await calls.count()) === 4);
    await calls.nth(2).locator("pre, code", { hasText: "<script>alert(2)</script>" }).first().waitFor();
    expect(await person.wrongs()).toEqual([]);
    expect(await person.wrongsOnPhone()).toEqual([]);
    const focused = async () => {
      const states = await calls.evaluateAll((rows) => rows.map((row) => row.contains(document.activeElement)));
      return states.indexOf(true);
    };
    await eventually(async () => (await focused()) === 0);
    const { keyboard } = person.page;
    await keyboard.press("j");
    await eventually(async () => (await focused()) === 1);
    await keyboard.press("k");
    await eventually(async () => (await focused()) === 0);
    await keyboard.press("a");
    await person.sees("Press a once more to approve it.");
    expect(await calls.count()).toBe(4);
    // The second one has to come within 5 s, which a busy machine may miss; then it is the first of two again.
    await eventually(async () => {
      await keyboard.press("a");
      const approved = person.page.getByText("memory_save is approved.").first().waitFor({ timeout: 20_000 });
      return approved.then(
        () => true,
        () => false,
      );
    }, 60_000);
    await eventually(async () => (await calls.count()) === 3 && (await focused()) === 0);
    // In the field the keys are letters.
    await calls.first().getByLabel("Reason").pressSequentially("a bad idea");
    expect(await calls.count()).toBe(3);
    await keyboard.press("Tab");
    await keyboard.press("d");
    await eventually(async () => (await calls.count()) === 2);
    await calls.first().getByRole("button", { name: "Deny" }).click();
    await eventually(async () => (await calls.count()) === 1);
    await calls.first().getByLabel("Result").fill('{ "city": "Lisbon" }');
    await person.press("Send result");
    await person.sees("Nothing waits for a person.");
    expect(await person.wrongs()).toEqual([]);
    for (const { turnId } of [asked, located]) await eventually(async () => (await statusOf(turnId)) === "succeeded");
    const textOf = async (sessionId: string) =>
      JSON.stringify(await t.parley.sessions.listMessages(agentId, sessionId));
    expect(await textOf(asked.sessionId)).toContain("a bad idea");
    await person.open(`/sessions/${agentId}/${asked.sessionId}`);
    await person.press("Unfold tools");
    await person.page
      .getByText(/^Denied by .+, .+ Reason: a bad idea$/)
      .first()
      .waitFor();
    expect(await person.wrongs()).toEqual([]);
    expect(await textOf(located.sessionId)).toContain("Lisbon");
    const { data } = await t.parley.memories.list(agentId);
    expect(data.map(({ text }) => text)).toEqual(["first"]);
  });
});

describe.skipIf(!hasBrowser)("the calls that wait", () => {
  test("stand below what was asked and said, as commands and changes of files, and are chosen by agent and tool", async () => {
    const writer = await makeAgent(h, t, {
      ...{ name: "Writer", tools: ["workspace"] },
      approvalInChat: { default: "manual", overrides: [] },
    });
    const { workspaceId } = await t.parley.agents.get(writer);
    await t.parley.workspaces.writeFile(workspaceId ?? "", "one\ntwo\n", { path: "plan.txt" });
    const calls = [
      ["write", { path: "plan.txt", content: "one\n2\n" }],
      ["write", { path: "new.txt", content: "fresh" }],
      ["edit", { path: "plan.txt", oldText: "two", newText: "three" }],
      ["bash", { command: "ls -l\nrm plan.txt" }],
    ] as const;
    const script = calls.map(([tool, input]) => `tool=${tool} args=${JSON.stringify(input)}`).join(" ");
    const message = userMessage(`Mend the plan. [[sim: text="I change the plan." ${script} ; text="Done."]]`);
    await t.call("POST", `/v1/agents/${writer}/sessions`, { body: { stream: false, message } });
    const person = await signedIn("/approvals");
    const rows = person.page.getByRole("list", { name: "Calls that wait" }).locator("> li");
    await eventually(async () => (await rows.count()) === 4);
    const [written, made, edited, run] = [rows.nth(0), rows.nth(1), rows.nth(2), rows.nth(3)];
    await written.getByText(/^Mend the plan\./).waitFor();
    await written.getByText("I change the plan.", { exact: true }).waitFor();
    await written.locator("ins", { hasText: "2" }).waitFor();
    expect(await written.locator("ins, del").allTextContents()).toEqual(["two", "2"]);
    await made.getByText("write new.txt, a new file").waitFor();
    await edited.locator("ins", { hasText: "three" }).waitFor();
    expect(await edited.locator("ins, del").allTextContents()).toEqual(["two", "three"]);
    expect(await run.locator("pre").textContent()).toBe("ls -l\nrm plan.txt");
    const counted = person.page.locator("#navigation a", { hasText: "Approvals" }).locator(".count");
    await eventually(async () => (await counted.textContent()) === "4", 60_000);
    expect(await person.wrongs()).toEqual([]);
    expect(await person.wrongsOnPhone()).toEqual([]);
    await person.page.getByLabel("Tool").selectOption("bash");
    await person.hasAddress("tool=bash");
    await eventually(async () => (await rows.count()) === 1);
    await person.page.getByLabel("Tool").selectOption("edit");
    await rows.locator("del").waitFor();
    expect(await rows.count()).toBe(1);
    await t.parley.turns.cancel({ agentId: writer });
    await person.sees("No call matches.");
  });
});

describe.skipIf(!hasBrowser)("the screens of usage and audit", () => {
  test("usage has captions and tables beside its plots, and is downloaded as CSV", async () => {
    await say('text="Hello"', "=cmd()");
    const person = await signedIn("/usage");
    const figures = person.page.getByRole("figure");
    await eventually(async () => (await figures.count()) === 5);
    for (const caption of ["Cost by day", "Tokens in by day", "Tokens out by day", "Turns by day", "Tokens by agent"])
      await figures.locator("figcaption", { hasText: caption }).waitFor();
    for (const figure of await figures.all()) expect(await figure.locator("table").count()).toBe(1);
    expect(await figures.getByText("Day, by UTC", { exact: true }).count()).toBe(4);
    await person.page.getByRole("table", { name: "Usage by agent" }).getByText(hostile).waitFor();
    expect(await person.wrongs()).toEqual([]);
    expect(await person.wrongsOnPhone()).toEqual([]);
    await person.press("user");
    await person.hasAddress("by=user");
    await person.page.getByRole("table", { name: "Usage by user" }).getByText("=cmd()").waitFor();
    const [download] = await Promise.all([person.page.waitForEvent("download"), person.press("Download CSV")]);
    expect(download.suggestedFilename()).toMatch(/^usage-by-user-\d{4}-\d\d-\d\d-\d{4}-\d\d-\d\d\.csv$/);
    const lines = (await readFile(await download.path(), "utf8")).split("\r\n");
    expect(lines[0]).toBe("user,input_tokens,output_tokens,turns,duration_ms,cost_usd,cost_is_complete");
    expect(lines.some((line) => line.startsWith("'=cmd(),"))).toBe(true);
    await person.page.getByLabel("User").fill("nobody");
    await person.sees("Nothing was used in these days.");
    expect(await person.wrongs()).toEqual([]);
  });

  test("audit events are found by action, person, resource and day, and say what settings became", async () => {
    const before = await t.parley.agents.get(agentId);
    await t.parley.agents.update(agentId, { instructions: "Nobody reads this twice.", compactionReserveTokens: 7_000 });
    const person = await signedIn("/audit");
    const rows = person.page.getByRole("table", { name: /Audit events/ }).locator("tbody tr");
    await eventually(async () => (await rows.count()) >= 2);
    expect(await person.wrongs()).toEqual([]);
    expect(await person.wrongsOnPhone()).toEqual([]);
    await person.page.getByLabel("Action").selectOption("agent.update");
    await person.hasAddress("action=agent.update");
    await eventually(async () => (await rows.count()) === 1);
    await rows.getByText("instructions").waitFor();
    await rows.getByText(`compactionReserveTokens ${before.compactionReserveTokens} → 7000`).waitFor();
    expect(await rows.textContent()).not.toContain("twice");
    await person.page.getByLabel("Who").selectOption({ label: "test (API key)" });
    await person.hasAddress("actorId=ak_");
    await person.page.getByLabel("Time", { exact: true }).selectOption("Yesterday");
    await person.sees("No event matches.");
    await person.page.getByLabel("Time", { exact: true }).selectOption("Last hour");
    await rows.getByRole("link", { name: "test" }).waitFor();
    await rows.getByRole("link", { name: hostile }).click();
    await person.heading(hostile).waitFor();
    expect(person.faults).toEqual([]);
  });
});
