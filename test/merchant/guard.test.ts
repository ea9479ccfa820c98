import { afterEach, beforeEach, describe, expect, setSystemTime, test } from "bun:test";
import type { Form } from "../../src/kernel/errors.ts";
import { EligibilityCache } from "../../src/merchant/eligibility.ts";
import { eventually } from "../harness/harness.ts";
import { type Merchant, useMerchants } from "../harness/merchant-fixture.ts";
import { statusAndCode } from "../harness/status-and-code.ts";
import { play, script, sessionPath } from "../harness/turns.ts";

const h = await useMerchants();
beforeEach(() => {
  h.polar.calm();
  h.stripe.calm();
});

const root = "/v1/merchant-connection";
const byProduct = { enabled: true, productIds: ["prod-1", "prod-2"], meterId: null };
const byMeter = { enabled: true, productIds: [], meterId: "meter-1" };
const byBoth = { enabled: true, productIds: ["prod-1"], meterId: "meter-1" };

/** Asks for a turn of a new session. */
const start = (m: Merchant, userId: string, form: Form = "b") =>
  play(m, m.agentId, null, { message: script("chunks=1"), userId, stream: false }, { form });
/** Nothing was written for this tenant: no session, no turn, no event. */
async function expectNothingWritten(m: Merchant) {
  const [row] = await h.sql`
    select (select count(*)::int from sessions where tenant_id = ${m.id}) as sessions,
      (select count(*)::int from turns where tenant_id = ${m.id}) as turns,
      (select count(*)::int from merchant_events where tenant_id = ${m.id}) as events`;
  expect(row).toEqual({ sessions: 0, turns: 0, events: 0 });
}

