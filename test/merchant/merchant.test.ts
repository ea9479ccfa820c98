import { beforeEach, describe, expect, test } from "bun:test";
import type { Form } from "../../src/kernel/errors.ts";
import type { ApiResponse } from "../harness/harness.ts";
import { type Merchant, useMerchants } from "../harness/merchant-fixture.ts";
import { statusAndCode } from "../harness/status-and-code.ts";

const h = await useMerchants({ worker: false });
beforeEach(() => {
  h.polar.calm();
  h.stripe.calm();
});

const root = "/v1/merchant-connection";
const forms: Form[] = ["a", "b"];
const issuesOf = ({ body }: ApiResponse) => body.error.details.issues.map(({ path }: { path: string }) => path);
const off = { enabled: false, productIds: [], meterId: null };

/** A body that connects Polar. */
const polarBody = (m: Merchant, fields: object = {}) => ({
  provider: "billing_a",
  environment: "sandbox",
  credential: m.polarToken,
  ...fields,
});
const current = async (m: Merchant) => (await m.call("GET", root)).body.connection;

describe("POST /v1/merchant-connection", () => {
  for (const form of forms)
    test(`201 in form ${form}: verified with the provider, the credential never shown`, async () => {
      const m = await h.merchant();
      const made = await m.call("POST", root, { form, body: polarBody(m) });
      expect([made.status, made.body]).toEqual([
        201,
        {
          connection: {
            id: expect.stringMatching(/^mch_[0-9a-z]{24}$/),
            provider: "billing_a",
            environment: "sandbox",
            status: "active",
            merchantAccountId: m.organizationId,
            keyFragment: m.polarToken.slice(-4),
            guard: off,
            configVersion: 1,
            createdAt: expect.any(String),
            updatedAt: expect.any(String),
          },
        },
      ]);
      expect((await m.call("GET", root, { form })).body).toEqual(made.body);
      const [row] = await h.sql`select * from merchant_connections where id = ${made.body.connection.id}`;
      expect(JSON.stringify({ ...row, sealedCredential: row?.sealedCredential.toString("latin1") })).not.toContain(
        m.polarToken,
      );
      const asked = h.polar.requests.filter(({ token }) => token === m.polarToken);
      expect(asked.map(({ method, path }) => `${method} ${path}`)).toEqual(["GET /v1/organizations/"]);
    });

  test("201: Stripe, under its label and its own name, live and sandbox", async () => {
    const m = await h.merchant();
    for (const [provider, environment, credential] of [
      ["billing_b", "sandbox", m.stripeKey],
      ["stripe", "live", m.stripeKey.replace("test", "live")],
    ]) {
      const made = await m.call("POST", root, { body: { provider, environment, credential } });
      expect([made.status, made.body.connection]).toMatchObject([201, { provider: "billing_b", environment }]);
      expect(made.body.connection.merchantAccountId).toStartWith("acct_");
    }
  });

  test("201: replaces the current connection; bindings start anew", async () => {
    const m = await h.merchant();
    const first = await m.connect("polar", { enabled: true, productIds: ["p1"], meterId: "m1" });
    await m.bind("anna");
    const second = await m.connect("stripe");
    expect(second.id).not.toBe(first.id);
    expect(await current(m)).toMatchObject({ id: second.id, guard: off, configVersion: 1 });
    expect((await m.call("GET", `${root}/bindings`)).body).toEqual({ bindings: [], nextCursor: null });
  });

  test("201: of many at once one is current at the end", async () => {
    const m = await h.merchant();
    const made = await Promise.all(Array.from({ length: 6 }, () => m.call("POST", root, { body: polarBody(m) })));
    expect(made.map(({ status }) => status)).toEqual(made.map(() => 201));
    const rows = await h.sql`select id from merchant_connections where tenant_id = ${m.id} and retired_at is null`;
    expect(rows).toHaveLength(1);
  });

  test("201: an Idempotency-Key makes it once", async () => {
    const m = await h.merchant();
    const post = (body: object) => m.call("POST", root, { body, headers: { "idempotency-key": "k" } });
    const [first, again] = [await post(polarBody(m)), await post(polarBody(m))];
    expect([again.status, again.body]).toEqual([201, first.body]);
    expect(statusAndCode(await post(polarBody(m, { guard: off })))).toEqual([422, "idempotency_key_reused"]);
  });

  test("400 validation_failed: each broken rule, nothing saved, nobody asked", async () => {
    const m = await h.merchant();
    const before = h.polar.requests.length;
    const broken: [object, string][] = [
      [polarBody(m, { provider: "paypal" }), "/provider"],
      [polarBody(m, { provider: undefined }), "/provider"],
      [polarBody(m, { environment: "test" }), "/environment"],
      [polarBody(m, { environment: undefined }), "/environment"],
      [polarBody(m, { credential: undefined }), "/credential"],
      [polarBody(m, { credential: "" }), "/credential"],
      [polarBody(m, { credential: "with space" }), "/credential"],
      [polarBody(m, { credential: "über" }), "/credential"],
      [polarBody(m, { name: "x" }), "/name"],
      [polarBody(m, { guard: {} }), "/guard/enabled"],
      [polarBody(m, { guard: null }), "/guard"],
      [polarBody(m, { guard: { enabled: true } }), "/guard"],
      [polarBody(m, { guard: { enabled: true, productIds: [], meterId: null } }), "/guard"],
      [polarBody(m, { guard: { enabled: true, productIds: ["p", "p"] } }), "/guard/productIds"],
      [polarBody(m, { guard: { enabled: true, productIds: ["../x"] } }), "/guard/productIds/0"],
      [polarBody(m, { guard: { enabled: false, meterId: "" } }), "/guard/meterId"],
      [polarBody(m, { guard: { enabled: false, plan: "x" } }), "/guard/plan"],
    ];
    for (const [body, path] of broken) {
      const response = await m.call("POST", root, { body });
      expect([...statusAndCode(response), issuesOf(response)]).toEqual([400, "validation_failed", [path]]);
    }
    const inA = await m.call("POST", root, { form: "a", body: {} });
    expect(statusAndCode(inA)).toEqual([400, "invalid_request"]);
    expect([await current(m), h.polar.requests.length]).toEqual([null, before]);
  });

  test("422 merchant_credential_invalid: refused, of the other mode, of several organizations; the current one stays", async () => {
    const m = await h.merchant();
    const { id } = await m.connect("polar");
    h.polar.tokens.set(`${m.polarToken}-person`, ["org-1", "org-2"]);
    h.polar.tokens.set(`${m.polarToken}-nobody`, []);
    const stripeBody = (environment: string, credential: string) => ({ provider: "stripe", environment, credential });
    const refused = [
      polarBody(m, { credential: "polar_oat_unknown" }),
      polarBody(m, { credential: `${m.polarToken}-person` }),
      polarBody(m, { credential: `${m.polarToken}-nobody` }),
      stripeBody("sandbox", "sk_test_unknown"),
      stripeBody("live", m.stripeKey),
      stripeBody("sandbox", m.stripeKey.replace("test", "live")),
      stripeBody("live", m.stripeKey.replace("sk_", "rk_")),
    ];
    for (const body of refused) {
      const response = await m.call("POST", root, { body });
      expect(statusAndCode(response)).toEqual([422, "merchant_credential_invalid"]);
      expect(JSON.stringify(response.body)).not.toContain(body.credential);
    }
    h.polar.injectFault("/v1/organizations/", { status: 403, body: { error: "NotPermitted" } });
    expect(statusAndCode(await m.call("POST", root, { body: polarBody(m) }))).toEqual([
      422,
      "merchant_credential_invalid",
    ]);
    expect((await current(m)).id).toBe(id);
  });

  test("503 merchant_provider_unavailable: 5xx, 429, cut, garbled, refused connection; nothing saved", async () => {
    const m = await h.merchant();
    const post = () => m.call("POST", root, { body: polarBody(m) });
    for (const fault of [
      { status: 500, body: {} },
      { status: 429, body: {} },
      { status: 200, body: "no list" },
      "cut before" as const,
      "half" as const,
    ]) {
      h.polar.injectFault("/v1/organizations/", fault);
      expect(statusAndCode(await post())).toEqual([503, "merchant_provider_unavailable"]);
    }
    await h.polar.stop();
    expect(statusAndCode(await post())).toEqual([503, "merchant_provider_unavailable"]);
    await h.polar.start();
    expect(await current(m)).toBeNull();
    expect((await post()).status).toBe(201);
  });
});

