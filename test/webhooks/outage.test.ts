import { describe, expect, test } from "bun:test";
import { endPauses } from "../../src/webhooks/delivery-states.ts";
import { sweepWebhooks } from "../../src/webhooks/sweep.ts";
import { runAfterJobs } from "../harness/after-turn.ts";
import { eventually, startHarness } from "../harness/harness.ts";
import { makeAgent } from "../harness/seed.ts";
import { open, script, sessionPath } from "../harness/turns.ts";
import { type Hook, insertDeliveries, skipPauses, useReceiver, useWebhooks } from "../harness/webhook-fixture.ts";

const h = await useWebhooks();
const t = await h.tenant();
const down = { status: 503, body: {} };

const stateOf = (hook: Hook) => t.parley.webhooks.get(hook.id);
const rowsOf = async (hook: Hook) => {
  const [row] = await h.sql`select count(*)::int as rows from webhook_deliveries where webhook_id = ${hook.id}`;
  return row?.rows as number;
};

describe("a receiver that is down for a while", () => {
  test("what happened meanwhile comes, each event once, and the webhook has never been disabled", async () => {
    const other = await useReceiver();
    const hook = await other.hook(t, ["run.ended"]);
    await other.receiver.stop();
    const ids = await insertDeliveries(h, t, hook, 25);
    await eventually(async () => (await stateOf(hook)).failingSince !== null);
    const { attempts } = await eventually(async () =>
      (await h.deliveries(t, hook)).find(({ attempts }) => attempts.length > 0),
    );
    expect(attempts[0]).toMatchObject({ statusCode: null, error: "unreachable" });
    await other.receiver.start();
    const messages = await other.received(hook, 25);
    await eventually(async () => (await h.deliveries(t, hook)).every(({ status }) => status === "succeeded"));
    expect(messages.map(({ id }) => id).sort()).toEqual(ids.sort());
    expect(await stateOf(hook)).toMatchObject({ enabled: true, failingSince: null, disabledReason: null });
  }, 120_000);

  test("is tried with one delivery at a time, until the first is taken", async () => {
    const hook = await h.hook(t, ["run.ended"]);
    h.receiver.responses.set(hook.path, down);
    await h.sql`update webhooks set failing_since = now() - interval '1 hour' where id = ${hook.id}`;
    await insertDeliveries(h, t, hook, 12);
    await h.received(hook, 1);
    const paused = await eventually(async () => {
      const [row] = await h.sql`
        select extract(epoch from paused_until - now())::float8 as seconds from webhooks where id = ${hook.id} and paused_until is not null`;
      return row;
    });
    expect(paused.seconds).toBeGreaterThan(30);
    expect(h.receiver.asked(hook.path).length).toBe(1);
    h.receiver.responses.delete(hook.path);
    await h.sql`update webhooks set paused_until = null where id = ${hook.id}`;
    await h.received(hook, 12);
    expect((await stateOf(hook)).failingSince).toBeNull();
  });
});

describe("what waits for a receiver that is down", () => {
  /** 25 deliveries that were tried and wait for an hour, and one that is due. */
  const waiting = async () => {
    const hook = await h.hook(t, ["run.ended"]);
    h.receiver.responses.set(hook.path, down);
    await h.sql`update webhooks set failing_since = now() - interval '1 hour', paused_until = now() + interval '1 hour' where id = ${hook.id}`;
    const ids = await insertDeliveries(h, t, hook, 25);
    await h.sql`
      update webhook_deliveries set next_attempt_at = now() + interval '50 minutes', last_attempt_at = now(), attempt_count = 1
      where webhook_id = ${hook.id}`;
    const [due = ""] = await insertDeliveries(h, t, hook);
    return { hook, ids, due };
  };

  test("shows when it is really tried: after the pause of its webhook, and not while that is disabled", async () => {
    const { hook } = await waiting();
    const [row] = await h.sql<{ at: Date }[]>`select paused_until as at from webhooks where id = ${hook.id}`;
    const shown = async () => new Set((await h.deliveries(t, hook)).map(({ nextAttemptAt }) => nextAttemptAt));
    expect([...(await shown())]).toEqual([row?.at.toISOString() ?? ""]);
    await t.parley.webhooks.update(hook.id, { enabled: false });
    expect([...(await shown())]).toEqual([null]);
    await t.parley.webhooks.delete(hook.id);
  });

  test("comes as soon as the first is taken, each once", async () => {
    const { hook, ids, due } = await waiting();
    h.receiver.responses.delete(hook.path);
    await h.sql`update webhooks set paused_until = null where id = ${hook.id}`;
    const messages = await h.received(hook, 26);
    expect(messages.map(({ id }) => id).sort()).toEqual([...ids, due].sort());
    expect(await stateOf(hook)).toMatchObject({ failingSince: null });
  });

  test("comes before its time once, whatever becomes of it then", async () => {
    const { hook } = await waiting();
    const end = (recoveredAt: Date) => endPauses(h.sql, { webhookId: hook.id as never, recoveredAt, limit: 10 });
    const [clock] = await h.sql<[{ before: Date; later: Date }]>`
      select now() - interval '1 minute' as before, now() + interval '1 minute' as later`;
    expect([await end(clock.before), await end(clock.later)]).toEqual([0, 10]);
    await t.parley.webhooks.delete(hook.id);
  });
});

