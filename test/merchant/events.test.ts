import { beforeEach, describe, expect, test } from "bun:test";
import type { Form } from "../../src/kernel/errors.ts";
import { type UsageEventStatus, usageEventStatuses } from "../../src/merchant/schema.ts";
import { claimDue, markLostEvents, recordReceipts } from "../../src/merchant/states.ts";
import type { ApiResponse } from "../harness/harness.ts";
import { type Merchant, useMerchants } from "../harness/merchant-fixture.ts";
import { insertUsageEvent } from "../harness/seed.ts";
import { expectSameError, statusAndCode } from "../harness/status-and-code.ts";

const h = await useMerchants({ worker: false });
beforeEach(() => h.polar.calm());

const root = "/v1/merchant-usage-events";
const forms: Form[] = ["a", "b"];
const missing = "mev_000000000000000000000000";
const idsOf = ({ body }: ApiResponse) => body.events.map(({ id }: { id: string }) => id);

/** Writes an event as it stands in the ledger. */
function insertEvent(m: Merchant, connectionId: string, fields: Record<string, unknown> = {}): Promise<string> {
  return insertUsageEvent(h.sql, {
    tenant_id: m.id,
    connection_id: connectionId,
    agent_id: m.agentId,
    status: "pending",
    ...fields,
  });
}

const statusOf = async (m: Merchant, id: string) => {
  const { body } = await m.call("GET", `${root}?limit=200`);
  return body.events.find((event: { id: string }) => event.id === id);
};

describe("GET /v1/merchant-usage-events", () => {
  test("200: newest first over all connections, pages, a status; never another tenant's", async () => {
    const [m, other] = [await h.merchant(), await h.merchant()];
    const old = await m.connect("polar");
    const { id: connectionId } = await m.connect("polar");
    await insertEvent(other, (await other.connect("polar")).id);
    const at = (minute: number) => new Date(Date.UTC(2026, 0, 1, 0, minute));
    const made: string[] = [];
    for (const [minute, status] of (["accepted", "failed", "accepted", "failed", "failed"] as const).entries())
      made.unshift(
        await insertEvent(m, minute < 2 ? old.id : connectionId, {
          id: `mev_newest${minute}`.padEnd("mev_".length + 24, "0"),
          status,
          occurred_at: at(Math.floor(minute / 2)),
        }),
      );
    const list = (query: string, form: Form = "b") => m.call("GET", `${root}?${query}`, { form });
    expect(idsOf(await list(""))).toEqual(made);
    const first = await list("limit=2");
    const second = await list(`limit=2&cursor=${first.body.nextCursor}`, "a");
    const third = await list(`limit=2&cursor=${second.body.nextCursor}`);
    expect([...idsOf(first), ...idsOf(second), ...idsOf(third), third.body.nextCursor]).toEqual([...made, null]);
    expect(idsOf(await list("status=accepted"))).toEqual([made[2], made[4]]);
    expect(idsOf(await list("status=uncertain"))).toEqual([]);
    const failed = await list("status=failed&limit=1");
    expect(idsOf(await list(`status=failed&limit=2&cursor=${failed.body.nextCursor}`))).toEqual([made[1], made[3]]);
    expect(statusAndCode(await list(`limit=2&cursor=${failed.body.nextCursor}`))).toEqual([400, "invalid_cursor"]);
    for (const query of ["status=sent", "limit=0", "limit=201", "limit=x", "days=3", "status=failed&status=failed"]) {
      expect(statusAndCode(await list(query))).toEqual([400, "validation_failed"]);
      expect(statusAndCode(await list(query, "a"))).toEqual([400, "invalid_request"]);
    }
    expect(statusAndCode(await m.call("GET", root, { token: null }))).toEqual([401, "unauthorized"]);
  });

  test("200: what each status calls for", async () => {
    const m = await h.merchant();
    const retired = await m.connect("polar");
    const { id: connectionId } = await m.connect("polar");
    const actions: [string, Record<string, unknown>, string][] = [
      [connectionId, { status: "pending" }, "wait"],
      [connectionId, { status: "pending", workflow_issue: "automatic_delivery_ended", next_attempt_at: null }, "retry"],
      [connectionId, { status: "accepted" }, "none"],
      [connectionId, { status: "failed" }, "retry"],
      [connectionId, { status: "uncertain" }, "investigate"],
      [connectionId, { status: "incomplete" }, "investigate"],
      [connectionId, { status: "unmapped", customer_id: null }, "bind_and_release"],
      [connectionId, { status: "unmapped", customer_id: null, user_id: "" }, "discard"],
      [retired.id, { status: "unmapped", customer_id: null }, "discard"],
      [connectionId, { status: "discarded" }, "none"],
      [connectionId, { status: "expired" }, "none"],
    ];
    for (const [connection, fields, nextAction] of actions) {
      const event = await statusOf(m, await insertEvent(m, connection, fields));
      expect([fields.status, event.nextAction]).toEqual([fields.status, nextAction]);
      const reportable = fields.status !== "incomplete" && fields.customer_id !== null;
      expect([fields.status, event.payload === null]).toEqual([fields.status, !reportable]);
    }
  });
});

