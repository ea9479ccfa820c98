import { describe, expect, test } from "bun:test";
import type { WebhookDelivery } from "parley/client";
import { eventually } from "../harness/harness.ts";
import { insertDeliveries, skipPauses, useWebhooks } from "../harness/webhook-fixture.ts";
import { startLoopback } from "../servers/loopback.ts";
import type { StandInResponse } from "../servers/stand-in.ts";

const h = await useWebhooks();
const t = await h.tenant();

const down = { status: 503, body: {} };
const ended = ({ status }: WebhookDelivery) => status !== "pending";
const tried =
  (attempts: number) =>
  ({ attemptCount, attempts: made }: WebhookDelivery) =>
    attemptCount === attempts && made.length === attempts;

/** A webhook with one event on its way, whose receiver responds like this. */
async function hookWith(response: StandInResponse | null) {
  const hook = await h.hook(t, ["run.ended"]);
  if (response !== null) h.receiver.responses.set(hook.path, response);
  const [id = ""] = await insertDeliveries(h, t, hook);
  return { hook, id };
}

describe("an attempt", () => {
  test("delivered: a POST of the event, signed, and a record of it", async () => {
    const { hook, id } = await hookWith(null);
    const delivery = await h.delivery(t, hook, ended);
    const [message] = await h.received(hook, 1);
    expect(message?.id).toBe(id);
    expect(message?.request).toMatchObject({ method: "POST", token: "" });
    expect(message?.request.headers).toMatchObject({ "content-type": "application/json" });
    expect(message?.request.headers["user-agent"]).toStartWith("Parley/");
    const { type, timestamp, data } = delivery;
    expect(message?.event as unknown).toEqual({ type, timestamp, data });
    expect(delivery).toMatchObject({ id, webhookId: hook.id, status: "succeeded", attemptCount: 1 });
    expect(delivery.attempts).toEqual([
      { at: expect.any(String), statusCode: 200, ms: expect.any(Number), error: null },
    ]);
    expect([delivery.nextAttemptAt, delivery.finishedAt]).toEqual([null, expect.any(String)]);
  });

  test("not delivered: again by itself after 5 s, with the same id and body and a signature of its own", async () => {
    const { hook, id } = await hookWith(down);
    const first = await h.delivery(t, hook, tried(1));
    expect(first).toMatchObject({ status: "pending", attempts: [{ statusCode: 503, error: "status" }] });
    const pauseMs = Date.parse(first.nextAttemptAt ?? "") - Date.parse(first.attempts[0]?.at ?? "");
    expect(pauseMs).toBeGreaterThanOrEqual(5_000);
    expect(pauseMs).toBeLessThan(30_000);
    h.receiver.responses.delete(hook.path);
    expect(await h.delivery(t, hook, ended)).toMatchObject({ id, status: "succeeded", attemptCount: 2 });
    const [one, two] = await h.received(hook, 2);
    expect([one?.id, two?.id]).toEqual([id, id]);
    expect(one?.request.text).toBe(two?.request.text ?? "");
    const [before = "", after = ""] = [one, two].map((message) =>
      String(message?.request.headers["webhook-timestamp"]),
    );
    expect(Number(after) - Number(before)).toBeGreaterThanOrEqual(4);
  }, 120_000);

  test("a redirect counts as not delivered and is not followed", async () => {
    const { hook } = await hookWith({ status: 307, body: {}, headers: { location: `${h.receiver.url}/elsewhere` } });
    const delivery = await h.delivery(t, hook, tried(1));
    expect(delivery.attempts).toMatchObject([{ statusCode: 307, error: "redirect" }]);
    expect(h.receiver.asked("/elsewhere")).toEqual([]);
    await t.parley.webhooks.delete(hook.id);
  });

  test("a Retry-After in seconds makes the pause longer, up to 6 hours", async () => {
    for (const [asked, pause] of [
      ["600", 600],
      ["999999999", 21_600],
    ] as const) {
      const { hook, id } = await hookWith({ status: 429, body: {}, headers: { "retry-after": asked } });
      await h.delivery(t, hook, tried(1));
      const [row] = await h.sql`
        select extract(epoch from next_attempt_at - last_attempt_at)::float8 as pause from webhook_deliveries where id = ${id}`;
      expect(row?.pause).toBeGreaterThanOrEqual(pause);
      expect(row?.pause).toBeLessThan(pause + 30);
      await t.parley.webhooks.delete(hook.id);
    }
  });

  test("a body without end is not read to its end: the status has come", async () => {
    const page = "x".repeat(64 * 1024);
    let closed = false;
    const endless = await startLoopback((request, response) => {
      request.resume();
      response.on("close", () => {
        closed = true;
      });
      const write = () => {
        while (!response.destroyed && response.write(page));
        if (!response.destroyed) response.once("drain", write);
      };
      write();
    });
    const hook = await h.hook(t, ["run.ended"], { url: endless.origin });
    await insertDeliveries(h, t, hook);
    expect(await h.delivery(t, hook, ended)).toMatchObject({ status: "succeeded", attemptCount: 1 });
    await eventually(() => closed);
    endless.stop();
  });

  test("one that names no server", async () => {
    const hook = await h.hook(t, ["run.ended"], { url: "http://127.0.0.1:9/" });
    await insertDeliveries(h, t, hook);
    const delivery = await h.delivery(t, hook, tried(1));
    expect(delivery.attempts).toMatchObject([{ statusCode: null, error: "unreachable" }]);
    await t.parley.webhooks.delete(hook.id);
  });

  test("a receiver that says nothing has 15 s, and delays its own webhook only", async () => {
    const held = Promise.withResolvers<void>();
    const silent = await h.hook(t, ["run.ended"]);
    const [slow = ""] = await insertDeliveries(h, t, silent);
    h.receiver.injectFault(silent.path, held.promise);
    await eventually(() => h.receiver.asked(silent.path).length === 1);
    const { hook } = await hookWith(null);
    await h.delivery(t, hook, ended);
    expect(await h.deliveries(t, silent)).toMatchObject([{ id: slow, status: "pending", attempts: [] }]);
    const delivery = await h.delivery(t, silent, tried(1), 60_000);
    held.resolve();
    expect(delivery.attempts).toMatchObject([{ statusCode: null, error: "timed_out" }]);
    expect(delivery.attempts[0]?.ms).toBeGreaterThanOrEqual(14_000);
    await t.parley.webhooks.delete(silent.id);
  }, 120_000);

  test("the newest 32 are shown, all are counted", async () => {
    const { hook, id } = await hookWith(down);
    await h.delivery(t, hook, tried(1));
    const old = Array.from({ length: 32 }, (_, n) => ({
      at: "2026-01-01T00:00:00.000Z",
      statusCode: n,
      ms: 1,
      error: "status",
    }));
    await h.sql`update webhook_deliveries set attempts = ${h.sql.json(old)}, attempt_count = 32 where id = ${id}`;
    await skipPauses(h, hook);
    const { attempts } = await h.delivery(
      t,
      hook,
      ({ attemptCount, attempts: made }) => attemptCount === 33 && made.at(-1)?.statusCode === 503,
    );
    expect([attempts.length, attempts[0]?.statusCode]).toEqual([32, 1]);
    await t.parley.webhooks.delete(hook.id);
  });
});

