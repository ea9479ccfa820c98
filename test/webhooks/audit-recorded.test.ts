import { describe, expect, test } from "bun:test";
import { recordAudit } from "../../src/kernel/audit/record.ts";
import { tx } from "../../src/kernel/database/transaction.ts";
import { newId } from "../../src/kernel/ids.ts";
import { eventually, type TestTenant } from "../harness/harness.ts";
import { makeAgent } from "../harness/seed.ts";
import { type Hook, useWebhooks } from "../harness/webhook-fixture.ts";

const h = await useWebhooks();
const still = await useWebhooks({});
const forms = ["a", "b"] as const;

const eventsOf = async (t: TestTenant, query = "") =>
  (await t.call("GET", `/v1/audit-events${query}`)).body.data as { readonly id: string; readonly action: string }[];
const prompt = (t: TestTenant, name = "x") => t.call("POST", "/v1/prompts", { body: { name, template: "x" } });
const jobsOf = (t: TestTenant, on = h) =>
  on.sql<{ id: string }[]>`
    select payload ->> 'auditEventId' as id from graphile_worker._private_jobs
    where key like 'audit.tell:%' and payload ->> 'tenantId' = ${t.id}`;
/** Waits until all that was recorded so far was told: a webhook that is made in the same moment would hear of it too. */
const allTold = (t: TestTenant) => eventually(async () => (await jobsOf(t)).length === 0);
/** The actions that a webhook was told of, once they are so many, in the order in which they were done. */
async function actionsTold(t: TestTenant, hook: Hook, count: number, on = h): Promise<string[]> {
  const told = await on.told(t, hook, count);
  return told
    .toSorted((a, b) => a.timestamp.localeCompare(b.timestamp))
    .map(({ data }) => (data.event as { action: string }).action);
}

