import type { MerchantConnectionCreate } from "parley/client";
import { newId } from "../../src/kernel/ids.ts";
import { insertUsageEvent } from "../harness/seed.ts";
import { freshName, type Scene } from "./scene.ts";

/** What a scene has at the chat platforms, the billing provider and the receiver of webhooks. */

const room = 20;

/** The body that connects a Slack bot of its own. */
export async function slackBody(s: Scene) {
  const bot = s.w.slack.install();
  return {
    name: freshName(),
    agentId: await s.theAgent(),
    platform: "chat_a" as const,
    credentials: { botToken: bot.token, signingSecret: bot.signingSecret },
  };
}

/** Makes room under the cap; the oldest connection stays, because a scene may know it. */
export async function roomForChats(s: Scene): Promise<void> {
  await s.sql`
    delete from chat_connections where id in (
      select id from chat_connections where tenant_id = ${s.t.id} order by created_at offset ${room / 2})`;
}

export async function newChat(s: Scene): Promise<string> {
  await roomForChats(s);
  return (await s.parley.chatConnections.create(await slackBody(s))).id;
}
export const theChat = (s: Scene) => s.once("chat", () => newChat(s));

/** A reply that its platform refused. */
export async function newDelivery(s: Scene, fields: Record<string, unknown> = {}) {
  const id = await theChat(s);
  const thread = newId("chatThread");
  const { sessionId } = await s.newSession();
  const [message] = await s.sql`select id from messages where session_id = ${sessionId} order by seq desc limit 1`;
  const address = { channel: "C1", thread: null, business: null };
  await s.sql`
    insert into chat_threads (id, connection_id, key, address, session_id)
    values (${thread}, ${id}, ${freshName("C")}, ${s.sql.json(address)}, ${sessionId})`;
  const row = {
    id: newId("chatDelivery"),
    tenant_id: s.t.id,
    connection_id: id,
    thread_id: thread,
    kind: "reply",
    status: "failed",
    attempt: 0,
    credential_version: 1,
    diagnostic: "is_archived",
    session_id: sessionId,
    message_id: message?.id,
    parts: s.sql.json(["Hello"]),
    ...fields,
  };
  await s.sql`insert into chat_deliveries ${s.sql(row as never)}`;
  return { id, deliveryId: row.id };
}

export const customerPath = (userId: string) => `/v1/merchant-connection/bindings/${userId}`;

/** The tenant's organization at the billing provider, with its token. */
export async function organization(s: Scene): Promise<{ id: string; token: string }> {
  return s.once("organization", async () => {
    const id = `org-${s.t.id}`;
    const token = `polar_oat_${s.t.id}`;
    s.w.polar.tokens.set(token, [id]);
    await s.setTenant({ monetization: true });
    return { id, token };
  });
}

export async function merchantBody(s: Scene) {
  const { token: credential } = await organization(s);
  return { provider: "billing_a" as const, environment: "sandbox" as const, credential };
}

/** A merchant connection in the place of the one there is. */
export async function newMerchant(s: Scene, fields: Partial<MerchantConnectionCreate> = {}): Promise<string> {
  return (await s.parley.merchantConnection.create({ ...(await merchantBody(s)), ...fields })).connection.id;
}

export async function newCustomer(s: Scene, fields: object = {}): Promise<string> {
  return s.w.polar.customer((await organization(s)).id, fields);
}

/** A bound end user of the current connection, which it makes when there is none. */
export async function newBinding(s: Scene, fields: object = {}): Promise<string> {
  if ((await s.parley.merchantConnection.get()).connection === null) await newMerchant(s);
  const userId = freshName("user");
  const customerId = await newCustomer(s, fields);
  await s.parley.merchantBindings.set(userId, { customerId });
  return userId;
}

/** An event as it stands in the ledger. */
export async function newEvent(s: Scene, fields: Record<string, unknown> = {}): Promise<string> {
  const { connection } = await s.parley.merchantConnection.get();
  const connectionId = connection?.id ?? (await newMerchant(s));
  return insertUsageEvent(s.sql, { tenant_id: s.t.id, connection_id: connectionId, status: "failed", ...fields });
}

/** The body of a budget that nothing reaches. */
export const budgetBody = () => ({ name: "Budget", period: "month" as const, limit: { usd: "1000000" } });

/** A budget of the scene's tenant. */
export const newBudget = async (s: Scene) => (await s.parley.budgets.create(budgetBody())).id;
export const theBudget = (s: Scene) => s.once("budget", () => newBudget(s));

/** The body of a webhook whose receiver takes everything. */
export const webhookBody = (s: Scene) => ({ url: `${s.w.vendor.url}/hook`, events: ["run.ended" as const] });

/** Makes room under the cap, as `roomForChats`. */
export async function roomForWebhooks(s: Scene): Promise<void> {
  await s.sql`
    delete from webhooks where id in (
      select id from webhooks where tenant_id = ${s.t.id} order by created_at offset ${room / 2})`;
}

export async function newWebhook(s: Scene): Promise<string> {
  await roomForWebhooks(s);
  return (await s.parley.webhooks.create(webhookBody(s))).id;
}
export const theWebhook = (s: Scene) => s.once("webhook", () => newWebhook(s));

/** A delivery of a webhook: the event of its test. */
export async function newWebhookDelivery(s: Scene, webhook?: string) {
  const id = webhook ?? (await theWebhook(s));
  return { id, deliveryId: (await s.parley.webhooks.test(id)).id };
}