describe("GET /v1/merchant-connection", () => {
  for (const form of forms)
    test(`200 in form ${form}: null when there is none; another tenant's is not shown`, async () => {
      const [m, other] = [await h.merchant(), await h.merchant()];
      await other.connect("polar");
      const response = await m.call("GET", root, { form });
      expect([response.status, response.body]).toEqual([200, { connection: null }]);
    });

  test("401 unauthorized, 405 method_not_allowed: no credential, another method", async () => {
    const m = await h.merchant();
    expect((await m.call("GET", root, { token: null })).status).toBe(401);
    expect((await m.call("PUT", root, { body: {} })).status).toBe(405);
  });
});

describe("PATCH /v1/merchant-connection", () => {
  for (const form of forms)
    test(`200 in form ${form}: each field alone, the others keep their values, the version rises`, async () => {
      const m = await h.merchant();
      const { id } = await m.connect("polar");
      const patch = (body: object) => m.call("PATCH", root, { form, body });
      const guard = { enabled: true, productIds: ["prod-1"], meterId: null };
      const guarded = await patch({ guard });
      expect([guarded.status, guarded.body.connection]).toMatchObject([200, { id, guard, configVersion: 2 }]);
      const paused = await patch({ status: "disconnected" });
      expect(paused.body.connection).toMatchObject({ status: "disconnected", guard, configVersion: 3 });
      const token = `${m.polarToken}wxyz`;
      h.polar.tokens.set(token, [m.organizationId]);
      const renewed = await patch({ credential: token });
      expect(renewed.body.connection).toMatchObject({ keyFragment: "wxyz", status: "disconnected", configVersion: 4 });
      const meter = await patch({ guard: { enabled: true, meterId: "meter-1" }, status: "active" });
      expect(meter.body.connection).toMatchObject({
        status: "active",
        guard: { enabled: true, productIds: [], meterId: "meter-1" },
        configVersion: 5,
      });
      const unchanged = await patch({});
      expect([unchanged.status, unchanged.body]).toEqual([200, meter.body]);
      expect(await current(m)).toEqual(meter.body.connection);
    });

  test("400 validation_failed: broken fields, fields that never change", async () => {
    const m = await h.merchant();
    await m.connect("polar");
    for (const [body, path] of [
      [{ status: "retired" }, "/status"],
      [{ provider: "billing_b" }, "/provider"],
      [{ environment: "live" }, "/environment"],
      [{ guard: { enabled: true } }, "/guard"],
      [{ credential: null }, "/credential"],
    ] as const) {
      const response = await m.call("PATCH", root, { body });
      expect([...statusAndCode(response), issuesOf(response)]).toEqual([400, "validation_failed", [path]]);
    }
    expect((await current(m)).configVersion).toBe(1);
  });

  test("404 merchant_connection_not_found: there is none", async () => {
    const [m, other] = [await h.merchant(), await h.merchant()];
    await other.connect("polar");
    const response = await m.call("PATCH", root, { body: { status: "active" } });
    expect(statusAndCode(response)).toEqual([404, "merchant_connection_not_found"]);
  });

  test("409 merchant_account_mismatch, 422 merchant_credential_invalid, 503 merchant_provider_unavailable: nothing changes", async () => {
    const [m, other] = [await h.merchant(), await h.merchant()];
    await m.connect("polar");
    const patch = (credential: string) => m.call("PATCH", root, { body: { credential, status: "disconnected" } });
    expect(statusAndCode(await patch(other.polarToken))).toEqual([409, "merchant_account_mismatch"]);
    expect(statusAndCode(await patch("unknown"))).toEqual([422, "merchant_credential_invalid"]);
    h.polar.injectFault("/v1/organizations/", { status: 502, body: {} });
    expect(statusAndCode(await patch(m.polarToken))).toEqual([503, "merchant_provider_unavailable"]);
    expect(await current(m)).toMatchObject({ status: "active", configVersion: 1 });
  });
});