describe("pauses", () => {
  test("as long as it was tried for, at most 6 hours; the last attempt is made when 72 hours are over", async () => {
    const { hook, id } = await hookWith(down);
    await h.delivery(t, hook, tried(1));
    const [minute, hour] = [60, 3_600];
    let attempts = 1;
    for (const [age, pause] of [
      [minute, minute],
      [hour, hour],
      [10 * hour, 6 * hour],
      [71 * hour, hour],
    ] as const) {
      await h.sql`update webhook_deliveries set trying_since = now() - make_interval(secs => ${age}) where id = ${id}`;
      await skipPauses(h, hook);
      attempts += 1;
      await h.delivery(t, hook, tried(attempts));
      const [row] = await h.sql`
        select extract(epoch from next_attempt_at - last_attempt_at)::float8 as pause from webhook_deliveries where id = ${id}`;
      // Of what was moved, some seconds go by until the attempt.
      expect(Math.abs(row?.pause - pause)).toBeLessThan(30);
    }
    await h.sql`update webhook_deliveries set trying_since = now() - interval '72 hours' where id = ${id}`;
    await skipPauses(h, hook);
    const failed = await h.delivery(t, hook, ended);
    expect(failed).toMatchObject({ status: "failed", attemptCount: attempts + 1, nextAttemptAt: null });
    expect(failed.finishedAt).not.toBeNull();
    await t.parley.webhooks.delete(hook.id);
  }, 120_000);
});

