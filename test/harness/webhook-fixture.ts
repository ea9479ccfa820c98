import { afterAll, expect } from "bun:test";
import type { WebhookCreate, WebhookDelivery, WebhookWithSecret } from "parley/client";
import { newId } from "../../src/kernel/ids.ts";
import { type ReceivedEvent, type ReceivedMessage, WebhookReceiver } from "../servers/webhook-receiver.ts";
import { useService } from "./fixture.ts";
import { eventually, type Harness, type HarnessOptions, type TestTenant } from "./harness.ts";

/** A webhook of a tenant, and its path at the receiver. */
export interface Hook extends WebhookWithSecret {
  readonly path: string;
}

/** What a test does with webhooks. */
export interface Hooks {
  readonly receiver: WebhookReceiver;
  /** Makes a webhook that the receiver has a path for. */
  hook(t: TestTenant, events: WebhookCreate["events"], fields?: Partial<WebhookCreate>): Promise<Hook>;
  /** What a webhook's path received, verified, once it is at least so much. */
  received(hook: Hook, count: number): Promise<ReceivedMessage[]>;
  /** What a webhook was told, once it is so much: each event is stored once and came once. */
  told(t: TestTenant, hook: Hook, count: number): Promise<ReceivedEvent[]>;
  /** A webhook's deliveries, newest first. */
  deliveries(t: TestTenant, hook: Hook): Promise<WebhookDelivery[]>;
  /** A webhook's newest delivery, once it is as `check` says. */
  delivery(
    t: TestTenant,
    hook: Hook,
    check: (delivery: WebhookDelivery) => boolean,
    limitMs?: number,
  ): Promise<WebhookDelivery>;
}

/** A receiver for the tests of a file, where the service runs already. */
export async function useReceiver(): Promise<Hooks> {
  const receiver = new WebhookReceiver();
  await receiver.start();
  afterAll(() => receiver.stop());
  let paths = 0;
  const deliveries = async (t: TestTenant, { id }: Hook) => (await t.parley.webhookDeliveries.list(id)).data;
  const received = ({ path, secret }: Hook, count: number) =>
    eventually(() => {
      const messages = receiver.received(path, secret);
      return messages.length >= count ? messages : null;
    });
  return {
    receiver,
    deliveries,
    received,
    hook: async (t, events, fields = {}) => {
      paths += 1;
      const path = `/hooks/${paths}`;
      const made = await t.parley.webhooks.create({ url: `${receiver.url}${path}`, events, ...fields });
      return { ...made, path };
    },
    told: async (t, hook, count) => {
      const messages = await received(hook, count);
      const stored = (await deliveries(t, hook)).map(({ id }) => id);
      expect(messages.map(({ id }) => id).sort()).toEqual(stored.sort());
      expect(messages.length).toBe(count);
      return messages.map(({ event }) => event);
    },
    delivery: (t, hook, check, limitMs) =>
      eventually(async () => {
        const [delivery] = await deliveries(t, hook);
        return delivery !== undefined && check(delivery) ? delivery : null;
      }, limitMs),
  };
}

/** The service beside a receiver for the tests of a file, with a worker unless told otherwise. */
export async function useWebhooks(options: HarnessOptions = { worker: true }): Promise<Harness & Hooks> {
  const hooks = await useReceiver();
  return { ...(await useService(options)), ...hooks };
}

/** Puts clocks in the rows forward, so that what waits for a pause is due now. */
export async function skipPauses({ sql }: Pick<Harness, "sql">, { id }: Pick<Hook, "id">): Promise<void> {
  await sql`update webhook_deliveries set next_attempt_at = now() where webhook_id = ${id} and status = 'pending'`;
  await sql`update webhooks set paused_until = null where id = ${id}`;
}

/** Writes an event for a webhook, as something that happened would, without a job: recovery finds it. */
export async function insertDeliveries(
  { sql }: Pick<Harness, "sql">,
  t: TestTenant,
  { id }: Pick<Hook, "id">,
  count = 1,
): Promise<string[]> {
  const ids = Array.from({ length: count }, () => newId("webhookDelivery"));
  await sql`
    insert into webhook_deliveries (id, webhook_id, tenant_id, type, ids, event_status)
    select each_id, ${id}, ${t.id}, 'run.ended', '{"runId": "tr_1"}', 'succeeded' from unnest(${ids}::text[]) each_id`;
  return ids;
}
