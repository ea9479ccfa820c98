import { expect, test } from "bun:test";
import { useChat } from "../harness/chat-fixture.ts";
import { eventually } from "../harness/harness.ts";

const fixture = await useChat();
const { t, agentId } = await fixture.tenant();

const path = "/v1/chat-connections";

/** Begins to connect a bot under a key, and holds Telegram's response to `setWebhook` back. */
async function connectHeld() {
  const bot = fixture.telegram.make();
  const released = Promise.withResolvers<void>();
  const setWebhook = fixture.telegram.path(bot, "setWebhook");
  fixture.telegram.injectFault(setWebhook, released.promise, "");
  const headers = { "idempotency-key": crypto.randomUUID() };
  const body = { name: "Held", agentId, platform: "telegram", credentials: { botToken: bot.token } };
  const send = () => t.call("POST", path, { body, headers });
  const first = send();
  await eventually(() => fixture.telegram.asked(setWebhook).length === 1);
  return { bot, key: headers["idempotency-key"], send, first, release: () => released.resolve() };
}

test("while Telegram registers a webhook, the tenant's row and all connections are free", async () => {
  const held = await connectHeld();
  await fixture.h.sql`select 1 from tenants where id = ${t.id} for update nowait`;
  const body = { name: crypto.randomUUID(), template: "x" };
  expect((await t.call("POST", "/v1/prompts", { body })).status).toBe(201);
  held.release();
  const made = await held.first;
  expect([made.status, made.body.enabled]).toEqual([201, true]);
  expect((await held.send()).body).toEqual(made.body);
});

test("a process that died while it registered a webhook: the repeat goes on with the same connection", async () => {
  const held = await connectHeld();
  expect((await held.send()).body.error.code).toBe("idempotency_in_progress");
  const [stored] = await fixture.h.sql`
    update idempotency_keys set leased_until = now() - interval '1 s' where key = ${held.key} returning made_id`;
  const repeat = await held.send();
  expect([repeat.status, repeat.body.enabled, repeat.body.id]).toEqual([201, true, stored?.madeId]);
  expect(held.bot.webhook?.url).toBe(repeat.body.webhookUrl);
  held.release();
  expect((await held.first).body.error.code).toBe("idempotency_in_progress");
  expect((await held.send()).body).toEqual(repeat.body);
});

test("two PATCHes at once: neither undoes the other", async () => {
  const { id, bot } = await fixture.connectTelegram(t, agentId);
  for (let round = 0; round < 10; round++) {
    const chatIds = [String(round)];
    const businessMode = round % 2 === 0;
    const patch = (configuration: object) => t.call("PATCH", `${path}/${id}`, { body: { configuration } });
    const responses = await Promise.all([patch({ chatIds }), patch({ businessMode })]);
    expect(responses.map(({ status }) => status)).toEqual([200, 200]);
    const { configuration } = (await t.call("GET", `${path}/${id}`)).body;
    expect(configuration).toEqual({ platform: "chat_b", chatIds, businessMode });
  }
  expect(bot.webhook?.updates).not.toContain("business_message");
});

test("crossing changes of businessMode leave the webhook as the connection says", async () => {
  const { id, bot } = await fixture.connectTelegram(t, agentId);
  const patch = (businessMode: boolean) =>
    t.call("PATCH", `${path}/${id}`, { body: { configuration: { businessMode } } });
  for (let round = 0; round < 10; round++) {
    await Promise.all([patch(true), patch(false), patch(true)]);
    const { configuration } = (await t.call("GET", `${path}/${id}`)).body;
    expect(bot.webhook?.updates.includes("business_message")).toBe(configuration.businessMode);
  }
});