describe("POST …/deliveries/:deliveryId/retry", () => {
  const retry = (hook: { id: string }, id: string) => t.parley.webhookDeliveries.retry(hook.id, id);

  test("one that failed is sent again at once with its id, and has another 72 hours", async () => {
    const { hook, id } = await hookWith(down);
    await h.delivery(t, hook, tried(1));
    await h.sql`update webhook_deliveries set trying_since = now() - interval '73 hours' where id = ${id}`;
    await skipPauses(h, hook);
    await h.delivery(t, hook, ended);
    const again = await retry(hook, id);
    expect(again).toMatchObject({ id, status: "pending", finishedAt: null });
    const third = await h.delivery(t, hook, tried(3));
    expect(third.status).toBe("pending");
    h.receiver.responses.delete(hook.path);
    await retry(hook, id);
    expect(await h.delivery(t, hook, ended)).toMatchObject({ status: "succeeded", attemptCount: 4 });
    expect(new Set((await h.received(hook, 4)).map((message) => message.id))).toEqual(new Set([id]));
  }, 120_000);

  test("409 webhook_disabled: while the webhook is disabled; one that succeeded is sent again too", async () => {
    const { hook, id } = await hookWith(null);
    await h.delivery(t, hook, ended);
    await retry(hook, id);
    expect((await h.received(hook, 2)).map((message) => message.id)).toEqual([id, id]);
    await h.delivery(t, hook, (delivery) => ended(delivery) && delivery.attemptCount === 2);
    await t.parley.webhooks.update(hook.id, { enabled: false });
    const refused = await t.call("POST", `/v1/webhooks/${hook.id}/deliveries/${id}/retry`);
    expect([refused.status, refused.body.error.code]).toEqual([409, "webhook_disabled"]);
    expect(await h.deliveries(t, hook)).toMatchObject([{ status: "succeeded" }]);
  });
});

describe("POST …/test", () => {
  test("sent once, by the request, to a disabled webhook too, and listed like any other", async () => {
    const hook = await h.hook(t, ["run.ended"], { enabled: false });
    const delivery = await t.parley.webhooks.test(hook.id);
    const data = { ids: { webhookId: hook.id }, status: "test" };
    expect(delivery).toMatchObject({ type: "webhook.test", data, status: "succeeded", attemptCount: 1 });
    const [message] = await h.received(hook, 1);
    expect([message?.id, message?.event.data as unknown]).toEqual([delivery.id, data]);
    expect(await h.deliveries(t, hook)).toEqual([delivery]);
  });

  test("one that fails says why, is not repeated, and does not count against the webhook", async () => {
    const hook = await h.hook(t, ["run.ended"]);
    h.receiver.responses.set(hook.path, down);
    const delivery = await t.parley.webhooks.test(hook.id);
    expect(delivery).toMatchObject({
      status: "failed",
      attempts: [{ statusCode: 503, error: "status" }],
      nextAttemptAt: null,
    });
    expect(await t.parley.webhooks.get(hook.id)).toMatchObject({ enabled: true, failingSince: null });
  });
});
