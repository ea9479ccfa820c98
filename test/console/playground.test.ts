import { describe, expect, test } from "bun:test";
import { durationText } from "../../src/console/parts/moment.ts";
import { hasBrowser, useConsole } from "../harness/console-browser.ts";
import { eventually } from "../harness/harness.ts";
import { Player, played as script } from "../harness/player.ts";
import { makeAgent } from "../harness/seed.ts";
import { messagesOf } from "../harness/turns.ts";

const bench = await useConsole();
const { h, t } = bench;
const clientTool = { name: "where_am_i", description: "Where the user is", inputSchema: { type: "object" } };
const agentId = await makeAgent(h, t, {
  name: "Ada",
  tools: ["memory"],
  clientTools: [clientTool],
  approvalInChat: { default: "auto", overrides: [{ tool: clientTool.name, mcpConnectionId: null, mode: "full" }] },
} as never);
await t.parley.agents.update(agentId, { instructions: "Be brief." });

const open = (of: string = agentId) => Player.open(bench, of);

/** The approvals of the conversation, decided ones too, once there are so many: the page is told of a call while the turn's pause is being written. */
const waiting = (player: Player, count: number) =>
  eventually(async () => {
    const { approvals } = await t.parley.toolApprovals.list(agentId, player.sessionId);
    return approvals.length === count ? approvals : null;
  });