describe("the guard at Polar", () => {
  for (const form of ["a", "b"] as const)
    test(`402 merchant_subscription_required, merchant_balance_required, 403 merchant_customer_unmapped: before anything is written (form ${form})`, async () => {
      const m = await h.merchant();
      await m.connect("polar", byProduct);
      await m.bind("anna");
      expect(statusAndCode(await start(m, "anna", form))).toEqual([402, "merchant_subscription_required"]);
      expect(statusAndCode(await start(m, "nobody", form))).toEqual([403, "merchant_customer_unmapped"]);
      expect(statusAndCode(await start(m, "", form))).toEqual([403, "merchant_customer_unmapped"]);
      await m.connect("polar", byMeter);
      await m.bind("anna");
      expect(statusAndCode(await start(m, "anna", form))).toEqual([402, "merchant_balance_required"]);
      await expectNothingWritten(m);
      expect(h.model.requests().some(({ body }) => JSON.stringify(body).includes(m.id))).toBe(false);
    });

  test("201: any listed product, active or on trial; 402: another product, other statuses", async () => {
    const cases: [{ product_id: string; status: string }[], number][] = [
      [[{ product_id: "prod-1", status: "active" }], 201],
      [[{ product_id: "prod-2", status: "trialing" }], 201],
      [
        [
          { product_id: "prod-9", status: "active" },
          { product_id: "prod-2", status: "active" },
        ],
        201,
      ],
      [[{ product_id: "prod-9", status: "active" }], 402],
      [[{ product_id: "prod-1", status: "past_due" }], 402],
      [[{ product_id: "prod-1", status: "canceled" }], 402],
      [[], 402],
    ];
    const m = await h.merchant();
    await m.connect("polar", byProduct);
    for (const [index, [subscriptions, status]] of cases.entries()) {
      const customer = h.polar.customers.get(await m.bind(`user-${index}`));
      if (customer !== undefined) customer.subscriptions = subscriptions;
      expect([index, (await start(m, `user-${index}`)).status]).toEqual([index, status]);
    }
  });

  test("201 above a balance of 0 of the listed meter; with both set, both", async () => {
    const subscriptions = [{ product_id: "prod-1", status: "active" }];
    const cases: [object, { meter_id: string; balance: number }[], object[], (number | string)[]][] = [
      [byMeter, [{ meter_id: "meter-1", balance: 0.5 }], [], [201]],
      [byMeter, [{ meter_id: "meter-1", balance: 0 }], [], [402, "merchant_balance_required"]],
      [byMeter, [{ meter_id: "meter-1", balance: -1 }], [], [402, "merchant_balance_required"]],
      [byMeter, [{ meter_id: "meter-2", balance: 9 }], [], [402, "merchant_balance_required"]],
      [byBoth, [{ meter_id: "meter-1", balance: 9 }], subscriptions, [201]],
      [byBoth, [{ meter_id: "meter-1", balance: 9 }], [], [402, "merchant_subscription_required"]],
      [byBoth, [], subscriptions, [402, "merchant_balance_required"]],
    ];
    const m = await h.merchant();
    await m.connect("polar");
    for (const [index, [guard, meters, active, expected]] of cases.entries()) {
      await m.call("PATCH", root, { body: { guard } });
      const customer = h.polar.customers.get(await m.bind(`user-${index}`));
      if (customer !== undefined) Object.assign(customer, { meters, subscriptions: active });
      const response = await start(m, `user-${index}`);
      expect([index, ...statusAndCode(response)]).toEqual([index, expected[0], expected[1]]);
    }
  });

  test("402 merchant_subscription_required: a customer that is gone", async () => {
    const m = await h.merchant();
    await m.connect("polar", byProduct);
    h.polar.customers.delete(await m.bind("anna"));
    expect(statusAndCode(await start(m, "anna"))).toEqual([402, "merchant_subscription_required"]);
  });

  test("503 merchant_eligibility_unavailable: 5xx, 401, 429, cut, garbled, refused; nothing written, nothing remembered", async () => {
    const m = await h.merchant();
    await m.connect("polar", byProduct);
    const customerId = await m.bind("anna");
    h.polar.customers.set(customerId, {
      organizationId: m.organizationId,
      subscriptions: [{ product_id: "prod-1", status: "active" }],
      meters: [],
    });
    const path = `/v1/customers/${customerId}/state`;
    for (const fault of [
      { status: 500, body: {} },
      { status: 401, body: {} },
      { status: 429, body: {} },
      { status: 200, body: null },
      "cut before" as const,
      "half" as const,
    ]) {
      h.polar.injectFault(path, fault);
      expect(statusAndCode(await start(m, "anna"))).toEqual([503, "merchant_eligibility_unavailable"]);
    }
    await h.polar.stop();
    expect(statusAndCode(await start(m, "anna"))).toEqual([503, "merchant_eligibility_unavailable"]);
    await h.polar.start();
    await expectNothingWritten(m);
    expect((await start(m, "anna")).status).toBe(201);
  });

  test("a run that meets a provider that is away waits for it, ten minutes at most", async () => {
    const m = await h.merchant();
    await m.connect("polar", byProduct);
    /** A run that meets a provider that is away, of a customer who may run it. */
    const refusedRun = async (userId: string) => {
      const customerId = await m.bind(userId);
      const subscriptions = [{ product_id: "prod-1", status: "active" }];
      h.polar.customers.set(customerId, { organizationId: m.organizationId, subscriptions, meters: [] });
      const goAway = () => h.polar.injectFault(`/v1/customers/${customerId}/state`, { status: 500, body: {} });
      goAway();
      const task = { agentId: m.agentId, name: "n", prompt: "[[sim: chunks=1]]", userId };
      const { runId } = await m.parley.taskRuns.start((await m.parley.tasks.create(task)).task.id);
      const key = `task.run:${runId}`;
      await eventually(
        async () =>
          (await h.sql`select 1 from graphile_worker.jobs where key = ${key} and run_at > now() and attempts = 0`)
            .length > 0,
      );
      const status = async () =>
        (await h.sql<{ status: string }[]>`select status from task_runs where id = ${runId}`)[0]?.status;
      expect(await status()).toBe("queued");
      const tryNow = () => h.sql`update graphile_worker._private_jobs set run_at = now() where key = ${key}`;
      return { runId, goAway, status, tryNow };
    };
    const anna = await refusedRun("anna");
    await anna.tryNow();
    await eventually(async () => (await anna.status()) === "succeeded");

    const berta = await refusedRun("berta");
    await h.sql`update task_runs set created_at = now() - interval '11 minutes' where id = ${berta.runId}`;
    berta.goAway();
    await berta.tryNow();
    await eventually(async () => (await berta.status()) === "failed");
  });

  test("503 merchant_eligibility_unavailable: disconnected with the guard on; 201 with the guard off, monetization off, or without a connection", async () => {
    const m = await h.merchant();
    await m.connect("polar", byProduct);
    const patch = (body: object) => m.call("PATCH", root, { body });
    const monetize = (on: boolean) => h.sql`update tenants set monetization = ${on} where id = ${m.id}`;
    await patch({ status: "disconnected" });
    expect(statusAndCode(await start(m, "anna"))).toEqual([503, "merchant_eligibility_unavailable"]);
    await monetize(false);
    expect((await start(m, "anna")).status).toBe(201);
    await monetize(true);
    await patch({ guard: { ...byProduct, enabled: false } });
    expect((await start(m, "anna")).status).toBe(201);
    await patch({ status: "active", guard: byProduct });
    expect(statusAndCode(await start(m, "anna"))).toEqual([403, "merchant_customer_unmapped"]);
    await m.call("DELETE", root);
    expect((await start(m, "anna")).status).toBe(201);
  });

  test("asked once for turns at the same moment, remembered by customer, asked anew after any change", async () => {
    const m = await h.merchant();
    await m.connect("polar", byProduct);
    const customerId = await m.bind("anna");
    const customer = h.polar.customers.get(customerId);
    if (customer !== undefined) customer.subscriptions = [{ product_id: "prod-1", status: "active" }];
    const path = `/v1/customers/${customerId}/state`;
    const together = await Promise.all(Array.from({ length: 8 }, () => start(m, "anna")));
    expect(together.map(({ status }) => status)).toEqual(together.map(() => 201));
    expect((await start(m, "anna")).status).toBe(201);
    expect(h.polar.asked(path)).toHaveLength(1);
    await m.call("PATCH", root, { body: { guard: byProduct } });
    expect((await start(m, "anna")).status).toBe(201);
    expect(h.polar.asked(path)).toHaveLength(2);
    const other = await m.bind("anna");
    expect(statusAndCode(await start(m, "anna"))).toEqual([402, "merchant_subscription_required"]);
    expect(h.polar.asked(`/v1/customers/${other}/state`)).toHaveLength(1);
  });
});

