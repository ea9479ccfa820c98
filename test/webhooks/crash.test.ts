import { afterAll, describe, expect, test } from "bun:test";
import { eventually } from "../harness/harness.ts";
import { type Client, type Installation, sharedRedisUrl, startInstallation } from "../harness/processes.ts";
import { type Hook, insertDeliveries } from "../harness/webhook-fixture.ts";
import { WebhookReceiver } from "../servers/webhook-receiver.ts";

const receiver = new WebhookReceiver();
await receiver.start();
afterAll(() => receiver.stop());

/** An installation whose tenant has a webhook at a path of its own. */
async function openSite(path: string, type = "turn.ended") {
  const installation = await startInstallation();
  const c = await installation.client((await installation.serve()).url);
  const made = await c.request("POST", "/v1/webhooks", { url: `${receiver.url}${path}`, events: [type] });
  const hook: Hook = { ...(await made.json()), path };
  return { installation, c, hook, [Symbol.asyncDispose]: () => installation[Symbol.asyncDispose]() };
}

const idsAt = ({ path, secret }: Hook) => receiver.received(path, secret).map(({ id }) => id);

/** How many deliveries of a webhook have succeeded. */
async function succeeded({ sql }: Installation, { id }: Hook): Promise<number> {
  const [row] = await sql`
    select count(*)::int as rows from webhook_deliveries where webhook_id = ${id} and status = 'succeeded'`;
  return row?.rows;
}

const tenantOf = ({ tenantId }: Client) => ({ id: tenantId }) as Parameters<typeof insertDeliveries>[1];

describe.skipIf(sharedRedisUrl === null)("kill -9 of a worker and its deliveries", () => {
  test.concurrent("between send and result: sent again with the same id, and counted", async () => {
    await using site = await openSite("/killed");
    const { installation, c, hook } = site;
    const doomed = await installation.work();
    const held = Promise.withResolvers<void>();
    receiver.injectFault(hook.path, held.promise);
    const { turnId } = await c.json("hi");
    await eventually(() => receiver.asked(hook.path).length === 1);
    await doomed.kill();
    held.resolve();
    await installation.work();
    await eventually(async () => (await succeeded(installation, hook)) === 1);
    const [first, second] = receiver.received(hook.path, hook.secret);
    expect(second?.id).toBe(first?.id ?? "");
    expect(second?.event.data.ids.turnId).toBe(turnId);
    const [row] = await installation.sql`select attempt_count from webhook_deliveries where webhook_id = ${hook.id}`;
    expect(row?.attemptCount).toBe(2);
  }, 120_000);

  test.concurrent("within a backlog: everything comes, and what had a result comes once", async () => {
    await using site = await openSite("/backlog", "run.ended");
    const { installation, c, hook } = site;
    const ids = await insertDeliveries(installation, tenantOf(c), hook, 300);
    const doomed = await installation.work();
    await eventually(() => receiver.asked(hook.path).length >= 50);
    await doomed.kill();
    const before = await succeeded(installation, hook);
    await installation.work();
    await eventually(async () => (await succeeded(installation, hook)) === 300, 40_000);
    const sent = idsAt(hook);
    expect(new Set(sent)).toEqual(new Set(ids));
    // At most what was under way is sent twice.
    expect(sent.length - 300).toBeLessThanOrEqual(10);
    expect(before).toBeLessThan(300);
  }, 120_000);

  test.concurrent("two workers share a backlog, and no delivery is sent twice", async () => {
    await using site = await openSite("/shared", "run.ended");
    const { installation, c, hook } = site;
    await Promise.all([installation.work(), installation.work()]);
    for (let round = 0; round < 5; round += 1) {
      const sent = receiver.asked(hook.path).length;
      await insertDeliveries(installation, tenantOf(c), hook, 60);
      await eventually(() => receiver.asked(hook.path).length > sent);
    }
    await eventually(async () => (await succeeded(installation, hook)) === 300, 40_000);
    expect(new Set(idsAt(hook)).size).toBe(300);
    expect(idsAt(hook).length).toBe(300);
  }, 120_000);

  test.concurrent("SIGTERM while a response is awaited: the result is written before the process ends", async () => {
    await using site = await openSite("/leaving");
    const { installation, c, hook } = site;
    const leaving = await installation.work();
    const held = Promise.withResolvers<void>();
    receiver.injectFault(hook.path, held.promise);
    await c.json("hi");
    await eventually(() => receiver.asked(hook.path).length === 1);
    leaving.signal("SIGTERM");
    await eventually(() => leaving.log.some(({ msg }) => msg === "stopping"));
    held.resolve();
    expect((await leaving.exited).code).toBe(0);
    expect(await succeeded(installation, hook)).toBe(1);
    expect(receiver.asked(hook.path).length).toBe(1);
  }, 120_000);
});
