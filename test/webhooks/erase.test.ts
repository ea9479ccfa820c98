import { describe, expect, test } from "bun:test";
import { deleteTenant } from "../../src/tenants/purge.ts";
import { eventually, type TestTenant } from "../harness/harness.ts";
import { insertDeliveries, useWebhooks } from "../harness/webhook-fixture.ts";

const h = await useWebhooks();

/** What is left of a tenant's webhooks. */
async function left(t: TestTenant): Promise<number> {
  const [row] = await h.sql`
    select (select count(*) from webhooks where tenant_id = ${t.id})::int
      + (select count(*) from webhook_deliveries where tenant_id = ${t.id})::int as rows`;
  return row?.rows;
}

/** A tenant with a webhook that has deliveries which wait, and others that have ended. */
async function tenantWithDeliveries() {
  const t = await h.tenant();
  const hook = await h.hook(t, ["run.ended"]);
  h.receiver.responses.set(hook.path, { status: 503, body: {} });
  await insertDeliveries(h, t, hook, 3);
  await t.parley.webhooks.test(hook.id);
  // All that is sent before a pause: none is on its way when the test goes on.
  await h.received(hook, 4);
  return { t, hook };
}

describe("erasing", () => {
  test("a deleted webhook leaves nothing, and nothing more is sent to it; what comes too late goes as well", async () => {
    const { t, hook } = await tenantWithDeliveries();
    await t.parley.webhooks.delete(hook.id);
    await eventually(async () => (await left(t)) === 0);
    const sent = h.receiver.asked(hook.path).length;
    await insertDeliveries(h, t, hook, 2);
    await eventually(async () => (await left(t)) === 0);
    expect(h.receiver.asked(hook.path).length).toBe(sent);
  });

  test("more deliveries than one statement deletes", async () => {
    const t = await h.tenant();
    const hook = await h.hook(t, ["run.ended"], { enabled: false });
    await insertDeliveries(h, t, hook, 2_500);
    await t.parley.webhooks.delete(hook.id);
    await eventually(async () => (await left(t)) === 0);
  });

  test("a tenant that ends leaves neither webhooks nor deliveries", async () => {
    const { t } = await tenantWithDeliveries();
    expect(await deleteTenant(h.sql, t.id)).toBe("ended");
    await eventually(async () => (await left(t)) === 0);
  });
});
