import { describe, expect, test } from "bun:test";
import { hasBrowser, useConsole } from "../harness/console-browser.ts";
import { eventually } from "../harness/harness.ts";
import { makeAgent, userMessage } from "../harness/seed.ts";

const { h, t, signedIn } = await useConsole();
const agentId = await makeAgent(h, t, { name: "Ada", tools: ["memory"] });
const script = (settings: string) => userMessage(`[[sim: ${settings}]]`);

async function say(message: object, fields: object = {}): Promise<string> {
  const body = { stream: false, message, ...fields };
  const response = await t.call("POST", `/v1/agents/${agentId}/sessions`, { body });
  return response.headers.get("location")?.split("/").at(-1) as string;
}

describe.skipIf(!hasBrowser)("the screens of sessions", () => {
  test("the list has its filters in the address, and loads further pages by cursor", async () => {
    const users = Array.from({ length: 55 }, (_, count) => (count < 53 ? "ada" : "eve"));
    await Promise.all(users.map((userId, count) => say(script(`text="answer ${count}"`), { userId })));
    const person = await signedIn("/sessions");
    const rows = person.page.getByRole("table", { name: "Sessions" }).locator("tbody tr");
    await eventually(async () => (await rows.count()) === 50);
    await person.press("Load more");
    await eventually(async () => (await rows.count()) === 55);
    await person.page.getByLabel("User").fill("eve");
    await person.hasAddress("userId=eve");
    await eventually(async () => (await rows.count()) === 2);
    await person.page.reload();
    await eventually(async () => (await rows.count()) === 2);
    await person.page.getByRole("combobox", { name: "Agent" }).fill("Ad");
    await person.page.getByRole("option", { name: /Ada/ }).click();
    await person.hasAddress(`agentId=${agentId}`);
    await eventually(async () => (await rows.count()) === 2);
    await person.page.getByLabel("User").fill("nobody");
    await person.sees("No session matches.");
    expect(await person.wrongs()).toEqual([]);
  });

  test("a session whose first turn failed stands in the list by its question, and among those that failed", async () => {
    await say(userMessage("Is anybody there? [[sim: fail=401]]"), { userId: "luckless" });
    await say(script('text="Hello"'), { userId: "lucky" });
    const person = await signedIn("/sessions");
    const rows = person.page.getByRole("table", { name: "Sessions" }).locator("tbody tr");
    const failed = rows.filter({ hasText: "Is anybody there?" });
    await failed.locator(".badge.bad", { hasText: "provider_error" }).waitFor();
    await person.page.getByLabel("Last turn").selectOption("failed");
    await person.hasAddress("status=failed");
    await eventually(async () => (await rows.count()) === 1);
    await person.page.getByLabel("Time", { exact: true }).selectOption("Today");
    await person.hasAddress("since=today");
    await failed.getByRole("link", { name: "Is anybody there?" }).click();
    await person.page.getByRole("region", { name: "Why it ended" }).waitFor();
    await person.open("/sessions?words=anybody");
    await failed
      .or(person.page.getByRole("row", { name: /Is anybody there/ }))
      .first()
      .waitFor();
    await person.open("/users?id=luckless");
    await person.page.getByRole("table", { name: "Sessions of this user" }).getByText("provider_error").waitFor();
    expect(await person.wrongs()).toEqual([]);
  });

  test("a session's page shows the transcript with its tools unfolded, its turns and its usage, and deletes it", async () => {
    const sessionId = await say(script('text="Hello" tool=memory_search args={"query":"tea"} ; text="Done."'));
    const asked: string[] = [];
    const person = await signedIn(`/sessions/${agentId}/${sessionId}`);
    await person.page.locator("article.assistant").getByText("Done.").waitFor();
    await person.press("Unfold tools");
    await person.page.locator("article details[open]").getByText("Output").waitFor();
    const moments = person.page.locator("article header a[href*='/turns/turn_']");
    await eventually(async () => (await moments.count()) === 2);
    await person.page.getByRole("list", { name: /^Times of turn_/ }).waitFor();
    await person.sees(/tokens in/);
    await person.press("Delete");
    const dialog = person.page.getByRole("alertdialog");
    await dialog.getByRole("button", { name: "Back" }).click();
    await dialog.waitFor({ state: "detached" });
    await person.press("Delete");
    expect(await person.wrongs()).toEqual([]);
    person.page.on("request", (request) => request.method() === "DELETE" && asked.push(request.url()));
    await dialog.getByRole("checkbox", { name: /files/ }).check();
    await dialog.getByRole("button", { name: "Delete" }).click();
    await person.heading("Sessions").waitFor();
    expect(asked).toEqual([expect.stringMatching(/deleteArtifacts=true$/)]);
    expect((await t.call("GET", `/v1/agents/${agentId}/sessions/${sessionId}`)).status).toBe(404);
    await person.open(`/sessions/${agentId}/${sessionId}`);
    await person.page.getByRole("alert").waitFor();
  });

  test("a question that failed has its place in the transcript, in a red box with the vendor's words, and runs again", async () => {
    const sessionId = await say(script('text="Hello"'));
    const path = `/v1/agents/${agentId}/sessions/${sessionId}`;
    await t.call("POST", path, { body: { stream: false, message: script("fail=400") } });
    await t.call("POST", path, { body: { stream: false, message: script('text="Still here."') } });
    const person = await signedIn(`/sessions/${agentId}/${sessionId}`);
    const box = person.page.getByRole("region", { name: "Why it ended" });
    await box.getByText("said (status 400").waitFor();
    await person.page.locator("article.assistant").getByText("Still here.").waitFor();
    const shown = await person.page.locator(".transcript").textContent();
    expect(shown?.indexOf("fail=400")).toBeGreaterThan(shown?.indexOf("Hello") ?? -1);
    expect(shown?.indexOf("Still here.")).toBeGreaterThan(shown?.indexOf("fail=400") ?? -1);
    expect(await person.wrongs()).toEqual([]);
    expect(await person.wrongsOnPhone()).toEqual([]);
    await box.getByRole("button", { name: "Run again" }).click();
    await eventually(async () => (await t.parley.turns.list({ sessionId })).data.length === 4);
    await eventually(async () => (await box.count()) === 2);
  });

  test("a busy session shows its queue, and what it says against being deleted", async () => {
    const sessionId = await say(script('text="Hello"'));
    const path = `/v1/agents/${agentId}/sessions/${sessionId}`;
    const ends = new AbortController();
    const hang = script('text="one two three" hangAfterChunks=1');
    const first = t.parley.sessions.resume(agentId, sessionId, { message: hang }, { signal: ends.signal });
    await first;
    await t.parley.sessions.resume(
      agentId,
      sessionId,
      { message: script('text="second"'), onBusy: "enqueue" },
      { signal: ends.signal },
    );
    const person = await signedIn(`/sessions/${agentId}/${sessionId}`);
    const queue = person.page.getByRole("region", { name: "Queue" });
    await eventually(async () => (await queue.getByRole("listitem").count()) === 2);
    await person.press("Delete");
    const dialog = person.page.getByRole("alertdialog");
    await dialog.getByRole("button", { name: "Delete" }).click();
    await dialog.getByRole("alert").waitFor();
    await dialog.getByRole("button", { name: "Back" }).click();
    expect(await person.wrongs()).toEqual([]);
    ends.abort();
    await t.call("POST", `${path}/cancel`, { body: { queued: true } });
    await queue.waitFor({ state: "detached" });
  });
});