describe("DELETE /v1/merchant-connection", () => {
  for (const form of forms)
    test(`204 in form ${form}, then 404 merchant_connection_not_found; another tenant's stays`, async () => {
      const [m, other] = [await h.merchant(), await h.merchant()];
      await m.connect("polar");
      await other.connect("polar");
      expect((await m.call("DELETE", root, { form })).status).toBe(204);
      expect(statusAndCode(await m.call("DELETE", root, { form }))).toEqual([404, "merchant_connection_not_found"]);
      expect([await current(m), (await current(other)).status]).toEqual([null, "active"]);
    });
});

describe("PUT /v1/merchant-connection/bindings/:userId", () => {
  for (const form of forms)
    for (const provider of ["polar", "stripe"] as const)
      test(`200 in form ${form}: a customer at ${provider}, made and changed`, async () => {
        const m = await h.merchant();
        await m.connect(provider);
        const account = m.stripeKey.replace("sk_test", "acct");
        const customer = () => (provider === "polar" ? h.polar.customer(m.organizationId) : h.stripe.customer(account));
        const put = (customerId: string) => m.call("PUT", `${root}/bindings/anna`, { form, body: { customerId } });
        const [first, second] = [customer(), customer()];
        const made = await put(first);
        expect([made.status, made.body]).toEqual([
          200,
          {
            binding: {
              userId: "anna",
              customerId: first,
              createdAt: expect.any(String),
              updatedAt: expect.any(String),
            },
          },
        ]);
        const changed = await put(second);
        expect(changed.body.binding).toMatchObject({ customerId: second, createdAt: made.body.binding.createdAt });
        expect((await m.call("GET", `${root}/bindings`)).body.bindings).toEqual([changed.body.binding]);
      });

  test("200: any characters in the path, told apart", async () => {
    const m = await h.merchant();
    await m.connect("polar");
    const users = ["a/b", "a%2Fb", "a b", "ä€😀", "?x=1#y", "+", "'\"--", "%", "\u0001", "x".repeat(256)];
    for (const user of users) await m.bind(user);
    const { bindings } = (await m.call("GET", `${root}/bindings?limit=200`)).body;
    const sorted = [...users].sort((left, right) => Buffer.compare(Buffer.from(left), Buffer.from(right)));
    expect(bindings.map(({ userId }: { userId: string }) => userId)).toEqual(sorted);
    for (const user of users) {
      const path = `${root}/bindings/${encodeURIComponent(user)}`;
      expect((await m.call("DELETE", path)).status).toBe(204);
    }
    expect((await m.call("GET", `${root}/bindings`)).body.bindings).toEqual([]);
  });

  test("400 validation_failed: the path and the body", async () => {
    const m = await h.merchant();
    await m.connect("polar");
    for (const [user, body, path] of [
      ["x".repeat(257), { customerId: "c" }, "userId"],
      ["a%00b", { customerId: "c" }, "userId"],
      ["anna", {}, "/customerId"],
      ["anna", { customerId: "" }, "/customerId"],
      ["anna", { customerId: ".." }, "/customerId"],
      ["anna", { customerId: "a/b" }, "/customerId"],
      ["anna", { customerId: "c", userId: "b" }, "/userId"],
    ] as const) {
      const response = await m.call("PUT", `${root}/bindings/${user}`, { body });
      expect([...statusAndCode(response), issuesOf(response)]).toEqual([400, "validation_failed", [path]]);
    }
    expect((await m.call("PUT", `${root}/bindings/%E0%A4%A`, { body: { customerId: "c" } })).status).toBe(400);
  });

  test("404 merchant_connection_not_found: there is none", async () => {
    const m = await h.merchant();
    const response = await m.call("PUT", `${root}/bindings/anna`, { body: { customerId: "c" } });
    expect(statusAndCode(response)).toEqual([404, "merchant_connection_not_found"]);
  });

  test("422 merchant_customer_not_found: unknown, another merchant's, deleted, of no vendor's shape", async () => {
    const [m, other] = [await h.merchant(), await h.merchant()];
    const put = (customerId: string) => m.call("PUT", `${root}/bindings/anna`, { body: { customerId } });
    await m.connect("polar");
    for (const id of [crypto.randomUUID(), h.polar.customer(other.organizationId), "cus_1"])
      expect(statusAndCode(await put(id))).toEqual([422, "merchant_customer_not_found"]);
    await m.connect("stripe");
    const account = m.stripeKey.replace("sk_test", "acct");
    for (const id of ["cus_unknown", h.stripe.customer("acct_other"), h.stripe.customer(account, { deleted: true })])
      expect(statusAndCode(await put(id))).toEqual([422, "merchant_customer_not_found"]);
    expect((await m.call("GET", `${root}/bindings`)).body.bindings).toEqual([]);
  });

  test("503 merchant_provider_unavailable: nothing is bound", async () => {
    const m = await h.merchant();
    await m.connect("polar");
    const customerId = h.polar.customer(m.organizationId);
    for (const fault of [{ status: 500, body: {} }, { status: 401, body: {} }, "cut before" as const]) {
      h.polar.injectFault(`/v1/customers/${customerId}`, fault);
      const response = await m.call("PUT", `${root}/bindings/anna`, { body: { customerId } });
      expect(statusAndCode(response)).toEqual([503, "merchant_provider_unavailable"]);
    }
    expect((await m.call("GET", `${root}/bindings`)).body.bindings).toEqual([]);
  });
});