describe("a webhook that only failed for 72 hours", () => {
  const failing = async (since: string) => {
    const hook = await h.hook(t, ["run.ended"]);
    h.receiver.responses.set(hook.path, down);
    await insertDeliveries(h, t, hook, 2);
    await eventually(async () => (await stateOf(hook)).failingSince !== null);
    await h.sql`update webhooks set failing_since = now() - ${since}::interval where id = ${hook.id}`;
    await skipPauses(h, hook);
    return hook;
  };

  test("is disabled by the next failure, says why, and the audit has it", async () => {
    const hook = await failing("72 hours");
    const disabled = await eventually(async () => {
      const state = await stateOf(hook);
      return state.enabled ? null : state;
    });
    expect(disabled.disabledReason).toEqual({
      code: "only_failures",
      message: "Every attempt of the last 72 hours failed, the last one with the status 503.",
    });
    const { data } = await t.parley.auditEvents.list({ resourceId: hook.id, action: "webhook.disable" });
    expect(data).toMatchObject([{ actor: { type: "system" }, changes: ["enabled", "disabledReason"] }]);
    expect((await h.deliveries(t, hook)).every(({ status }) => status === "pending")).toBe(true);
    // Enabled again it has forgotten that, and what waited is sent.
    h.receiver.responses.delete(hook.path);
    const enabled = await t.parley.webhooks.update(hook.id, { enabled: true });
    expect(enabled).toMatchObject({ enabled: true, disabledReason: null, failingSince: null });
    await skipPauses(h, hook);
    await eventually(async () => (await h.deliveries(t, hook)).every(({ status }) => status === "succeeded"));
  }, 120_000);

  test("but not before, and not where something was delivered in between", async () => {
    const hook = await failing("71 hours");
    // Recorded, and not only sent: what is written of an attempt would undo what follows.
    await eventually(async () => (await h.deliveries(t, hook)).some(({ attempts }) => attempts.length === 2));
    h.receiver.responses.delete(hook.path);
    await h.sql`update webhooks set failing_since = now() - interval '80 hours' where id = ${hook.id}`;
    await skipPauses(h, hook);
    await eventually(async () => (await stateOf(hook)).failingSince === null);
    h.receiver.responses.set(hook.path, down);
    const [id = ""] = await insertDeliveries(h, t, hook);
    await eventually(async () =>
      (await h.deliveries(t, hook)).some((each) => each.id === id && each.attempts.length > 0),
    );
    expect(await stateOf(hook)).toMatchObject({ enabled: true, disabledReason: null });
    await t.parley.webhooks.delete(hook.id);
  }, 120_000);
});

describe("a disabled webhook", () => {
  test("is sent nothing; what waits is sent once it is enabled, or fails when its 72 hours are over", async () => {
    const hook = await h.hook(t, ["run.ended"]);
    h.receiver.responses.set(hook.path, down);
    const [early = "", late = ""] = await insertDeliveries(h, t, hook, 2);
    await eventually(async () => (await h.deliveries(t, hook)).every(({ attempts }) => attempts.length === 1));
    await t.parley.webhooks.update(hook.id, { enabled: false });
    await skipPauses(h, hook);
    await h.sql`update webhook_deliveries set trying_since = now() - interval '73 hours' where id = ${early}`;
    await sweepWebhooks(h.sql);
    const states = async () => new Map((await h.deliveries(t, hook)).map(({ id, status }) => [id, status]));
    expect(await states()).toEqual(
      new Map([
        [early, "failed"],
        [late, "pending"],
      ]),
    );
    expect(h.receiver.asked(hook.path).length).toBe(2);
    h.receiver.responses.delete(hook.path);
    await t.parley.webhooks.update(hook.id, { enabled: true });
    await eventually(async () => (await states()).get(late) === "succeeded");
    expect((await states()).get(early)).toBe("failed");
  }, 120_000);
});