describe("POST /v1/merchant-usage-events/:id/retry, /release, /discard", () => {
  const allowed: Record<string, UsageEventStatus[]> = {
    retry: ["failed", "uncertain"],
    release: ["unmapped"],
    discard: ["failed", "unmapped", "uncertain"],
  };

  for (const form of forms)
    test(`409 merchant_event_state: by status, or 200 (form ${form})`, async () => {
      const m = await h.merchant();
      const { id: connectionId } = await m.connect("polar");
      const customerId = await m.bind("anna");
      for (const [action, from] of Object.entries(allowed))
        for (const status of usageEventStatuses) {
          const customer_id = status === "unmapped" ? null : customerId;
          const id = await insertEvent(m, connectionId, { status, customer_id, last_error_code: "x" });
          const response = await m.call("POST", `${root}/${id}/${action}`, { form });
          const expected = from.includes(status) ? [200, undefined] : [409, "merchant_event_state"];
          expect([action, status, ...statusAndCode(response)]).toEqual([action, status, ...expected]);
          const event = await statusOf(m, id);
          if (!from.includes(status)) expect(event.status).toBe(status);
          else if (action === "discard") expect(event).toMatchObject({ status: "discarded", attemptGeneration: 1 });
          else
            expect(event).toMatchObject({ status: "pending", customerId, attemptGeneration: 2, lastErrorCode: null });
          if (response.status === 200) expect(response.body).toEqual(event);
        }
    });

  test("200: a pending event that automatic delivery gave up on is retried", async () => {
    const m = await h.merchant();
    const { id: connectionId } = await m.connect("polar");
    const gaveUp = { workflow_issue: "automatic_delivery_ended", next_attempt_at: null };
    const id = await insertEvent(m, connectionId, gaveUp);
    const response = await m.call("POST", `${root}/${id}/retry`);
    expect([response.status, response.body]).toMatchObject([200, { status: "pending", workflowIssue: null }]);
  });

  test("409 merchant_event_state: release without a binding; 200 with one of the same account, when the event's connection was replaced", async () => {
    const m = await h.merchant();
    const first = await m.connect("polar");
    const unmapped = { status: "unmapped", customer_id: null };
    const id = await insertEvent(m, first.id, unmapped);
    const release = () => m.call("POST", `${root}/${id}/release`);
    expect(statusAndCode(await release())).toEqual([409, "merchant_event_state"]);
    await m.connect("stripe");
    await m.bind("anna");
    expect(statusAndCode(await release())).toEqual([409, "merchant_event_state"]);
    await m.connect("polar");
    const customerId = await m.bind("anna");
    const released = await release();
    expect([released.status, released.body]).toMatchObject([200, { customerId, connectionId: first.id }]);
    const bound = await insertEvent(m, first.id, { ...unmapped, user_id: "berta" });
    await h.sql`
      insert into merchant_bindings (connection_id, user_id, customer_id) values (${first.id}, 'berta', 'customer-b')`;
    await m.bind("berta");
    await m.call("DELETE", "/v1/merchant-connection");
    const own = await m.call("POST", `${root}/${bound}/release`);
    expect([own.status, own.body.customerId]).toEqual([200, "customer-b"]);
  });

  test("404 not_found: missing and foreign events alike; 400 for ids of another shape", async () => {
    const [m, other] = [await h.merchant(), await h.merchant()];
    const { id: connectionId } = await other.connect("polar");
    const foreign = await insertEvent(other, connectionId, { status: "failed" });
    for (const action of Object.keys(allowed))
      for (const form of forms) {
        const post = (id: string) => m.call("POST", `${root}/${id}/${action}`, { form });
        const [unknown, hidden] = [await post(missing), await post(foreign)];
        expect(statusAndCode(unknown)).toEqual([404, "not_found"]);
        expectSameError(hidden, unknown);
        expect((await post("mev_1")).status).toBe(400);
        expect((await post(m.agentId)).status).toBe(400);
      }
    expect((await statusOf(other, foreign)).status).toBe("failed");
  });

  test("200: an Idempotency-Key retries once", async () => {
    const m = await h.merchant();
    const { id: connectionId } = await m.connect("polar");
    const id = await insertEvent(m, connectionId, { status: "failed" });
    const retry = () => m.call("POST", `${root}/${id}/retry`, { headers: { "idempotency-key": "k" } });
    const [first, again] = [await retry(), await retry()];
    expect([again.status, again.body]).toEqual([200, first.body]);
  });
});

