import { describe, expect, test } from "bun:test";
import { deleteTenant } from "../../src/tenants/purge.ts";
import { eventually } from "../harness/harness.ts";
import { type Merchant, useMerchants } from "../harness/merchant-fixture.ts";
import { open, play, script, sessionPath } from "../harness/turns.ts";

const h = await useMerchants();

const root = "/v1/merchant-connection";
const ingest = "/v1/events/ingest";
const meterEvents = "/v1/billing/meter_events";
const down = { status: 503, body: { error: "ServiceUnavailable" } };

/** The ingestions that carried an event. */
const sendsOf = (id: string) => h.polar.asked(ingest).filter(({ text }) => text.includes(id));
const eventsOf = async (m: Merchant) => (await m.call("GET", "/v1/merchant-usage-events")).body.events;
const retry = (m: Merchant, { id }: { id: string }) => m.call("POST", `/v1/merchant-usage-events/${id}/retry`);

/** A merchant on Polar whose user `anna` is bound. */
async function boundMerchant() {
  const m = await h.merchant();
  const connection = await m.connect("polar");
  return { m, connection, customerId: await m.bind("anna") };
}

describe("what is recorded and sent", () => {
  test("a cancelled turn's event carries the estimate that it was metered with, which the usage sums too", async () => {
    const { m } = await boundMerchant();
    const live = await open(h, m, "POST", sessionPath(m.agentId, null), {
      body: { message: script("size=4000 chunks=2 delayMs=5 hangAfterChunks=2"), userId: "anna" },
    });
    for (let came = 0; came < 4_000; ) came += ((await live.until("text-delta")).delta as string).length;
    await m.call("POST", sessionPath(m.agentId, live.sessionId, "/cancel"));
    await live.rest();
    const { id, inputTokens, outputTokens } = await m.event(live.turnId, "accepted");
    expect(outputTokens).toBe(1_000);
    expect(inputTokens).toBeGreaterThan(0);
    expect(sendsOf(id)[0]?.text).toContain('"output_tokens":1000');
    const { totals } = (await m.call("GET", "/v1/usage?groupBy=day")).body;
    expect(totals).toMatchObject({ inputTokens, outputTokens, requestCount: 1 });
  });

  test("a turn is one event, delivered with the payload that is shown", async () => {
    const { m, connection, customerId } = await boundMerchant();
    const played = await play(m, m.agentId, null, {
      message: script('text="four words of answer" chunks=2'),
      userId: "anna",
    });
    const event = await m.event(played.turnId, "accepted");
    const [usage] = await h.sql`select input_tokens, output_tokens from usage where turn_id = ${played.turnId}`;
    const tokens = { inputTokens: usage?.inputTokens, outputTokens: usage?.outputTokens };
    const totalTokens = tokens.inputTokens + tokens.outputTokens;
    expect(totalTokens).toBeGreaterThan(0);
    const payload = {
      events: [
        {
          customer_id: customerId,
          external_id: event.id,
          name: "parley.model_tokens.v1",
          timestamp: event.occurredAt,
          metadata: {
            agent_id: m.agentId,
            parley_event_id: event.id,
            input_tokens: tokens.inputTokens,
            model: "simulated/model",
            model_provider: "custom",
            output_tokens: tokens.outputTokens,
            session_id: played.sessionId,
            status: "succeeded",
            total_tokens: totalTokens,
            turn_id: played.turnId,
          },
        },
      ],
    };
    expect(event).toEqual({
      id: expect.stringMatching(/^mev_[0-9a-z]{24}$/),
      turnId: played.turnId,
      connectionId: connection.id,
      provider: "billing_a",
      userId: "anna",
      customerId,
      agentId: m.agentId,
      sessionId: played.sessionId,
      model: "simulated/model",
      modelProvider: "custom",
      ...tokens,
      totalTokens,
      turnStatus: "succeeded",
      startedAt: expect.any(String),
      occurredAt: expect.any(String),
      status: "accepted",
      payload,
      attemptCount: 1,
      attemptGeneration: 1,
      lastAttemptAt: expect.any(String),
      lastErrorCode: null,
      acceptedAt: expect.any(String),
      workflowIssue: null,
      nextAction: "none",
    });
    expect(event.startedAt <= event.occurredAt).toBe(true);
    const [sent] = sendsOf(event.id);
    expect([sent?.token, JSON.parse(sent?.text ?? "")]).toEqual([m.polarToken, payload]);
  });

  test("at Stripe it is a meter event: total tokens under the event's id", async () => {
    const m = await h.merchant();
    await m.connect("stripe");
    const customer = await m.bind("anna");
    const event = await m.event(await m.turn("anna"), "accepted");
    expect(h.stripe.events.get(event.id)).toEqual({
      event_name: "parley.model_tokens.v1",
      identifier: event.id,
      timestamp: Math.floor(Date.parse(event.occurredAt) / 1000),
      customer,
      value: String(event.totalTokens),
    });
    expect(event).toMatchObject({ provider: "billing_b", customerId: customer });
  });

  test("failed, cancelled and stateless turns, and each turn of a session, with the tokens used so far", async () => {
    const { m } = await boundMerchant();
    const failed = await m.event(await m.turn("anna", "errorStatus=500"), "accepted");
    expect(failed).toMatchObject({ turnStatus: "failed", totalTokens: 0, model: "simulated/model" });
    const live = await open(h, m, "POST", sessionPath(m.agentId, null), {
      body: { message: script("hangAfterChunks=1"), userId: "anna" },
    });
    await live.until("text-delta");
    await m.call("POST", sessionPath(m.agentId, live.sessionId, "/cancel"));
    expect((await m.event(live.turnId, "accepted")).turnStatus).toBe("canceled");
    const generated = await m.call("POST", `/v1/agents/${m.agentId}/generate`, {
      body: { messages: [script("chunks=1")], userId: "anna", stream: false },
    });
    const stateless = await m.event(generated.headers.get("x-turn-id") ?? "", "accepted");
    expect(stateless.sessionId).toBe("");
    const { events } = stateless.payload as { events: { metadata: object }[] };
    expect(events[0]?.metadata).not.toHaveProperty("session_id");
    expect(stateless.totalTokens).toBeGreaterThan(0);
    const first = await play(m, m.agentId, null, { message: script("chunks=1"), userId: "anna" });
    const second = await play(m, m.agentId, first.sessionId, { message: script("chunks=1") });
    await m.event(first.turnId, "accepted");
    expect((await m.event(second.turnId, "accepted")).userId).toBe("anna");
    expect(await eventsOf(m)).toHaveLength(5);
  });

  test("a turn that stops to ask is one event, when it has ended, with the sum of its calls", async () => {
    const { m } = await boundMerchant();
    const fields = { tools: ["memory"], approvalInChat: { default: "manual" } };
    expect((await m.call("PUT", `/v1/agents/${m.agentId}`, { body: fields })).status).toBe(200);
    const message = script('tool=memory_save args={"text":"likes tea"} ; text="Done."');
    const asked = await play(m, m.agentId, null, { message, userId: "anna" });
    const approval = asked.chunks.find(({ type }) => type === "tool-approval-request");
    expect(await eventsOf(m)).toEqual([]);
    const path = sessionPath(m.agentId, asked.sessionId, `/tool-approvals/${approval?.approvalId}`);
    expect((await m.call("POST", path, { body: { approved: true } })).status).toBe(202);
    const event = await m.event(asked.turnId, "accepted");
    const [usage] = await h.sql`
      select input_tokens + output_tokens as tokens, model_calls from turns where id = ${asked.turnId}`;
    expect([event.totalTokens, usage?.modelCalls]).toEqual([usage?.tokens, 2]);
    expect(await eventsOf(m)).toHaveLength(1);
  });

  test("nothing while monetization is off, without a connection, or after it was deleted", async () => {
    const { m } = await boundMerchant();
    await h.sql`update tenants set monetization = false where id = ${m.id}`;
    await m.turn("anna");
    await h.sql`update tenants set monetization = true where id = ${m.id}`;
    await m.call("DELETE", root);
    await m.turn("anna");
    expect(await eventsOf(m)).toEqual([]);
  });

  test("a user without a binding is held as unmapped until bound and released; a deleted binding makes later usage so", async () => {
    const { m } = await boundMerchant();
    const held = await m.event(await m.turn("berta"), "unmapped");
    expect(held).toMatchObject({ customerId: null, payload: null, attemptCount: 0 });
    const tenants = await m.event(await m.turn(""), "unmapped");
    expect(tenants.userId).toBe("");
    const customerId = await m.bind("berta");
    const later = await m.event(await m.turn("berta"), "accepted");
    expect([later.customerId, (await m.event(held.turnId, "unmapped")).id]).toEqual([customerId, held.id]);
    const released = await m.call("POST", `/v1/merchant-usage-events/${held.id}/release`);
    expect([released.status, released.body]).toMatchObject([200, { status: "pending", customerId }]);
    expect(await m.event(held.turnId, "accepted")).toMatchObject({ customerId, attemptGeneration: 2 });
    await m.call("DELETE", `${root}/bindings/berta`);
    await m.event(await m.turn("berta"), "unmapped");
  });
});

