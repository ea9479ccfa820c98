import { afterAll, describe, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { openLink } from "../faults/link.ts";
import { hasBrowser, press, sendText, showsMessages } from "../harness/browser.ts";
import { type ClientPages, openClientPages } from "../harness/client-page.ts";
import { useAgent } from "../harness/fixture.ts";
import { eventually } from "../harness/harness.ts";
import { script as asksModel, messagesOf, sessionPath } from "../harness/turns.ts";

const agent = { tools: ["memory" as const], approvalInChat: { default: "manual" as const } };
const { h, t, agentId } = await useAgent({ worker: true, agent });
const pages = (hasBrowser ? await openClientPages({ h, t, agentId }, "page.tsx") : null) as ClientPages;
afterAll(() => pages?.[Symbol.asyncDispose]());

const script = (settings: string) => `[[sim: ${settings}]]`;
const settled = (page: Page) => page.getByRole("button", { name: "Regenerate" }).waitFor();
const sessionOf = (page: Page) => new URL(page.url()).hash.slice(1);

describe.skipIf(!hasBrowser)("the page of docs/browsers.md, on another origin than the service's", () => {
  test("streams, goes on in its session, and finds the answer again that runs while it is reloaded", async () => {
    const page = await pages.visit();
    await sendText(page, script('text="one"'));
    await showsMessages(page, script('text="one"'), "one");
    await settled(page);
    const question = script('text="two three four" hangAfterChunks=2');
    await sendText(page, question);
    await showsMessages(page, script('text="one"'), "one", question, "two three");
    await page.reload();
    await showsMessages(page, script('text="one"'), "one", question, "two three");
    await press(page, "Stop");
    await settled(page);
    await eventually(async () => {
      const { body } = await t.call("GET", sessionPath(agentId, sessionOf(page)));
      return body.userId === "anna" && !body.busy;
    });
    const stored = await messagesOf(t, agentId, sessionOf(page));
    expect(stored.map(({ role }: { role: string }) => role)).toEqual(["user", "assistant", "user", "assistant"]);
    expect(stored.at(-1).parts.at(-1).text).toBe("two three ");
  });

  test("makes an answer anew, and decides an approval in its place", async () => {
    const page = await pages.visit();
    const question = script('text="fine"');
    await sendText(page, question);
    await settled(page);
    await press(page, "Regenerate");
    await eventually(async () => (await h.sql`select 1 from turns where session_id = ${sessionOf(page)}`).length === 2);
    await settled(page);
    await showsMessages(page, question, "fine");
    await sendText(page, script('tool=memory_save args={"text":"tea"} ; text="Noted."'));
    await press(page, "Approve");
    await page.locator("article.assistant").getByText("Noted.").waitFor();
    const [approval] = await h.sql`select decided_by from approvals where session_id = ${sessionOf(page)}`;
    expect(approval?.decidedBy).toEqual({ type: "chat_user", id: "anna" });
  });

  test("goes on with the next token when its own has ended, within an answer too", async () => {
    const page = await pages.visit();
    const [first, second] = [script('text="1 2 3" hangAfterChunks=2'), script('text="after"')];
    await sendText(page, first);
    await showsMessages(page, first, "1 2");
    const { id, count } = pages.granted;
    expect((await t.call("DELETE", `/v1/client-tokens/${id}`)).status).toBe(204);
    await press(page, "Stop");
    await settled(page);
    await eventually(async () => (await messagesOf(t, agentId, sessionOf(page))).length === 2);
    expect(pages.granted.count).toBe(count + 1);
    await sendText(page, second);
    await showsMessages(page, first, "1 2", second, "after");
  });

  test("of an origin that the token does not name can do nothing", async () => {
    const before = (await h.sql`select 1 from turns`).length;
    const page = await pages.visit("strange");
    const refused: string[] = [];
    page.on("console", (message) => refused.push(message.text()));
    await sendText(page, script('text="never"'));
    await page.getByRole("alert").waitFor();
    await eventually(() => refused.some((text) => text.includes("blocked by CORS policy")));
    expect(await h.sql`select 1 from turns`).toHaveLength(before);
  });

  test("403 invalid_request, 404 not_found: an operation that no client token is good for, another user's session", async () => {
    const page = await pages.visit();
    const made = await t.call("POST", `/v1/agents/${agentId}/sessions`, {
      body: { message: { id: "m", role: "user", parts: [{ type: "text", text: "Hi" }] }, userId: "bea", stream: false },
    });
    const read = (path: string) =>
      page.evaluate(
        async ([address, token]) => {
          const headers = { Authorization: `Bearer ${token}`, "API-Form": "b", "X-Request-Id": "from-a-page" };
          const response = await fetch(address as string, { headers });
          return [response.status, (await response.json()).error?.code, response.headers.get("x-request-id")];
        },
        [`${pages.url}${path}`, pages.granted.token],
      );
    expect(await read("/v1/agents")).toEqual([403, "invalid_request", "from-a-page"]);
    expect(await read(made.headers.get("location") ?? "")).toEqual([404, "not_found", "from-a-page"]);
  });

  test("follows a session with the browser's own EventSource, which comes back after a broken connection", async () => {
    const page = await pages.visit();
    await using link = await openLink(pages.servicePort);
    // Whoever goes away leaves the turn running.
    const response = await h.app(
      new Request(`http://parley.test${sessionPath(agentId, null)}`, {
        method: "POST",
        headers: { authorization: `Bearer ${t.token}`, "content-type": "application/json" },
        body: JSON.stringify({ message: asksModel('text="one two three" hangAfterChunks=2'), userId: "anna" }),
      }),
    );
    await response.body?.cancel();
    const path = response.headers.get("location") ?? "";
    await page.evaluate(follow, `http://127.0.0.1:${link.port}${path}/stream?access_token=${pages.granted.token}`);
    const seen = () => page.evaluate(() => (window as unknown as { seen: string[] }).seen);
    const has = (type: string, count: number) =>
      eventually(async () => (await seen()).filter((text) => text.endsWith(type)).length === count);
    await has(" text-delta", 2);
    link.drop();
    await has("open", 2);
    expect((await t.call("POST", `${path}/cancel`, { body: { keep: "partial" } })).status).toBe(202);
    await has("[DONE]", 1);
    const chunks = (await seen()).filter((text) => text !== "open");
    expect(new Set(chunks).size).toBe(chunks.length);
    expect(chunks.slice(0, 2).map((text) => text.split(" ")[1])).toEqual(["start", "start-step"]);
    expect(chunks.filter((text) => text.endsWith(" text-delta"))).toHaveLength(2);
  });
});

/** Follows a stream within a page, and notes there what comes: each chunk by its event's id and its type. */
function follow(address: string): void {
  const seen: string[] = [];
  Object.assign(window, { seen });
  const source = new EventSource(address);
  source.onopen = () => seen.push("open");
  source.onmessage = ({ data, lastEventId }) => {
    seen.push(data === "[DONE]" ? data : `${lastEventId} ${JSON.parse(data).type}`);
    if (data === "[DONE]") source.close();
  };
}