describe("GET /v1/merchant-usage-events/summary", () => {
  test("200: all-time counts, the last acceptance, the oldest that waits, one row a day", async () => {
    const [m, other] = [await h.merchant(), await h.merchant()];
    const { id: connectionId } = await m.connect("polar");
    await insertEvent(other, (await other.connect("polar")).id);
    const noon = new Date(new Date().setUTCHours(12, 0, 0, 0) - 24 * 3_600_000);
    const daysAgo = (days: number) => new Date(noon.getTime() - (days - 1) * 24 * 3_600_000);
    const accepted_at = new Date("2026-01-02T03:04:05.678Z");
    await insertEvent(m, connectionId, { status: "accepted", accepted_at, occurred_at: daysAgo(1) });
    await insertEvent(m, connectionId, { status: "accepted", accepted_at: new Date(0), occurred_at: daysAgo(1) });
    await insertEvent(m, connectionId, { status: "accepted", accepted_at: new Date(0), occurred_at: daysAgo(6) });
    await insertEvent(m, connectionId, { status: "pending", occurred_at: daysAgo(1) });
    await insertEvent(m, connectionId, { status: "pending", occurred_at: daysAgo(100) });
    await insertEvent(m, connectionId, { status: "failed", occurred_at: daysAgo(1) });
    const summary = async (query: string, form: Form = "b") => m.call("GET", `${root}/summary${query}`, { form });
    const { status, body } = await summary("?days=3");
    const day = (days: number) => daysAgo(days).toISOString().slice(0, 10);
    const none = { acceptedEvents: 0, acceptedTokens: 0, pendingEvents: 0 };
    expect([status, body]).toEqual([
      200,
      {
        counts: {
          ...Object.fromEntries(usageEventStatuses.map((name) => [name, 0])),
          accepted: 3,
          pending: 2,
          failed: 1,
        },
        lastAcceptedAt: accepted_at.toISOString(),
        oldestPendingAt: daysAgo(100).toISOString(),
        series: [
          { day: day(2), ...none },
          { day: day(1), acceptedEvents: 2, acceptedTokens: 74, pendingEvents: 1 },
          { day: day(0), ...none },
        ],
      },
    ]);
    expect((await summary("", "a")).body.series).toHaveLength(30);
    expect((await summary("?days=90")).body.series).toHaveLength(90);
    expect((await summary("?days=1")).body.series).toEqual([{ day: day(0), ...none }]);
    for (const query of ["?days=0", "?days=91", "?days=1.5", "?days=x", "?from=1"]) {
      expect(statusAndCode(await summary(query))).toEqual([400, "validation_failed"]);
      expect(statusAndCode(await summary(query, "a"))).toEqual([400, "invalid_request"]);
    }
  });

  test("200: a tenant without events", async () => {
    const { body } = await (await h.merchant()).call("GET", `${root}/summary`);
    expect([body.lastAcceptedAt, body.oldestPendingAt, body.counts.pending]).toEqual([null, null, 0]);
  });
});