describe("GET and DELETE /v1/merchant-connection/bindings", () => {
  test("200: pages by userId, a filter, 404 without a connection or a binding", async () => {
    const [m, other] = [await h.merchant(), await h.merchant()];
    await m.connect("polar");
    await other.connect("polar");
    await other.bind("foreign");
    for (const user of ["c", "a", "B", "d", "b"]) await m.bind(user);
    const list = (query: string, form: Form = "b") => m.call("GET", `${root}/bindings?${query}`, { form });
    const users = ({ body }: ApiResponse) => body.bindings.map(({ userId }: { userId: string }) => userId);
    const first = await list("limit=2");
    const second = await list(`limit=2&cursor=${first.body.nextCursor}`, "a");
    const third = await list(`limit=2&cursor=${second.body.nextCursor}`);
    expect([users(first), users(second), users(third), third.body.nextCursor]).toEqual([
      ["B", "a"],
      ["b", "c"],
      ["d"],
      null,
    ]);
    expect(users(await list("userId=c"))).toEqual(["c"]);
    expect(users(await list("userId=foreign"))).toEqual([]);
    expect(statusAndCode(await list("cursor=nonsense"))).toEqual([400, "invalid_cursor"]);
    expect(statusAndCode(await list("cursor=nonsense", "a"))).toEqual([400, "invalid_request"]);
    for (const query of ["limit=0", "limit=201", "limit=x", "order=asc"])
      expect(statusAndCode(await list(query))).toEqual([400, "validation_failed"]);
    const remove = (user: string, form: Form) => m.call("DELETE", `${root}/bindings/${user}`, { form });
    expect((await remove("a", "a")).status).toBe(204);
    for (const form of forms) {
      expect(statusAndCode(await remove("a", form))).toEqual([404, "merchant_binding_not_found"]);
      expect(statusAndCode(await remove("foreign", form))).toEqual([404, "merchant_binding_not_found"]);
    }
    await m.call("DELETE", root);
    expect(statusAndCode(await list(""))).toEqual([404, "merchant_connection_not_found"]);
    expect(statusAndCode(await remove("c", "b"))).toEqual([404, "merchant_connection_not_found"]);
  });
});