describe("audit.recorded", () => {
  test("carries the whole event as the list shows it; the webhook's own creation is the first", async () => {
    const t = await h.tenant();
    const hook = await h.hook(t, ["audit.recorded"]);
    await h.told(t, hook, 1);
    await prompt(t);
    const told = await h.told(t, hook, 2);
    const listed = await eventsOf(t);
    expect(listed.map(({ action }) => action)).toEqual(["prompt.create", "webhook.create"]);
    const bodies = listed.map((event) => ({
      type: "audit.recorded",
      timestamp: (event as unknown as { at: string }).at,
      data: { ids: { auditEventId: event.id }, status: "recorded", event },
    }));
    expect(told).toHaveLength(2);
    for (const body of bodies) expect(told).toContainEqual(body);
    expect(listed[1]).toMatchObject({ actorName: "test", resourceId: hook.id, changes: ["url", "events"] });
  });

  test("ids of deliveries begin with the time of what they tell, so that they sort by age as all others", async () => {
    const t = await h.tenant();
    const hook = await h.hook(t, ["audit.recorded"]);
    await prompt(t);
    await prompt(t, "y");
    await h.told(t, hook, 3);
    const rows = await h.sql<{ id: string; occurredAt: Date }[]>`
      select id, occurred_at from webhook_deliveries where webhook_id = ${hook.id}`;
    expect(rows).toHaveLength(3);
    for (const { id, occurredAt } of rows) {
      expect(id).toMatch(/^whd_[0-9a-z]{24}$/);
      expect(id.slice("whd_".length, -15)).toBe(occurredAt.getTime().toString(36).padStart(9, "0"));
    }
  });

  test.each(forms)("is told of what operations in form %s do, and has nothing that was written", async (form) => {
    const t = await h.tenant();
    const hook = await h.hook(t, ["audit.recorded"]);
    const made = await t.call("POST", "/v1/prompts", { form, body: { name: "Hello", template: "a secret word" } });
    const id = made.body.id as string;
    await t.call("PATCH", `/v1/prompts/${id}`, { form, body: { template: "another word" } });
    await t.call("DELETE", `/v1/prompts/${id}`, { form });
    const agent = await t.call("POST", "/v1/agents", { form, body: { name: "An agent" } });
    await t.call("POST", `/v1/agents/${agent.body.id}/disable`, { form });
    await t.call("POST", "/v1/apikeys", { form, body: { name: "second" } });
    const listed = await eventsOf(t);
    const told = await h.told(t, hook, listed.length);
    expect(listed).toHaveLength(7);
    for (const event of listed) expect(told.map(({ data }) => data.event)).toContainEqual(event);
    expect(JSON.stringify(told)).not.toContain("word");
  });

  test("its deliveries leave no events: what a webhook is told of ends", async () => {
    const t = await h.tenant();
    const first = await h.hook(t, ["audit.recorded"]);
    await allTold(t);
    const second = await h.hook(t, ["audit.recorded"]);
    await t.parley.webhooks.test(first.id);
    // `webhook.test` is an event; both are told of it, and the test itself is a delivery of the first.
    await h.received(second, 2);
    await h.received(first, 4);
    await eventually(async () => (await jobsOf(t)).length === 0);
    expect(await actionsTold(t, second, 2)).toEqual(["webhook.create", "webhook.test"]);
    expect((await eventsOf(t)).map(({ action }) => action)).toEqual([
      "webhook.test",
      "webhook.create",
      "webhook.create",
    ]);
    const types = (await h.deliveries(t, first)).map(({ type }) => type).sort();
    expect(types).toEqual(["audit.recorded", "audit.recorded", "audit.recorded", "webhook.test"]);
  });

  test("a delivery that is shown holds the ids alone: who reads deliveries need not be an editor", async () => {
    const t = await h.tenant();
    const hook = await h.hook(t, ["audit.recorded"]);
    await h.told(t, hook, 1);
    const [delivery] = await h.deliveries(t, hook);
    const [event] = await eventsOf(t);
    expect(delivery?.data).toEqual({ ids: { auditEventId: event?.id ?? "" }, status: "recorded" });
  });

  test("a webhook that is removed, disabled or does not want it is told nothing; its own removal is told to others", async () => {
    const t = await h.tenant();
    const witness = await h.hook(t, ["audit.recorded"]);
    await allTold(t);
    const gone = await h.hook(t, ["audit.recorded"]);
    const other = await h.hook(t, ["turn.ended"]);
    const off = await h.hook(t, ["audit.recorded"], { enabled: false });
    await h.told(t, gone, 3);
    await t.parley.webhooks.delete(gone.id);
    await prompt(t);
    await h.told(t, witness, 6);
    expect(h.receiver.asked(gone.path)).toHaveLength(3);
    for (const hook of [other, off]) {
      expect(await h.deliveries(t, hook)).toEqual([]);
      expect(h.receiver.asked(hook.path)).toEqual([]);
    }
    const rows = await h.sql`select 1 from webhook_deliveries where webhook_id = ${gone.id} and status = 'pending'`;
    expect(rows).toHaveLength(0);
  });

  test("one that is limited to agents hears of what is known to be about them", async () => {
    const t = await h.tenant();
    const [mine, foreign] = [await makeAgent(h, t), await makeAgent(h, t)];
    const key = (await t.call("POST", "/v1/apikeys", { body: { name: "k", role: "editor", agentIds: [mine] } })).body;
    const url = `${h.receiver.url}/limited-${t.id}`;
    const made = await t.call("POST", "/v1/webhooks", { token: key.token, body: { url, events: ["audit.recorded"] } });
    const hook = { ...made.body, path: `/limited-${t.id}` } as Hook;
    await allTold(t);
    const all = await h.hook(t, ["audit.recorded"]);
    await t.call("POST", `/v1/agents/${foreign}/disable`);
    await t.call("POST", `/v1/agents/${mine}/disable`);
    await prompt(t);
    await h.told(t, all, 4);
    const told = await h.told(t, hook, 1);
    expect(told[0]?.data.event).toMatchObject({ action: "agent.disable", resourceId: mine });
  });
});