describe("the ledger", () => {
  const accepted = { outcome: "accepted", code: null, retryAfterMs: null } as const;
  const request = (connectionId: string, workerId: string, limit = 10) => ({
    connectionId,
    workerId,
    limit,
    ageMaxMs: null,
  });

  test("workers that claim at once claim different events", async () => {
    const m = await h.merchant();
    const { id } = await m.connect("polar");
    for (let index = 0; index < 20; index++) await insertEvent(m, id);
    const claims = await Promise.all(["wk_1", "wk_2", "wk_3"].map((worker) => claimDue(h.sql, request(id, worker, 7))));
    const ids = claims.flatMap(({ events }) => events.map((event) => event.id));
    expect([new Set(ids).size, ids.length]).toEqual([20, 20]);
    expect((await claimDue(h.sql, request(id, "wk_4"))).events).toEqual([]);
    await h.sql`update merchant_events set sending_by = null where connection_id = ${id}`;
  });

  test("a send whose worker is gone is uncertain; its late receipt still counts, one of an earlier attempt does not", async () => {
    const m = await h.merchant();
    const { id: connectionId } = await m.connect("polar");
    const [late, stale] = [await insertEvent(m, connectionId), await insertEvent(m, connectionId)];
    const first = await claimDue(h.sql, request(connectionId, "wk_gone"));
    await markLostEvents(h.sql);
    for (const id of [late, stale])
      expect(await statusOf(m, id)).toMatchObject({ status: "uncertain", lastErrorCode: "worker_lost" });
    await m.call("POST", `${root}/${stale}/retry`);
    const receipts = first.events.map(() => accepted);
    await recordReceipts(h.sql, first.events, receipts);
    expect((await statusOf(m, late)).status).toBe("accepted");
    expect(await statusOf(m, stale)).toMatchObject({ status: "pending", acceptedAt: null, attemptCount: 1 });
    const second = await claimDue(h.sql, request(connectionId, "wk_gone"));
    await recordReceipts(h.sql, first.events, receipts);
    expect((await statusOf(m, stale)).status).toBe("pending");
    await recordReceipts(h.sql, second.events, receipts);
    expect(await statusOf(m, stale)).toMatchObject({ status: "accepted", attemptCount: 2, attemptGeneration: 2 });
  });

  test("a send of a living worker is left alone, for three minutes", async () => {
    const m = await h.merchant();
    const { id: connectionId } = await m.connect("polar");
    const id = await insertEvent(m, connectionId);
    await h.sql`insert into workers (id, application_name) values ('wk_lives', 'wk_lives')`;
    await claimDue(h.sql, request(connectionId, "wk_lives"));
    await markLostEvents(h.sql);
    expect((await statusOf(m, id)).status).toBe("pending");
    await h.sql`update merchant_events set last_attempt_at = now() - interval '181 s' where id = ${id}`;
    await markLostEvents(h.sql);
    expect((await statusOf(m, id)).status).toBe("uncertain");
  });

  test("pauses grow with the time tried, a day at most; a provider may ask for longer ones", async () => {
    const m = await h.merchant();
    const { id: connectionId } = await m.connect("polar");
    const later = { outcome: "later", code: "http_500" } as const;
    const pauseAfter = async (triedSeconds: number, retryAfterMs: number | null = null) => {
      const id = await insertEvent(m, connectionId);
      const { events } = await claimDue(h.sql, request(connectionId, "wk_1"));
      // Within a transaction time stands still.
      const [row] = await h.sql.begin(async (inner) => {
        await inner`
          update merchant_events set trying_since = now() - make_interval(secs => ${triedSeconds}) where id = ${id}`;
        await recordReceipts(inner, events, [{ ...later, retryAfterMs }]);
        return inner<{ seconds: number | null; issue: string | null }[]>`
          select extract(epoch from next_attempt_at - now())::float8 as seconds, workflow_issue as issue
          from merchant_events where id = ${id}`;
      });
      return row?.seconds ?? row?.issue;
    };
    expect([await pauseAfter(0), await pauseAfter(6), await pauseAfter(60), await pauseAfter(40_000)]).toEqual([
      4, 4, 30, 3600,
    ]);
    expect([await pauseAfter(0, 20_000), await pauseAfter(0, 10 ** 9)]).toEqual([20, 3600]);
    expect(await pauseAfter(24 * 3600 + 1)).toBe("automatic_delivery_ended");
  });
});