describe("between commit and send", () => {
  test("an event whose job is lost is sent all the same", async () => {
    const still = await startHarness();
    const own = await still.tenant();
    const agentId = await makeAgent(still, own);
    const hook = await h.hook(own, ["turn.ended"]);
    const queued = await open(still, own, "POST", sessionPath(agentId, null), { body: { message: script("text=hi") } });
    await own.call("POST", sessionPath(agentId, queued.sessionId, "/cancel"));
    expect(await runAfterJobs(still)).toBe(1);
    const { count } = await still.sql`
      delete from graphile_worker._private_jobs where key = ${`webhook.deliver:${hook.id}`}`;
    expect(count).toBe(1);
    await still.startWorkers();
    const [message] = await h.received(hook, 1);
    expect(message?.event).toMatchObject({
      type: "turn.ended",
      data: { ids: { turnId: queued.turnId }, status: "canceled" },
    });
    await still.stop();
  }, 120_000);
});

describe("neighbours", () => {
  test("twenty webhooks that say nothing, each with a backlog, delay no other tenant's", async () => {
    const hostile = await h.tenant();
    const held = Promise.withResolvers<void>();
    const hooks: Hook[] = [];
    for (let made = 0; made < 20; made += 1) {
      const hook = await h.hook(hostile, ["run.ended"]);
      for (let n = 0; n < 10; n += 1) h.receiver.injectFault(hook.path, held.promise);
      hooks.push(hook);
    }
    await Promise.all(hooks.map((hook) => insertDeliveries(h, hostile, hook, 50)));
    await eventually(() => hooks.every(({ path }) => h.receiver.asked(path).length > 0));
    const other = await h.tenant();
    const hook = await h.hook(other, ["run.ended"]);
    await insertDeliveries(h, other, hook, 20);
    await h.received(hook, 20);
    // None of the hostile tenant's had its response, or its time-out of 15 s, in the meantime.
    const states = await Promise.all(hooks.map((each) => hostile.parley.webhooks.get(each.id)));
    held.resolve();
    expect(states.filter(({ failingSince }) => failingSince !== null)).toEqual([]);
    for (const { id } of hooks) await hostile.parley.webhooks.delete(id);
  }, 120_000);
});

describe("what is kept", () => {
  test("7 days after their end deliveries are deleted", async () => {
    const hook = await h.hook(t, ["run.ended"]);
    const [old = "", young = ""] = [
      (await t.parley.webhooks.test(hook.id)).id,
      (await t.parley.webhooks.test(hook.id)).id,
    ];
    await h.sql`update webhook_deliveries set finished_at = now() - interval '7 days' where id = ${old}`;
    await h.sql`update webhook_deliveries set finished_at = now() - interval '6 days 23 hours' where id = ${young}`;
    await sweepWebhooks(h.sql);
    expect((await h.deliveries(t, hook)).map(({ id }) => id)).toEqual([young]);
  });

  test("the newest 100,000 of a webhook, whatever became of the others", async () => {
    const hook = await h.hook(t, ["run.ended"], { enabled: false });
    const insert = (from: number, upTo: number) => h.sql`
      insert into webhook_deliveries (id, webhook_id, tenant_id, type, ids, event_status, occurred_at)
      select 'whd_' || lpad(n::text, 24, '0'), ${hook.id}, ${t.id}, 'run.ended', '{}', 'failed', now() + n * interval '1 millisecond'
      from generate_series(${from}::int, ${upTo}::int) n`;
    for (let at = 0; at < 100_000; at += 10_000) await insert(at + 1, at + 10_000);
    await sweepWebhooks(h.sql);
    expect(await rowsOf(hook)).toBe(100_000);
    await insert(100_001, 101_500);
    await sweepWebhooks(h.sql);
    expect(await rowsOf(hook)).toBe(100_000);
    const [oldest] =
      await h.sql`select id from webhook_deliveries where webhook_id = ${hook.id} order by occurred_at limit 1`;
    expect(oldest?.id).toBe(`whd_${"1501".padStart(24, "0")}`);
  }, 120_000);
});