describe("what becomes of a delivery", () => {
  test("a refused connection: pending, and accepted once the provider is back; new events wait with it", async () => {
    const { m } = await boundMerchant();
    await h.polar.stop();
    const first = await m.turn("anna");
    await eventually(async () => (await m.event(first, "pending")).lastErrorCode === "provider_unreachable");
    const second = await m.turn("anna");
    await h.polar.start();
    expect((await m.event(first, "accepted")).attemptCount).toBeGreaterThan(1);
    await m.event(second, "accepted");
  }, 60_000);

  test("4xx: failed, and sent again when a person says so", async () => {
    const { m } = await boundMerchant();
    h.polar.injectFault(ingest, { status: 422, body: { error: "RequestValidationError", detail: [] } }, m.polarToken);
    const event = await m.event(await m.turn("anna"), "failed");
    expect(event).toMatchObject({ lastErrorCode: "RequestValidationError", attemptCount: 1, nextAction: "retry" });
    expect((await retry(m, event)).status).toBe(200);
    expect(await m.event(event.turnId, "accepted")).toMatchObject({ attemptCount: 2, attemptGeneration: 2 });
    h.polar.injectFault(ingest, { status: 401, body: { error: "Unauthorized" } }, m.polarToken);
    expect((await m.event(await m.turn("anna"), "failed")).lastErrorCode).toBe("credential_refused");
  });

  for (const fault of ["cut before", "cut after"] as const)
    test(`a connection ${fault} it was read: uncertain, not sent again by itself, counted once at last`, async () => {
      const { m } = await boundMerchant();
      h.polar.injectFault(ingest, fault, m.polarToken);
      const event = await m.event(await m.turn("anna"), "uncertain");
      expect(event).toMatchObject({ lastErrorCode: "connection_lost", attemptCount: 1, nextAction: "investigate" });
      await m.event(await m.turn("anna"), "accepted");
      expect(sendsOf(event.id)).toHaveLength(1);
      await retry(m, event);
      await m.event(event.turnId, "accepted");
      expect([sendsOf(event.id).length, h.polar.events.has(event.id)]).toEqual([2, true]);
    });

  test("a success whose body is cut is one", async () => {
    const { m } = await boundMerchant();
    h.polar.injectFault(ingest, "half", m.polarToken);
    expect(await m.event(await m.turn("anna"), "accepted")).toMatchObject({ attemptCount: 1, lastErrorCode: null });
  });

  test("a batch: one that is refused fails alone", async () => {
    const { m } = await boundMerchant();
    const doomed = await m.bind("berta");
    await h.polar.stop();
    const turns: string[] = [];
    for (const user of ["anna", "anna", "berta", "anna", "anna", "anna"]) turns.push(await m.turn(user));
    h.polar.customers.delete(doomed);
    await h.polar.start();
    const before = h.polar.asked(ingest).length;
    for (const [index, turnId] of turns.entries()) await m.event(turnId, index === 2 ? "failed" : "accepted");
    expect(h.polar.asked(ingest).length - before).toBeLessThan(10);
    expect(
      [...h.polar.events.values()].filter(({ metadata }) => turns.includes(String(metadata.turn_id))),
    ).toHaveLength(5);
  }, 60_000);

  test("Stripe: what it has already is accepted, what is too old for it expires, what it refuses fails", async () => {
    const m = await h.merchant();
    await m.connect("stripe");
    const customer = await m.bind("anna");
    h.stripe.injectFault(meterEvents, "cut after", m.stripeKey);
    const unsure = await m.event(await m.turn("anna"), "uncertain");
    await retry(m, unsure);
    await m.event(unsure.turnId, "accepted");
    h.stripe.injectFault(
      meterEvents,
      { status: 400, body: { error: { type: "invalid_request_error", message: "no" } } },
      m.stripeKey,
    );
    const failed = await m.event(await m.turn("anna"), "failed");
    expect(failed.lastErrorCode).toBe("invalid_request_error");
    await h.sql`update merchant_events set occurred_at = now() - interval '36 days' where id = ${failed.id}`;
    await retry(m, failed);
    expect(await m.event(failed.turnId, "expired")).toMatchObject({ lastErrorCode: "too_old", attemptCount: 1 });
    h.stripe.injectFault(
      meterEvents,
      { status: 400, body: { error: { code: "timestamp_too_far_in_past" } } },
      m.stripeKey,
    );
    await m.event(await m.turn("anna"), "expired");
    h.stripe.customers.delete(customer);
    expect((await m.event(await m.turn("anna"), "failed")).lastErrorCode).toBe("resource_missing");
  });
});

