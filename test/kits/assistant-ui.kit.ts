/**
 * A page of `@assistant-ui/react` against this service, with a client token and the transport
 * of docs/browsers.md: the page is that document's, bundled and opened in Chromium.
 * `npm run test:kits` fetches the packages and runs this.
 */
import { afterAll, describe, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { hasBrowser, press, sendText, showsMessages } from "../harness/browser.ts";
import { type ClientPages, openClientPages } from "../harness/client-page.ts";
import { useAgent } from "../harness/fixture.ts";
import { eventually } from "../harness/harness.ts";
import { messagesOf } from "../harness/turns.ts";
import { fetchPackages } from "./fetch-kit.ts";

const packages = {
  dependencies: {
    "@ai-sdk/react": "4.0.177",
    "@assistant-ui/react": "0.15.21",
    "@assistant-ui/react-ai-sdk": "1.4.12",
    ai: "7.0.173",
    react: "19.3.1",
    "react-dom": "19.3.1",
  },
  // The version that these were released with; later ones ask for a newer store.
  overrides: { "@assistant-ui/core": "0.3.20" },
};

const agent = { tools: ["memory" as const], approvalInChat: { default: "manual" as const } };
const { h, t, agentId } = await useAgent({ worker: true, agent });
const modules = hasBrowser ? await fetchPackages("assistant-ui", packages) : undefined;
const pages = (hasBrowser ? await openClientPages({ h, t, agentId }, "thread.tsx", modules) : null) as ClientPages;
afterAll(() => pages?.[Symbol.asyncDispose]());

const script = (settings: string) => `[[sim: ${settings}]]`;
const sessionOf = (page: Page) => new URL(page.url()).hash.slice(1);
const storedOf = async (page: Page) => messagesOf(t, agentId, sessionOf(page));
const isIdle = (page: Page) =>
  eventually(async () => {
    const { body } = await t.call("GET", `/v1/agents/${agentId}/sessions/${sessionOf(page)}`);
    return body.busy === false;
  });

describe.skipIf(!hasBrowser)("a page of @assistant-ui/react", () => {
  test("streams an answer and the next one, and shows both after a reload", async () => {
    const page = await pages.visit();
    const [first, second] = [script('text="one two"'), script('text="three"')];
    await sendText(page, first);
    await showsMessages(page, first, "one two");
    await isIdle(page);
    await sendText(page, second);
    await showsMessages(page, first, "one two", second, "three");
    await page.reload();
    await showsMessages(page, first, "one two", second, "three");
    expect((await storedOf(page)).map(({ role }: { role: string }) => role)).toEqual([
      "user",
      "assistant",
      "user",
      "assistant",
    ]);
  });

  test("joins the answer that runs after a reload, and stops it, which keeps what it said", async () => {
    const page = await pages.visit();
    const question = script('text="1 2 3" hangAfterChunks=2');
    const answer = () => page.locator("article").last().getByText(/^1 2/).waitFor();
    await sendText(page, question);
    await answer();
    await page.reload();
    await answer();
    await press(page, "Stop");
    await isIdle(page);
    expect((await storedOf(page)).at(-1).parts.at(-1).text).toBe("1 2 ");
  });

  test("makes an answer anew", async () => {
    const page = await pages.visit();
    const question = script('text="fine"');
    await sendText(page, question);
    await showsMessages(page, question, "fine");
    await isIdle(page);
    await page.getByRole("button", { name: "Regenerate" }).last().click();
    await eventually(async () => (await h.sql`select 1 from turns where session_id = ${sessionOf(page)}`).length === 2);
    await isIdle(page);
    await showsMessages(page, question, "fine");
    expect(await storedOf(page)).toHaveLength(2);
  });

  test("decides approvals, and goes on in the same message", async () => {
    for (const [name, said] of [
      ["Approve", "Noted."],
      ["Deny", "As you wish."],
    ] as const) {
      const page = await pages.visit();
      await sendText(page, script(`tool=memory_save args={"text":"tea"} ; text="${said}"`));
      await press(page, name);
      await page.locator("article").last().getByText(said).waitFor();
      await isIdle(page);
      expect(await storedOf(page)).toHaveLength(2);
      const [approval] = await h.sql`select status from approvals where session_id = ${sessionOf(page)}`;
      expect(approval?.status).toBe(name === "Approve" ? "approved" : "denied");
    }
  });
});
