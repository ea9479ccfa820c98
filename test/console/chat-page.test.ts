import { afterAll, describe, expect, test } from "bun:test";
import { ChatFixture } from "../harness/chat-fixture.ts";
import { hasBrowser, useConsole } from "../harness/console-browser.ts";
import { eventually } from "../harness/harness.ts";
import { makeAgent } from "../harness/seed.ts";
import { SlackServer } from "../servers/slack.ts";
import { TelegramServer } from "../servers/telegram.ts";

const slack = new SlackServer();
const telegram = new TelegramServer();
await Promise.all([slack.start(), telegram.start()]);
afterAll(() => Promise.all([slack.stop(), telegram.stop()]));
const { h, t, signedIn } = await useConsole({ CHAT_A_API_URL: slack.apiUrl, CHAT_B_API_URL: telegram.url });
const fixture = ChatFixture.beside(h, slack, telegram);
const agentId = await makeAgent(h, t, { name: "Ada" });
const hostile = `<img src=x onerror=alert(1)>`;
const phone = { width: 360, height: 740 };

describe.skipIf(!hasBrowser)("the screen of chat connections", () => {
  test("creates one for Slack, and says what the platform refuses", async () => {
    const bot = slack.install();
    const person = await signedIn("/chat");
    await person.sees("There is no chat connection yet.");
    await person.press("New connection");
    const dialog = person.page.getByRole("dialog", { name: "New connection" });
    await dialog.getByLabel("Name").fill(hostile);
    await dialog.getByLabel("Agent").selectOption({ label: "Ada" });
    await dialog.getByLabel("Bot token").fill("xoxb-wrong");
    await dialog.getByLabel("Signing secret").fill(bot.signingSecret);
    await person.press("Create");
    await dialog
      .getByRole("alert")
      .getByText(/refused the bot token/)
      .waitFor();
    expect(await person.wrongs()).toEqual([]);
    await dialog.getByLabel("Bot token").fill(bot.token);
    await person.press("Create");
    await person.heading(hostile).waitFor();
    await person.sees(/\/v1\/chat\/webhooks\/chat_a\/cc_/);
    await person.page.getByRole("button", { name: /^Copy http:.*webhooks/ }).waitFor();
    await person.go("Chat");
    await person.page.getByRole("row").filter({ hasText: hostile }).getByText("healthy").waitFor();
    expect(await person.wrongs()).toEqual([]);
  });

  test("changes the configuration of one, checks it, and disables and enables it", async () => {
    slack.channels.set("C1", true).set("C2", false);
    const { id } = await fixture.connectSlack(t, agentId);
    const person = await signedIn(`/chat/${id}`);
    await person.page.getByLabel("Channels").fill("C1\nC2");
    await person.page.getByLabel("Approvers").fill("U1");
    await person.press("Save");
    await person.sees("The configuration is saved.");
    const { configuration } = await t.parley.chatConnections.get(id);
    expect(configuration).toMatchObject({ channelIds: ["C1", "C2"], approverIds: ["U1"] });
    await person.press("Check");
    const checks = person.page.getByRole("list", { name: "Checks" });
    await checks.getByRole("listitem").filter({ hasText: "The bot is in C1" }).getByText("pass").waitFor();
    await checks.getByRole("listitem").filter({ hasText: "The bot is in C2" }).getByText("fail").waitFor();
    expect(await person.wrongs()).toEqual([]);

    await person.press("Disable");
    await person.page.getByRole("alertdialog").getByRole("button", { name: "Disable" }).click();
    await person.sees("disabled");
    await person.press("Enable");
    await person.button("Disable").waitFor();
    expect(await person.wrongs()).toEqual([]);
    await person.go("Chat");
    await person.sees("1 check failed");
  });

  test("creates one for Telegram by keyboard alone, and deletes it", async () => {
    const bot = telegram.make();
    const person = await signedIn("/chat");
    const { keyboard } = person.page;
    await person.button("New connection").focus();
    await keyboard.press("Enter");
    const dialog = person.page.getByRole("dialog", { name: "New connection" });
    await dialog.getByRole("option", { name: "Ada" }).waitFor({ state: "attached" });
    await dialog.getByLabel("Name").focus();
    await keyboard.type("On Telegram");
    await keyboard.press("Tab");
    await keyboard.type("Ada");
    await keyboard.press("Tab");
    await keyboard.type("Tel");
    await keyboard.press("Tab");
    await keyboard.type(bot.token);
    await keyboard.press("Enter");
    await person.heading("On Telegram").waitFor();
    expect(bot.webhook?.url).toContain("/v1/chat/webhooks/chat_b/");
    await person.page.getByLabel("Chats").waitFor();
    await person.button("Delete").focus();
    await keyboard.press("Enter");
    await person.page.getByRole("alertdialog").getByRole("button", { name: "Delete" }).focus();
    await keyboard.press("Enter");
    await person.heading("Chat").waitFor();
    await eventually(async () => (await person.page.getByRole("link", { name: "On Telegram" }).count()) === 0);
    expect(await person.wrongs()).toEqual([]);
  });

  test("lists deliveries that wait for a person, and repairs one after both confirmations", async () => {
    const connection = await fixture.connectSlack(t, agentId);
    slack.injectFault("/api/chat.postMessage", "cut after");
    const thread = await fixture.mention(connection, `[[sim: text="who knows"]]`);
    await fixture.delivery(t, connection.id, thread, "ambiguous");
    const person = await signedIn("/chat");
    await person.page.getByRole("link", { name: "To repair" }).click();
    await person.hasAddress("/chat/unresolved");
    const row = person.page.getByRole("table", { name: /Deliveries/ }).locator("tbody tr");
    await row.getByText("ambiguous").waitFor();
    await person.page.getByLabel("Status").selectOption("failed");
    await person.sees("Nothing waits for a person.");
    await person.page.getByLabel("Status").selectOption("");
    await row.getByRole("button", { name: "Repair" }).click();
    const dialog = person.page.getByRole("dialog");
    const confirm = dialog.getByRole("button", { name: "Repair" });
    await dialog.getByText(/may post that one twice/).waitFor();
    expect(await confirm.isDisabled()).toBe(true);
    await dialog.getByLabel("Nothing sends it any more").check();
    expect(await confirm.isDisabled()).toBe(true);
    await dialog.getByLabel("It may be posted twice").check();
    expect(await person.wrongs()).toEqual([]);
    await confirm.click();
    await person.sees("What it has not posted yet is sent now.");
    await person.sees("Nothing waits for a person.");
    await fixture.delivery(t, connection.id, thread, "confirmed");
    await person.open(`/chat/${connection.id}`);
    const own = person.page.getByRole("table", { name: /Deliveries/ }).locator("tbody tr");
    await own.getByText("confirmed").waitFor();
    expect(await own.getByRole("button", { name: "Repair" }).count()).toBe(0);
  });

  test("has no serious fault on a phone, in the dark", async () => {
    const { id } = await fixture.connectTelegram(t, agentId);
    const person = await signedIn("/chat", { viewport: phone, colorScheme: "dark" });
    await person.page.getByRole("table", { name: "Chat connections" }).waitFor();
    expect(await person.wrongs()).toEqual([]);
    await person.open("/chat/unresolved");
    await person.sees("Nothing waits for a person.");
    expect(await person.wrongs()).toEqual([]);
    await person.open(`/chat/${id}`);
    await person.sees("Nothing was delivered yet.");
    expect(await person.wrongs()).toEqual([]);
  });
});