describe("the guard at Stripe", () => {
  test("201 and 402: subscriptions over several pages, credit for metered prices", async () => {
    const m = await h.merchant();
    await m.connect("stripe", byProduct);
    const others = ["a", "b", "c"].map((id) => ({ id: `sub_${id}`, status: "active", products: ["prod-9"] }));
    const cases: [{ id: string; status: string; products: string[] }[], number][] = [
      [[{ id: "sub_1", status: "active", products: ["prod-9", "prod-2"] }], 201],
      [[...others, { id: "sub_1", status: "trialing", products: ["prod-1"] }], 201],
      [[...others, { id: "sub_1", status: "past_due", products: ["prod-1"] }], 402],
      [others, 402],
    ];
    for (const [index, [subscriptions, status]] of cases.entries()) {
      const customer = h.stripe.customers.get(await m.bind(`user-${index}`));
      if (customer !== undefined) customer.subscriptions = subscriptions;
      expect([index, (await start(m, `user-${index}`)).status]).toEqual([index, status]);
    }
    await m.call("PATCH", root, { body: { guard: byMeter } });
    const customer = h.stripe.customers.get(await m.bind("rich"));
    if (customer !== undefined) customer.credit = 1;
    expect((await start(m, "rich")).status).toBe(201);
    expect(statusAndCode(await start(m, "user-0"))).toEqual([402, "merchant_balance_required"]);
  });

  test("402 merchant_subscription_required: a customer that is gone; 503 merchant_eligibility_unavailable: a refused key", async () => {
    const m = await h.merchant();
    await m.connect("stripe", byBoth);
    h.stripe.customers.delete(await m.bind("anna"));
    expect(statusAndCode(await start(m, "anna"))).toEqual([402, "merchant_subscription_required"]);
    await m.bind("berta");
    h.stripe.keys.delete(m.stripeKey);
    expect(statusAndCode(await start(m, "berta"))).toEqual([503, "merchant_eligibility_unavailable"]);
  });
});