describe.skipIf(!hasBrowser)("the playground", () => {
  test("streams, stops, keeps what was said, and goes on", async () => {
    const player = await open();
    await player.send(script('text="one two three" hangAfterChunks=2'));
    await player.answers("one two");
    await player.visit.press("Stop");
    await player.settled();
    await player.send("and then?");
    await eventually(async () => (await player.roles()).length === 4);
    await player.settled();
    await player.shows(4);
    expect(await player.visit.wrongs()).toEqual([]);
  });

  test("survives a reload in the middle of an answer, and a closed tab", async () => {
    const player = await open();
    await player.send(script('text="one two three four" hangAfterChunks=2'));
    await player.answers("one two");
    await player.page.reload();
    await player.answers("one two");
    const address = player.page.url();
    const context = player.page.context();
    await player.page.close();
    const page = await context.newPage();
    await page.goto(address);
    await page.locator("article.assistant").getByText("one two").waitFor();
    await eventually(async () => (await page.getByRole("log").locator("article").count()) === 2);
    await page.getByRole("navigation").getByRole("link", { name: "Overview" }).click();
    await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
    await page.getByRole("navigation").getByRole("link", { name: "Playground" }).click();
    await page.locator("article.assistant").getByText("one two").waitFor();
    await page.getByRole("button", { name: "Stop" }).click();
    await page.getByRole("button", { name: "Regenerate" }).waitFor();
  });

  test("regenerates after a success and after a failure", async () => {
    const player = await open();
    await player.send(script('text="fine"'));
    await player.answers("fine");
    await player.settled();
    const before = h.model.requests().length;
    await player.visit.press("Regenerate");
    await eventually(() => h.model.requests().length > before);
    await player.settled();
    expect(await player.roles()).toEqual(["user", "assistant"]);
    expect(await player.visit.wrongs()).toEqual([]);
  });

  test("keeps a failed turn in its place after the next message and a reload, and runs it again", async () => {
    const player = await open();
    await player.send(script("fail=401"));
    const box = player.page.getByRole("region", { name: "Why it ended" });
    await player.page.getByRole("alert").and(player.page.locator(":has(.failure-box)")).waitFor();
    expect(await box.textContent()).not.toContain("{");
    await player.send(script('text="fine"'));
    await player.answers("fine");
    await player.settled();
    /** What the conversation shows, one after the other. */
    const shown = () =>
      player.page
        .getByRole("log")
        .locator("article, .failure-box")
        .evaluateAll((all) => all.map(({ className }) => className));
    const places = ["message user", "failure-box", "message user", "message assistant"];
    await eventually(async () => Bun.deepEquals(await shown(), places));
    await player.page.reload();
    await player.answers("fine");
    await eventually(async () => Bun.deepEquals(await shown(), places));
    expect(await player.visit.wrongs()).toEqual([]);
    expect(await player.visit.wrongsOnPhone()).toEqual([]);
    const before = h.model.requests().length;
    await player.visit.press("Run again");
    await eventually(() => h.model.requests().length > before);
    await eventually(async () => (await box.count()) === 2);
  });

  test("says in place that a request was refused, and sends it again", async () => {
    const player = await open();
    await t.parley.agents.disable(agentId);
    try {
      await player.send("hello");
      await player.visit.button("Try again").waitFor();
    } finally {
      await t.parley.agents.enable(agentId);
    }
    await player.visit.press("Try again");
    // The refused one can be regenerated too, so that is no sign of an end.
    await player.page.locator("article.assistant").waitFor();
    await player.settled();
    expect(await player.roles()).toEqual(["user", "assistant"]);
  });

  test("decides approvals in place, also after a reload", async () => {
    for (const [button, answer] of [
      ["Approve", "Noted."],
      ["Deny", "Noted."],
    ] as const) {
      const player = await open();
      await player.send(script('text="First." tool=memory_save args={"text":"tea"} ; text="Noted."'));
      await player.visit.button(button).waitFor();
      await player.page.reload();
      await player.visit.button("Stop").waitFor();
      if (button === "Deny") await player.page.getByLabel("Reason").fill("no tea");
      await player.visit.press(button);
      await player.answers(answer);
      await player.settled();
      await player.shows(2);
      const stored = JSON.stringify(await messagesOf(t, agentId, player.sessionId));
      expect(stored.includes("no tea")).toBe(button === "Deny");
      expect(await player.visit.wrongs()).toEqual([]);
    }
  });

  test("stops a turn that waits, and is free for the next message", async () => {
    const player = await open();
    await player.send(script('text="First." tool=memory_save args={"text":"tea"} ; text="Noted."'));
    await player.visit.button("Approve").waitFor();
    await player.page.getByLabel("Message").fill("never mind");
    await eventually(() => player.visit.button("Send").isDisabled());
    await player.visit.press("Stop");
    await player.settled();
    await player.visit.button("Approve").waitFor({ state: "detached" });
    await player.visit.press("Send");
    await eventually(async () => (await player.roles()).length === 4);
  });

  test("does not count the wait for a person as the turn's time", async () => {
    const player = await open();
    await player.send(script('tool=memory_save args={"text":"tea"} ; text="Noted."'));
    await player.visit.button("Approve").waitFor();
    // Longer than the model and its tool take by far.
    await Bun.sleep(15_000);
    await player.visit.press("Approve");
    await player.answers("Noted.");
    await player.settled();
    const [turn] = (await t.parley.turns.list({ sessionId: player.sessionId })).data;
    if (turn === undefined) throw new Error("There is no turn.");
    expect(turn.waitedMs).toBeGreaterThan(10_000);
    const footer = player.page.locator(".last-turn");
    await footer.getByText(durationText(turn.runMs), { exact: true }).waitFor();
    await footer.getByText(`waited ${durationText(turn.waitedMs)} for people`).waitFor();
    const passed = Date.parse(turn.firstTextAt ?? "") - Date.parse(turn.acceptedAt);
    await footer.getByText(`first text after ${durationText(passed - turn.waitedMs)}`).waitFor();
    expect(await player.visit.wrongs()).toEqual([]);
  });

  test("shows what was decided elsewhere", async () => {
    const player = await open();
    await player.send(script('tool=memory_save args={"text":"tea"} ; text="Noted."'));
    await player.visit.button("Approve").waitFor();
    const approvals = await waiting(player, 1);
    await t.parley.toolApprovals.decide(agentId, player.sessionId, approvals[0]!.id, { approved: true } as never);
    await player.answers("Noted.");
    await player.settled();
  });

  test("gives a client tool its result, as JSON where it is JSON", async () => {
    const player = await open();
    await player.send(script('tool=where_am_i args={} ; text="Thank you."'));
    await player.page.getByLabel("Result").fill('{"city":"Lisbon"}');
    await player.visit.press("Send result");
    await player.answers("Thank you.");
    await player.settled();
    const [, answer] = await messagesOf(t, agentId, player.sessionId);
    const call = answer.parts.find((part: { toolCallId?: string }) => part.toolCallId !== undefined);
    expect(call.output).toEqual({ city: "Lisbon" });
  });

  test("keeps what is typed while a call waits, looks seldom whether it was decided elsewhere, and sees it", async () => {
    const player = await open();
    await player.send(script('tool=where_am_i args={} ; text="Thank you."'));
    await player.page.getByLabel("Result").waitFor();
    for (const reload of [false, true]) {
      if (reload) await player.page.reload();
      await player.page.getByLabel("Result").fill("in Lisbon");
      await player.looksSeldom();
      expect(await player.page.getByLabel("Result").inputValue()).toBe("in Lisbon");
    }
    const other = await player.page.context().newPage();
    await other.goto(player.page.url());
    await other.getByLabel("Result").waitFor();
    await player.visit.press("Send result");
    await player.answers("Thank you.");
    await other.locator("article.assistant").getByText("Thank you.").waitFor();
    await player.settled();
    const [, answer] = await messagesOf(t, agentId, player.sessionId);
    expect(JSON.stringify(answer.parts)).toContain("in Lisbon");
    expect(await player.visit.wrongs()).toEqual([]);
  });

  test("keeps the reason that is typed for the second of two approvals", async () => {
    const player = await open();
    const save = 'tool=memory_save args={"text":"tea"}';
    await player.send(script(`${save} ; ${save} ; text="Noted."`));
    await player.visit.button("Approve").waitFor();
    await player.page.reload();
    await player.visit.press("Approve");
    await waiting(player, 2);
    await player.page.getByLabel("Reason").fill("no more tea");
    await player.looksSeldom();
    await player.visit.press("Deny");
    await player.answers("Noted.");
    await player.settled();
    expect(JSON.stringify(await messagesOf(t, agentId, player.sessionId))).toContain("no more tea");
  });

  for (const reload of [false, true])
    test(`keeps what is typed for other calls when one of the message is decided elsewhere${reload ? ", after a reload" : ""}`, async () => {
      const player = await open();
      const save = 'tool=memory_save args={"text":"tea"}';
      await player.send(script(`${save} ${save} tool=where_am_i args={} ; text="Thank you."`));
      await eventually(async () => (await player.visit.button("Approve").count()) === 2);
      if (reload) await player.page.reload();
      await player.page.getByLabel("Result").fill("in Lisbon");
      await player.page.getByLabel("Reason").last().fill("one is enough");
      const approvals = await waiting(player, 2);
      await t.parley.toolApprovals.decide(agentId, player.sessionId, approvals[0]?.id ?? "", { approved: true });
      await eventually(async () => (await player.visit.button("Approve").count()) === 1);
      await player.looksSeldom();
      expect(await player.page.getByLabel("Result").inputValue()).toBe("in Lisbon");
      expect(await player.page.getByLabel("Reason").inputValue()).toBe("one is enough");
      expect(await player.page.locator(":focus").getAttribute("aria-label")).toBe("Reason");
      await player.visit.press("Deny");
      await player.visit.press("Send result");
      await player.answers("Thank you.");
      await player.settled();
      const said = JSON.stringify(await messagesOf(t, agentId, player.sessionId));
      for (const typed of ["in Lisbon", "one is enough"]) expect(said).toContain(typed);
    });

  test("what was said here to one call stays when another one is decided elsewhere, and both go on", async () => {
    const player = await open();
    const save = (text: string) => `tool=memory_save args={"text":"${text}"}`;
    await player.send(script(`${save("tea")} ${save("milk")} ; text="Noted."`));
    await eventually(async () => (await player.visit.button("Approve").count()) === 2);
    await player.page.getByLabel("Reason").first().fill("no tea");
    await player.visit.button("Deny").first().click();
    await eventually(async () => (await player.visit.button("Approve").count()) === 1);
    const approvals = await waiting(player, 2);
    const milk = approvals.find(({ input }) => JSON.stringify(input).includes("milk"));
    await t.parley.toolApprovals.decide(agentId, player.sessionId, milk?.id ?? "", { approved: true });
    await player.answers("Noted.");
    await player.settled();
    expect(JSON.stringify(await messagesOf(t, agentId, player.sessionId))).toContain("no tea");
    expect(await player.visit.wrongs()).toEqual([]);
  });

  test("forks from a message, and keeps the session that it came from", async () => {
    const player = await open();
    await player.send(script('text="one"'));
    await player.settled();
    await player.send(script('text="two"'));
    await player.answers("two");
    await player.settled();
    const source = player.sessionId;
    await player.visit.button("Fork from here").nth(1).click();
    await eventually(() => player.sessionId !== source);
    await player.shows(2);
    await player.settled();
    await player.send("and now?");
    await eventually(async () => (await player.roles()).length === 4);
    expect(await messagesOf(t, agentId, source)).toHaveLength(4);
    await player.page.goBack();
    await player.answers("two");
    expect(player.sessionId).toBe(source);
  });

  test("sends pictures", async () => {
    const player = await open();
    const png = Buffer.from(
      "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
      "base64",
    );
    await player.page
      .locator("input[type=file]")
      .setInputFiles({ name: "dot.png", mimeType: "image/png", buffer: png });
    await player.page.getByRole("img", { name: "dot.png" }).waitFor();
    await player.send(script('text="A dot."'));
    await player.answers("A dot.");
    await player.page
      .getByRole("log")
      .getByRole("img", { name: /dot\.png/ })
      .waitFor();
    await player.settled();
    const [question] = await messagesOf(t, agentId, player.sessionId);
    expect(question.parts.map(({ type }: { type: string }) => type).sort()).toEqual(["file", "text"]);
    expect(await player.visit.wrongs()).toEqual([]);
  });

  test("asks two versions the same question side by side, and both survive a reload", async () => {
    const player = await open();
    await player.visit.press("Compare");
    const logs = player.page.getByRole("log", { name: "Conversation" });
    await eventually(async () => (await logs.count()) === 2);
    expect(new URL(player.page.url()).searchParams.get("version2")).toBe("1");
    await player.send(script('text="same"'));
    for (const log of await logs.all()) await log.locator("article.assistant").getByText("same").waitFor();
    await player.settled();
    const { searchParams } = new URL(player.page.url());
    const [first, second] = [searchParams.get("session"), searchParams.get("session2")];
    expect(first).not.toBe(second);
    expect(await t.parley.sessions.get(agentId, second as string)).toMatchObject({ agentVersion: 1 });
    expect(await t.parley.sessions.get(agentId, first as string)).not.toMatchObject({ agentVersion: 1 });
    const differs = player.page.getByRole("region", { name: "What differs" });
    await differs.getByText("Both answers are the same.").waitFor();
    await player.page.reload();
    for (const log of await logs.all()) await log.locator("article.assistant").getByText("same").waitFor();
    expect(await player.visit.wrongs()).toEqual([]);
  });

  test("what models, tools and names say is text", async () => {
    const hostile = '<img src=x onerror="alert(1)"><script>alert(2)</script>';
    const name = `${hostile} name`.slice(0, 100);
    const hostileAgent = await makeAgent(h, t, { name, tools: ["memory"] });
    const player = await open(hostileAgent);
    const said = `${hostile} ![x](https://evil.example/x.png) [a](javascript:alert(3)) [b](https://ok.example/)`;
    await player.send(script(`text=${JSON.stringify(said)}`));
    await player.answers("<script>alert(2)</script>");
    await player.settled();
    const links = await player.page
      .getByRole("log")
      .locator("article.assistant a")
      .evaluateAll((all) => all.map((link) => (link as unknown as { href: string }).href));
    expect(links).toEqual(["https://evil.example/x.png", "https://ok.example/"]);
    expect(await player.page.locator("article.assistant img").count()).toBe(0);
    await player.visit.open(`/sessions/${hostileAgent}/${player.sessionId}`);
    await player.answers("<script>alert(2)</script>");
    await player.visit.open("/sessions");
    await player.visit.sees("name");
    expect(await player.visit.wrongs()).toEqual([]);
  });
});