describe("nothing is lost, and it is told once", () => {
  test("what is recorded while no worker runs is told when one does; each attempt says the same", async () => {
    const t = await still.tenant();
    const hook = await still.hook(t, ["audit.recorded"]);
    await prompt(t);
    expect(await jobsOf(t, still)).toHaveLength(2);
    expect(await still.deliveries(t, hook)).toEqual([]);
    still.receiver.responses.set(hook.path, { status: 500, body: {} });
    const workers = await still.startWorkers();
    await still.received(hook, 1);
    await still.sql`update api_keys set name = 'renamed' where tenant_id = ${t.id}`;
    still.receiver.responses.delete(hook.path);
    await eventually(async () => {
      await still.sql`update webhook_deliveries set next_attempt_at = now() where webhook_id = ${hook.id} and status = 'pending'`;
      await still.sql`update webhooks set paused_until = null where id = ${hook.id}`;
      return (await still.deliveries(t, hook)).every(({ status }) => status === "succeeded");
    }, 30_000);
    await workers.drain(5_000);
    const bodies = Map.groupBy(still.receiver.received(hook.path, hook.secret), ({ id }) => id);
    expect(bodies.size).toBe(2);
    for (const attempts of bodies.values()) expect(new Set(attempts.map(({ request }) => request.text)).size).toBe(1);
  }, 60_000);

  test("a job that ran and whose end was lost runs again, and tells nothing new", async () => {
    const t = await h.tenant();
    const hook = await h.hook(t, ["audit.recorded"]);
    await prompt(t);
    await h.told(t, hook, 2);
    const events = await eventsOf(t);
    for (const { id } of [...events, ...events])
      await h.sql`select graphile_worker.add_job('audit.tell', json_build_object('auditEventId', ${id}::text, 'tenantId', ${t.id}::text))`;
    await eventually(async () => {
      const [row] = await h.sql`
        select count(*)::int as jobs from graphile_worker._private_jobs where payload ->> 'tenantId' = ${t.id}`;
      return row?.jobs === 0;
    });
    await h.told(t, hook, 2);
  });

  test("60 changes at once: each is told once", async () => {
    const t = await h.tenant();
    const hook = await h.hook(t, ["audit.recorded"]);
    const made = await Promise.all(Array.from({ length: 60 }, (_, n) => prompt(t, `p${n}`)));
    expect(made.every(({ status }) => status === 201)).toBe(true);
    const told = await h.received(hook, 61);
    expect(new Set(told.map(({ event }) => event.data.ids.auditEventId)).size).toBe(61);
    await eventually(async () => (await jobsOf(t)).length === 0);
    const stored = await h.sql`select id from webhook_deliveries where webhook_id = ${hook.id}`;
    expect(stored.map(({ id }) => id).sort()).toEqual(told.map(({ id }) => id).sort());
  }, 60_000);

  test("what is rolled back is told to nobody, and what is committed beside it is", async () => {
    const t = await h.tenant();
    const hook = await h.hook(t, ["audit.recorded"]);
    const entry = {
      ...{
        tenantId: t.id,
        actor: { type: "system" as const, id: null },
        resourceId: null,
        requestId: null,
        changes: [],
      },
    };
    const recorded = (action: `${string}.${string}`, fails: boolean) =>
      tx(h.sql, async (inner) => {
        await recordAudit(inner, { ...entry, action });
        if (fails) throw new Error("rolled back");
      });
    await expect(recorded("never.told", true)).rejects.toThrow("rolled back");
    await recorded("thing.told", false);
    expect(await actionsTold(t, hook, 2)).toEqual(["webhook.create", "thing.told"]);
  });

  test("an event that was deleted before its job ran is a job that is done, without a dead letter", async () => {
    const t = await h.tenant();
    const gone = newId("auditEvent");
    await h.sql`select graphile_worker.add_job('audit.tell', json_build_object('auditEventId', ${gone}::text, 'tenantId', ${t.id}::text))`;
    await eventually(async () => {
      const rows = await h.sql`select 1 from graphile_worker._private_jobs where payload ->> 'tenantId' = ${t.id}`;
      return rows.length === 0;
    });
  });
});

test("a tenant without such a webhook gets no job", async () => {
  const t = await still.tenant();
  await still.hook(t, ["turn.ended"]);
  await still.hook(t, ["audit.recorded"], { enabled: false });
  const neighbour = await still.tenant();
  await still.hook(neighbour, ["audit.recorded"]);
  await prompt(t);
  expect(await eventsOf(t)).toHaveLength(3);
  expect(await jobsOf(t, still)).toHaveLength(0);
});