describe("the guard at every door", () => {
  test("resumed turns and regenerations go by the session's user; refused ones leave the session as it was", async () => {
    const m = await h.merchant();
    await m.connect("polar");
    const first = await start(m, "anna");
    await m.call("PATCH", root, { body: { guard: byProduct } });
    await m.bind("anna");
    const rich = h.polar.customers.get(await m.bind("rich"));
    if (rich !== undefined) rich.subscriptions = [{ product_id: "prod-1", status: "active" }];
    const resume = (body: object) => m.call("POST", sessionPath(m.agentId, first.sessionId), { body });
    for (const body of [
      { message: script("chunks=1") },
      { message: script("chunks=1"), userId: "rich" },
      { trigger: "regenerate-message" },
    ])
      expect(statusAndCode(await resume(body))).toEqual([402, "merchant_subscription_required"]);
    const messages = await m.call("GET", sessionPath(m.agentId, first.sessionId, "/messages"));
    expect(messages.body.data).toHaveLength(2);
  });

  test("402 merchant_subscription_required, 403 merchant_customer_unmapped: POST …/generate, or 200", async () => {
    const m = await h.merchant();
    await m.connect("polar", byProduct);
    const generate = (userId?: string) => {
      const body = { messages: [script("chunks=1")], stream: false, ...(userId !== undefined && { userId }) };
      return m.call("POST", `/v1/agents/${m.agentId}/generate`, { body });
    };
    expect(statusAndCode(await generate())).toEqual([403, "merchant_customer_unmapped"]);
    const customer = h.polar.customers.get(await m.bind("anna"));
    expect(statusAndCode(await generate("anna"))).toEqual([402, "merchant_subscription_required"]);
    await expectNothingWritten(m);
    if (customer !== undefined) customer.subscriptions = [{ product_id: "prod-1", status: "active" }];
    await m.call("PATCH", root, { body: { guard: byProduct } });
    expect((await generate("anna")).status).toBe(200);
  });

  test("a task's run fails with the guard's code", async () => {
    const m = await h.merchant();
    await m.connect("polar", byProduct);
    const body = { agentId: m.agentId, name: "n", prompt: "p", submit: true };
    const task = await m.call("POST", "/v1/tasks", { body });
    const run = await eventually(async () => {
      const { body: shown } = await m.call("GET", `/v1/tasks/${task.body.task.id}/runs/${task.body.runId}`);
      return shown.status === "failed" && shown;
    });
    expect(run.error.code).toBe("merchant_customer_unmapped");
  });

  test("an Idempotency-Key joins a turn that was accepted, whatever the guard says by now", async () => {
    const m = await h.merchant();
    await m.connect("polar");
    const body = { message: script("chunks=1"), userId: "anna", stream: false };
    const turn = () => m.call("POST", sessionPath(m.agentId, null), { body, headers: { "idempotency-key": "k" } });
    const first = await turn();
    await m.call("PATCH", root, { body: { guard: byProduct } });
    const again = await turn();
    expect([again.status, again.headers.get("x-turn-id")]).toEqual([201, first.headers.get("x-turn-id")]);
  });
});

describe("what is remembered of a customer", () => {
  const allowed = { subscribed: true, funded: true };
  afterEach(() => {
    setSystemTime();
  });

  test("a plan for 30 s at most, counted from the question; a refusal for 5 s", async () => {
    const cache = new EligibilityCache();
    let asked = 0;
    const readAt = async (key: string, atMs: number, eligibility = allowed) => {
      setSystemTime(1_800_000_000_000 + atMs);
      await cache.read(key, async () => {
        asked += 1;
        setSystemTime(1_800_000_000_000 + atMs + 2_000);
        return eligibility;
      });
      return asked;
    };
    expect([await readAt("a", 0), await readAt("a", 29_999), await readAt("a", 30_000)]).toEqual([1, 1, 2]);
    const refused = { subscribed: true, funded: false };
    expect([await readAt("b", 0, refused), await readAt("b", 4_999), await readAt("b", 5_000)]).toEqual([3, 3, 4]);
  });

  test("failures are not, and the one asked about longest ago goes first", async () => {
    const cache = new EligibilityCache();
    let asked = 0;
    const ask = async () => {
      asked += 1;
      if (asked === 1) throw new Error("not now");
      return allowed;
    };
    await expect(cache.read("a", ask)).rejects.toThrow("not now");
    expect(await cache.read("a", ask)).toEqual(allowed);
    expect(await cache.read("a", ask)).toEqual(allowed);
    expect(asked).toBe(2);
    for (let index = 0; index < 10_000; index++) await cache.read(`k${index}`, async () => allowed);
    await cache.read("a", ask);
    expect(asked).toBe(3);
  });
});
