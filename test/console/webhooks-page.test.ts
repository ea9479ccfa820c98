import { afterAll, describe, expect, test } from "bun:test";
import { hasBrowser, useConsole } from "../harness/console-browser.ts";
import { eventually } from "../harness/harness.ts";
import { makeAgent, userMessage } from "../harness/seed.ts";
import { WebhookReceiver } from "../servers/webhook-receiver.ts";

const { h, t, signedIn } = await useConsole();
const receiver = new WebhookReceiver();
await receiver.start();
afterAll(() => receiver.stop());
const hostile = `<img src=x onerror="alert(1)"><script>alert(2)</script>${"long".repeat(6)}`;

describe.skipIf(!hasBrowser)("the screen of webhooks", () => {
  test("a webhook is made, its secret is shown once, and errors stand at their fields", async () => {
    const person = await signedIn("/webhooks");
    await person.sees("There is no webhook.");
    await person.press("New webhook");
    const form = person.page.getByRole("dialog");
    await form.getByLabel("URL").fill("no address");
    await form.getByLabel("Description").fill(hostile);
    await form.getByLabel("turn.ended").check();
    await form.getByRole("button", { name: "Create" }).click();
    await eventually(async () => (await form.getByLabel("URL").getAttribute("aria-invalid")) === "true");
    await form.getByLabel("turn.ended").uncheck();
    await form.getByLabel("URL").fill(`${receiver.url}/made?<script>`);
    await form.getByRole("button", { name: "Create" }).click();
    await form.getByRole("group", { name: "Events" }).getByRole("alert").waitFor();
    expect(await person.wrongs()).toEqual([]);
    expect(await person.wrongsOnPhone()).toEqual([]);
    expect((await t.parley.webhooks.list()).data).toEqual([]);
    await form.getByLabel("turn.ended").check();
    await form.getByLabel("run.ended").check();
    await form.getByRole("button", { name: "Create" }).click();
    await form.getByText("It is not shown again.").waitFor();
    const secret = (await form.locator("code").textContent()) as string;
    expect(secret).toStartWith("whsec_");
    expect(await person.wrongs()).toEqual([]);
    expect(await person.wrongsOnPhone()).toEqual([]);
    await form.getByRole("button", { name: "Done" }).click();
    await form.waitFor({ state: "detached" });
    const [made] = (await t.parley.webhooks.list()).data;
    expect(made).toMatchObject({ description: hostile, events: ["turn.ended", "run.ended"], enabled: true });
    const row = person.page.getByRole("table", { name: "Webhooks" }).locator("tbody tr");
    await row.getByText(hostile).waitFor();
    expect(await person.page.content()).not.toContain(secret);
    expect(await person.wrongsOnPhone()).toEqual([]);
    await row.getByRole("link").click();
    await person.heading(hostile).waitFor();
    await person.sees("Nothing was sent yet.");
    await person.page.getByLabel("run.ended").uncheck();
    await person.press("Save");
    await person.sees("The webhook is saved.");
    expect((await t.parley.webhooks.list()).data[0]?.events).toEqual(["turn.ended"]);
    expect(await person.wrongs()).toEqual([]);
    expect(await person.wrongsOnPhone()).toEqual([]);
  });

  test("a test event is sent, what the server said is shown, and a delivery is sent again", async () => {
    receiver.responses.set("/flaky", { status: 503, body: {} });
    const { id, secret } = await t.parley.webhooks.create({ url: `${receiver.url}/flaky`, events: ["turn.ended"] });
    const person = await signedIn(`/webhooks/${id}`);
    await person.press("Send test");
    const rows = person.page.getByRole("table", { name: "Deliveries, the newest first" }).locator("tbody tr");
    await rows.getByText("failed").waitFor();
    await rows.getByText(/^the server answered with 503, in /).waitFor();
    expect(await person.wrongs()).toEqual([]);
    expect(await person.wrongsOnPhone()).toEqual([]);
    await person.page.getByLabel("Status").selectOption("succeeded");
    await person.hasAddress("status=succeeded");
    await person.sees("No delivery matches.");
    receiver.responses.delete("/flaky");
    await person.page.getByLabel("Status").selectOption("");
    await rows.getByRole("button", { name: "Retry" }).click();
    await rows.getByText("succeeded").waitFor();
    const messages = receiver.received("/flaky", secret);
    expect(messages).toHaveLength(2);
    expect(messages[1]?.id).toBe(messages[0]?.id as string);
    expect(await person.wrongs()).toEqual([]);
  });

  test("one that fails says since when, by what, how much waits and until when, and all of it is sent again", async () => {
    receiver.responses.set("/down", { status: 502, body: {} });
    const { id, secret } = await t.parley.webhooks.create({ url: `${receiver.url}/down`, events: ["turn.ended"] });
    const agentId = await makeAgent(h, t);
    const body = { stream: false, message: userMessage("Hello!") };
    for (const _ of [1, 2, 3]) await t.call("POST", `/v1/agents/${agentId}/sessions`, { body });
    await eventually(async () => (await t.parley.webhooks.get(id)).failingSince !== null);
    // A turn's delivery is written after its answer: the last one's may come later than the first one's failure.
    await eventually(async () => (await t.parley.webhookDeliveries.list(id)).data.length === 3);
    const { data } = await t.parley.webhookDeliveries.list(id);
    expect(data).toHaveLength(3);
    for (const { nextAttemptAt } of data) expect(Date.parse(nextAttemptAt ?? "")).toBeGreaterThan(Date.now() - 5_000);
    const said = /failing since .*: the server answered with 502, next probe .*, 3 wait$/;
    const person = await signedIn("/webhooks");
    const row = person.page.getByRole("table", { name: "Webhooks" }).locator("tbody tr", { hasText: "/down" });
    await row.getByText(said).waitFor();
    await row.locator(".badge.bad", { hasText: "failing" }).waitFor();
    expect(await person.wrongs()).toEqual([]);
    expect(await person.wrongsOnPhone()).toEqual([]);
    await row.getByRole("link").click();
    const box = person.page.getByRole("region", { name: "Failing" });
    await box.getByText(said).waitFor();
    expect(await person.wrongs()).toEqual([]);
    expect(await person.wrongsOnPhone()).toEqual([]);
    receiver.responses.delete("/down");
    await person.press("Retry all");
    await person.page.getByRole("alertdialog").getByRole("button", { name: "Retry all" }).click();
    await person.sees("3 deliveries sent again.");
    await box.waitFor({ state: "detached" });
    await eventually(() => new Set(receiver.received("/down", secret).map((message) => message.id)).size === 3);
    const rows = person.page.getByRole("table", { name: "Deliveries, the newest first" }).locator("tbody tr");
    await eventually(async () => (await rows.getByText("succeeded").count()) === 3);
    expect(person.faults).toEqual([]);
  });

  test("a webhook is disabled and enabled, gets another secret, and is deleted after a question", async () => {
    const { id, secret } = await t.parley.webhooks.create({
      url: "https://shop.example/parley",
      events: ["turn.ended"],
    });
    const person = await signedIn(`/webhooks/${id}`);
    await person.press("Disable");
    await person.button("Enable").waitFor();
    expect((await t.parley.webhooks.get(id)).enabled).toBe(false);
    await person.press("Enable");
    await person.button("Disable").waitFor();
    expect((await t.parley.webhooks.get(id)).enabled).toBe(true);
    await person.press("Rotate secret");
    const question = person.page.getByRole("alertdialog");
    await question.getByRole("button", { name: "Rotate secret" }).click();
    const shown = person.page.getByRole("dialog", { name: "The new secret" });
    const next = (await shown.locator("code").textContent()) as string;
    expect(next).toStartWith("whsec_");
    expect(next).not.toBe(secret);
    await question.waitFor({ state: "detached" });
    expect(await person.wrongs()).toEqual([]);
    await shown.getByRole("button", { name: "Done" }).click();
    await shown.waitFor({ state: "detached" });
    await person.sees("Secret before, until");
    await person.press("Delete");
    await question.getByRole("button", { name: "Delete" }).click();
    await person.heading("Webhooks").waitFor();
    expect((await t.call("GET", `/v1/webhooks/${id}`)).status).toBe(404);
    expect(person.faults).toEqual([]);
  });
});