describe("the connection of an event", () => {
  test("disconnected: usage is recorded, deliveries fail, and are retried once it is active again", async () => {
    const { m } = await boundMerchant();
    await m.call("PATCH", root, { body: { status: "disconnected" } });
    const event = await m.event(await m.turn("anna"), "failed");
    expect(event).toMatchObject({ lastErrorCode: "connection_disconnected", attemptCount: 0, nextAction: "retry" });
    await retry(m, event);
    await m.event(event.turnId, "failed");
    expect(sendsOf(event.id)).toEqual([]);
    await m.call("PATCH", root, { body: { status: "active" } });
    await retry(m, event);
    await m.event(event.turnId, "accepted");
  });
});

describe("what takes a while", () => {
  test.concurrent("5xx and 429: pending, again by itself within 10 s, and accepted", async () => {
    const { m } = await boundMerchant();
    for (const fault of [down, { status: 429, body: {}, headers: { "retry-after": "1" } }]) {
      h.polar.injectFault(ingest, fault, m.polarToken);
      const turnId = await m.turn("anna");
      const waiting = await m.event(turnId, "pending");
      expect(waiting).toMatchObject({ nextAction: "wait", workflowIssue: null });
      const event = await m.event(turnId, "accepted", 10_000);
      expect(event).toMatchObject({ attemptCount: 2, attemptGeneration: 1 });
    }
  }, 60_000);

  test.concurrent("a provider that never responds: uncertain after 10 s", async () => {
    const { m } = await boundMerchant();
    const released = Promise.withResolvers<void>();
    h.polar.injectFault(ingest, released.promise, m.polarToken);
    const event = await m.event(await m.turn("anna"), "uncertain");
    released.resolve();
    expect(event.lastErrorCode).toBe("timed_out");
  }, 60_000);

  test.concurrent("events are delivered with their own credential after it was replaced or deleted", async () => {
    const { m, connection } = await boundMerchant();
    h.polar.injectFault(ingest, down, m.polarToken);
    const replaced = await m.turn("anna");
    await m.event(replaced, "pending");
    await m.connect("stripe");
    expect(await m.event(replaced, "accepted")).toMatchObject({ connectionId: connection.id });
    await m.bind("anna");
    h.stripe.injectFault(meterEvents, down, m.stripeKey);
    const deleted = await m.turn("anna");
    await m.event(deleted, "pending");
    await m.call("DELETE", root);
    const event = await m.event(deleted, "accepted");
    expect([event.provider, h.stripe.events.has(event.id)]).toEqual(["billing_b", true]);
  }, 60_000);

  test.concurrent("a tenant that ends leaves no credential, once what was pending is sent", async () => {
    const { m, connection } = await boundMerchant();
    h.polar.injectFault(ingest, down, m.polarToken);
    const turnId = await m.turn("anna");
    const { id } = await m.event(turnId, "pending");
    expect(await deleteTenant(h.sql, m.id)).toBe("ended");
    await eventually(() => h.polar.events.has(id));
    await eventually(async () => {
      const [row] = await h.sql`select sealed_credential from merchant_connections where id = ${connection.id}`;
      return row?.sealedCredential.length === 0;
    });
  }, 60_000);
});
