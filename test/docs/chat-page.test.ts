import { afterAll, describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { type Browser, chromium, type Page } from "playwright-core";
import { listen } from "../../src/kernel/runtime.ts";
import { useTenant } from "../harness/fixture.ts";
import { freePort } from "../harness/free-port.ts";
import { eventually } from "../harness/harness.ts";
import { heldMark, holdModel } from "../harness/held-model.ts";
import { startProcess } from "../harness/process.ts";
import { inRepository } from "../harness/repository.ts";
import { makeAgent, makeProvider } from "../harness/seed.ts";
import { idle, messagesOf } from "../harness/turns.ts";

/** Where Debian has it; .ci/run installs it. */
const executablePath = "/usr/bin/chromium";
const hasBrowser = existsSync(executablePath);
if (!hasBrowser) process.stderr.write(`The chat page is not tried: there is no ${executablePath}.\n`);

const { h, t } = await useTenant({ worker: true });
const service = listen({ hostname: "127.0.0.1", port: 0, fetch: h.app });
const held = holdModel(h.model);
const closing: (() => unknown)[] = [() => service.stop(true), () => held[Symbol.asyncDispose]()];
afterAll(async () => {
  for (const close of closing.reverse()) await close();
});

const provider = await makeProvider(h, t, { baseUrl: held.url });
const clientTool = { name: "where_am_i", description: "Where the user is", inputSchema: { type: "object" } };
const agentId = await makeAgent(h, t, {
  providerId: provider.id,
  tools: ["memory"],
  clientTools: [clientTool],
  approvalInChat: { default: "auto", overrides: [{ tool: clientTool.name, mcpConnectionId: null, mode: "full" }] },
} as never);

const { browser, origin } = hasBrowser ? await start() : { browser: null, origin: "" };

async function start(): Promise<{ browser: Browser; origin: string }> {
  const built = startProcess(
    process.execPath,
    [
      "build",
      inRepository("docs/chat-page/index.html"),
      "--outdir",
      inRepository("docs/chat-page/dist"),
      "--production",
    ],
    {},
  );
  expect(await built.ended()).toBe(0);
  const port = await freePort();
  const env = { PARLEY_URL: `http://127.0.0.1:${service.port}`, PARLEY_API_KEY: t.token, AGENT_ID: agentId };
  const server = startProcess(process.execPath, ["docs/chat-page/server.ts"], { ...env, CHAT_PORT: String(port) });
  closing.push(() => server.kill());
  const origin = `http://127.0.0.1:${port}`;
  await eventually(() =>
    fetch(origin).then(
      ({ ok }) => ok,
      () => false,
    ),
  );
  // Root may start it only without its own sandbox.
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
  closing.push(() => browser.close());
  return { browser, origin };
}

/** The page with what a person does on it. */
class Visit {
  readonly page: Page;

  constructor(page: Page) {
    this.page = page;
  }

  static async open(): Promise<Visit> {
    const page = await (browser as Browser).newPage();
    closing.push(() => page.close().catch(() => {}));
    await page.goto(origin);
    return new Visit(page);
  }

  get sessionId(): string {
    return new URL(this.page.url()).hash.slice(1);
  }

  async send(text: string): Promise<void> {
    await this.page.getByLabel("Message").fill(text);
    await this.page.getByRole("button", { name: "Send", exact: true }).click();
  }

  press(name: string): Promise<void> {
    return this.page.getByRole("button", { name, exact: true }).click();
  }

  /** Waits until an answer says this. */
  sees(text: string): Promise<void> {
    return this.page.locator("article.assistant").getByText(text).last().waitFor();
  }

  /** Has the last answer made anew, to its end: the button is there until the page has begun to ask. */
  async regenerate(): Promise<void> {
    const before = h.model.requests().length;
    await this.press("Regenerate");
    await eventually(() => h.model.requests().length > before);
    await this.settled();
    await this.ended();
  }

  /** Waits until no turn of the session runs. */
  ended(): Promise<void> {
    return idle(h, this.sessionId);
  }

  /** Waits until the answer is over: then the page offers to make it anew. */
  settled(): Promise<void> {
    return this.page.getByRole("button", { name: "Regenerate" }).waitFor();
  }

  reload(): Promise<unknown> {
    return this.page.reload();
  }

  /** What stands on the page, message by message. */
  shown(): Promise<string[]> {
    return this.page.locator("article").allInnerTexts();
  }

  /** Waits until this stands on the page, message by message. */
  async shows(...messages: string[]): Promise<void> {
    let shown: string[] = [];
    await eventually(async () => {
      shown = await this.shown();
      return JSON.stringify(shown) === JSON.stringify(messages);
    }).catch(() => expect(shown).toEqual(messages));
  }
}

const script = (settings: string) => `[[sim: ${settings}]]`;
const rolesOf = async (visit: Visit) =>
  (await messagesOf(t, agentId, visit.sessionId)).map(({ role }: { role: string }) => role);

describe.skipIf(!hasBrowser)("docs/chat-page in a browser", () => {
  test("streams an answer, and the next one in the same session", async () => {
    const visit = await Visit.open();
    await visit.send(script('text="one two" hangAfterChunks=1'));
    await visit.sees("one");
    await visit.press("Stop");
    await visit.settled();
    await visit.send(script('text="three"'));
    await visit.sees("three");
    await visit.settled();
    expect(await rolesOf(visit)).toEqual(["user", "assistant", "user", "assistant"]);
  });

  test("a reload in the middle of an answer shows what was there, and what comes", async () => {
    const visit = await Visit.open();
    const question = script('text="one two three four" hangAfterChunks=2');
    await visit.send(question);
    await visit.shows(question, "one two ");
    await visit.reload();
    await visit.shows(question, "one two ");
    await visit.press("Stop");
    await visit.settled();
    // A page that is loaded just while a turn ends reads its messages before and joins after that.
    await visit.ended();
    await visit.reload();
    await visit.shows(question, "one two ");
  });

  test("stop keeps what was said, also after a reload, and the session goes on", async () => {
    const visit = await Visit.open();
    const question = script('text="one two three" hangAfterChunks=2');
    await visit.send(question);
    await visit.sees("one two");
    await visit.press("Stop");
    await visit.settled();
    await visit.send("and then?");
    await eventually(async () => (await rolesOf(visit)).length === 4);
    await visit.settled();
    const [, stopped] = await messagesOf(t, agentId, visit.sessionId);
    expect(stopped.parts.at(-1)).toMatchObject({ type: "text", text: "one two ", state: "done" });
    const shown = await visit.shown();
    expect(shown.slice(0, 3)).toEqual([question, "one two ", "and then?"]);
    await visit.reload();
    await visit.shows(...shown);
  });

  test("regenerate makes an answer anew: after a success, after a failure, and after a reload", async () => {
    const visit = await Visit.open();
    const good = script('text="fine"');
    await visit.send(good);
    await visit.shows(good, "fine");
    await visit.settled();
    await visit.regenerate();
    await visit.shows(good, "fine");
    await visit.reload();
    await visit.settled();
    await visit.regenerate();
    await visit.shows(good, "fine");
    expect(await rolesOf(visit)).toEqual(["user", "assistant"]);
    const bad = script("fail=401");
    await visit.send(bad);
    await visit.page.getByRole("alert").waitFor();
    await visit.ended();
    expect(await rolesOf(visit)).toEqual(["user", "assistant"]);
    await visit.regenerate();
    await visit.page.getByRole("alert").waitFor();
    // What was said and failed is nowhere but on the page.
    await visit.reload();
    await visit.shows(good, "fine");
    await visit.regenerate();
    await visit.shows(good, "fine");
    expect(await rolesOf(visit)).toEqual(["user", "assistant"]);
  });

  test("a message that is sent while an answer runs waits for its end, and is there after a reload", async () => {
    const visit = await Visit.open();
    const [first, second] = [`${heldMark} ${script('text="one"')}`, script('text="two"')];
    await visit.send(first);
    await eventually(() => visit.sessionId !== "");
    await visit.send(second);
    await eventually(async () => {
      const { body } = await t.call("GET", `/v1/agents/${agentId}/sessions/${visit.sessionId}`);
      return body.queuedTurns === 1;
    });
    const other = await Visit.open();
    await other.page.goto(visit.page.url());
    await other.reload();
    await eventually(
      async () => (await other.shown()).filter((text) => text === first || text === second).length === 2,
    );
    held.release();
    await visit.shows(first, "one", second, "two");
    // A reader has the last word a moment before it is stored.
    await eventually(async () => (await rolesOf(visit)).length === 4);
    expect(await rolesOf(visit)).toEqual(["user", "assistant", "user", "assistant"]);
  });

  test("an approval goes on in the same message, also when the page was reloaded while it waited", async () => {
    for (const reloads of [false, true]) {
      const visit = await Visit.open();
      await visit.send(script('text="First." tool=memory_save args={"text":"tea"} ; text="Noted."'));
      await visit.page.getByRole("button", { name: "Approve" }).waitFor();
      if (reloads) await visit.reload();
      await visit.press("Approve");
      await visit.sees("Noted.");
      await visit.settled();
      const [, answer] = await messagesOf(t, agentId, visit.sessionId);
      expect(answer.parts.at(-1).text).toBe("Noted.");
      expect(await visit.shown()).toHaveLength(2);
      expect((await visit.shown())[1]).toContain("First.");
    }
  });

  test("a question that is sent while an approval waits is answered behind it, and the decision arrives", async () => {
    for (const press of ["Approve", "Deny"] as const) {
      const visit = await Visit.open();
      await visit.send(script('text="First." tool=memory_save args={"text":"tea"} ; text="Noted."'));
      await visit.page.getByRole("button", { name: "Approve" }).waitFor();
      await visit.send(script('text="Second."'));
      // It is refused, and not lost.
      await visit.page.getByRole("alert").waitFor();
      await visit.press(press);
      await visit.sees("Second.");
      await visit.settled();
      await eventually(async () => (await rolesOf(visit)).length === 4);
      const [, first, , second] = await messagesOf(t, agentId, visit.sessionId);
      expect([first.parts.at(-1).text, second.parts.at(-1).text]).toEqual(["Noted.", "Second."]);
      const state = press === "Approve" ? "output-available" : "output-denied";
      expect(first.parts.find(({ type }: { type: string }) => type === "tool-memory_save").state).toBe(state);
      expect(await visit.shown()).toHaveLength(4);
      expect(await visit.page.getByRole("alert").count()).toBe(0);
    }
  });

  test("an answer that ends between the reading of its messages and the join is there", async () => {
    const visit = await Visit.open();
    const question = script('text="one two" delayMs=1 hangAfterChunks=1');
    await visit.send(question);
    await visit.sees("one");
    const joins = Promise.withResolvers<void>();
    await visit.page.route("**/stream", async (route) => {
      joins.resolve();
      await visit.ended();
      await route.continue();
    });
    await visit.reload();
    await joins.promise;
    const { sessionId } = visit;
    const path = `/v1/agents/${agentId}/sessions/${sessionId}/cancel`;
    expect((await t.call("POST", path, { body: { keep: "partial" } })).status).toBe(202);
    await visit.shows(question, "one ");
  });

  test("a reload within a continuation shows the whole message", async () => {
    const visit = await Visit.open();
    await visit.send(
      script('text="First." tool=memory_save args={"text":"tea"} ; text="one two three" hangAfterChunks=2'),
    );
    await visit.press("Approve");
    await visit.sees("one two");
    const before = await visit.shown();
    await visit.reload();
    await visit.sees("one two");
    await visit.shows(...before);
    await visit.press("Stop");
    await visit.settled();
  });

  test("a client tool waits for its result, also when the page was reloaded, and a denial is told", async () => {
    for (const reloads of [false, true]) {
      const visit = await Visit.open();
      await visit.send(script('tool=where_am_i args={} ; text="Thank you."'));
      await visit.page.getByLabel("Result").waitFor();
      if (reloads) await visit.reload();
      await visit.page.getByLabel("Result").fill("Lisbon");
      await visit.press("Send result");
      await visit.sees("Thank you.");
      await visit.settled();
      const [, answer] = await messagesOf(t, agentId, visit.sessionId);
      expect(JSON.stringify(answer.parts)).toContain("Lisbon");
    }
    const visit = await Visit.open();
    await visit.send(script('tool=memory_save args={"text":"tea"} ; text="As you wish."'));
    await visit.press("Deny");
    await visit.sees("As you wish.");
    await visit.sees("output-denied");
  });
});
