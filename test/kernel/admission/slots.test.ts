import { describe, expect, test } from "bun:test";
import { createApp } from "../../../src/app.ts";
import { RequestSlots } from "../../../src/kernel/admission/request-slots.ts";
import { type IdOf, newId } from "../../../src/kernel/ids.ts";
import { useTenant } from "../../harness/fixture.ts";
import { heldMark, holdModel } from "../../harness/held-model.ts";
import { makeAgent } from "../../harness/seed.ts";

const { h, t } = await useTenant({ worker: true });
const requestsInFlightMax = 64;
const streamsOpenMax = 10_000;

/** A request whose credential is known to be a tenant's. */
async function requestOf(slots: RequestSlots, tenant: { id: IdOf<"tenant">; form: "b" }): Promise<Request> {
  const request = new Request("http://parley.test/v1/agents", { headers: { authorization: `Bearer ${tenant.id}` } });
  await slots.begin(request);
  await slots.identify(request, tenant);
  return request;
}
const newTenant = () => ({ id: newId("tenant"), form: "b" }) as const;
const reasonOf = (work: Promise<unknown> | (() => unknown)) =>
  Promise.resolve(typeof work === "function" ? (async () => work())() : work).then(
    () => null,
    (error) => [error.reason, error.headers],
  );
const tooMany = (limit: number) => [
  "rate_limited",
  { "Retry-After": "1", "RateLimit-Limit": String(limit), "RateLimit-Remaining": "0", "RateLimit-Reset": "1" },
];

describe("the requests in flight of one sender", () => {
  test("are 64; one more waits for a second at most, others do not", async () => {
    const slots = new RequestSlots();
    const [flood, other] = [newTenant(), newTenant()];
    const open = [];
    for (let taken = 0; taken < requestsInFlightMax; taken += 1) open.push(await requestOf(slots, flood));
    const refused = reasonOf(requestOf(slots, flood));
    slots.leave(await requestOf(slots, other));
    expect(await refused).toEqual(tooMany(requestsInFlightMax));
    const waits = requestOf(slots, flood);
    slots.leave(open[0] as Request);
    slots.leave(open[0] as Request);
    expect(slots.tenantOf(await waits)).toBe(flood.id);
    expect(await reasonOf(requestOf(slots, flood))).toEqual(tooMany(requestsInFlightMax));
  });

  test("of unknown credentials are 64 together, and take nothing from a tenant whose credential is known", async () => {
    const slots = new RequestSlots();
    const known = newTenant();
    slots.leave(await requestOf(slots, known));
    const stranger = (n: number) =>
      new Request("http://parley.test/v1/agents", { headers: { authorization: `Bearer ${n}` } });
    for (let n = 0; n < requestsInFlightMax; n += 1) await slots.begin(stranger(n));
    expect(await reasonOf(slots.begin(stranger(-1)))).toEqual(tooMany(requestsInFlightMax));
    expect(slots.tenantOf(await requestOf(slots, known))).toBe(known.id);
    // A page's preflight has no credential, and finds room beside them.
    const preflight = new Request("http://parley.test/v1/agents", { method: "OPTIONS" });
    await slots.begin(preflight);
    expect(slots.tenantOf(preflight)).toBeNull();
  });

  test("count for nobody once a credential was refused", async () => {
    const slots = new RequestSlots();
    const known = newTenant();
    const request = await requestOf(slots, known);
    slots.refuse(request);
    slots.leave(request);
    const again = new Request(request);
    await slots.begin(again);
    expect(slots.tenantOf(again)).toBeNull();
  });
});

test(`a tenant has ${streamsOpenMax} streams open`, async () => {
  const slots = new RequestSlots({ requestsInFlightMax: 2, requestWaitMs: 1, requestsWaitingMax: 0, streamsOpenMax });
  const tenant = newTenant();
  const open: Request[] = [];
  for (let opened = 0; opened < streamsOpenMax; opened += 1) {
    const request = await requestOf(slots, tenant);
    slots.openStream(request, tenant.id);
    slots.leave(request);
    open.push(request);
  }
  const last = await requestOf(slots, tenant);
  expect(await reasonOf(() => slots.openStream(last, tenant.id))).toEqual(tooMany(streamsOpenMax));
  slots.endStream(open[0] as Request);
  slots.endStream(open[0] as Request);
  slots.openStream(last, tenant.id);
  const other = newTenant();
  slots.openStream(await requestOf(slots, other), other.id);
});

describe("over HTTP", () => {
  /** An HTTP process with smaller bounds. */
  const appWith = (limits: Partial<{ requestsInFlightMax: number; streamsOpenMax: number }>) => {
    const slots = new RequestSlots({
      requestsInFlightMax: 64,
      requestWaitMs: 20,
      requestsWaitingMax: 1_000,
      streamsOpenMax,
      ...limits,
    });
    const app = createApp({ ...h.ctx, slots });
    return (method: string, path: string, body?: unknown, form = "b", scheme = "Bearer ") =>
      app(
        new Request(`http://parley.test${path}`, {
          method,
          headers: { authorization: `${scheme}${t.token}`, "content-type": "application/json", "api-form": form },
          ...(body === undefined ? {} : { body: body instanceof ReadableStream ? body : JSON.stringify(body) }),
        }),
      );
  };
  const message = (text: string) => ({ id: crypto.randomUUID(), role: "user", parts: [{ type: "text", text }] });
  const codeOf = async (response: Response) => [
    response.status,
    ((await response.json()) as { error: { code: string } }).error.code,
    response.headers.get("retry-after"),
  ];

  for (const form of ["a", "b"]) {
    test(`429 rate_limited: a request too many, form ${form}`, async () => {
      const ask = appWith({ requestsInFlightMax: 1 });
      let finish = () => {};
      const body = new ReadableStream({
        start(controller) {
          finish = () => controller.close();
        },
      });
      expect((await ask("GET", "/v1/agents")).status).toBe(200);
      const slow = ask("POST", "/v1/agents", body);
      expect(await codeOf(await ask("GET", "/v1/agents", undefined, form))).toEqual([429, "rate_limited", "1"]);
      expect((await ask("GET", "/healthz")).status).toBe(200);
      finish();
      await slow;
      expect((await ask("GET", "/v1/agents", undefined, form)).status).toBe(200);
    });
  }

  test("429 rate_limited: a turn too many, however its credential is spelt, also where its key is known from before", async () => {
    const agentId = await makeAgent(h, t);
    const ask = appWith({ requestsInFlightMax: 1 });
    const sessions = `/v1/agents/${agentId}/sessions`;
    const turn = { message: message("hi"), stream: false };
    expect((await ask("POST", sessions, turn)).status).toBe(201);
    let finish = () => {};
    const body = new ReadableStream({
      start(controller) {
        finish = () => controller.close();
      },
    });
    const slow = ask("POST", sessions, body);
    for (const scheme of ["Bearer ", "bearer ", "BEARER ", "Bearer  ", "beareR   "])
      for (const [method, path, sent] of [
        ["POST", sessions, turn],
        ["GET", "/v1/agents", undefined],
      ] as const)
        expect([scheme, ...(await codeOf(await ask(method, path, sent, "b", scheme)))]).toEqual([
          scheme,
          429,
          "rate_limited",
          "1",
        ]);
    finish();
    await slow;
    expect((await ask("POST", sessions, turn, "b", "bearer ")).status).toBe(201);
  });

  test("turns that run, streamed or not, count as streams and not as requests", async () => {
    await using held = holdModel(h.model);
    const agentId = await makeAgent({ model: held }, t);
    const ask = appWith({ requestsInFlightMax: 1, streamsOpenMax: 2 });
    const sessions = `/v1/agents/${agentId}/sessions`;
    const streamed = await ask("POST", sessions, { message: message(heldMark) });
    expect(streamed.status).toBe(201);
    let answered = false;
    const waiting = ask("POST", sessions, { message: message(heldMark), stream: false }).then((response) => {
      answered = true;
      return response;
    });
    // Once that one waits for its turn, there is room for requests again, and none for streams.
    for (;;) {
      const third = await ask("POST", sessions, { message: message("third") });
      expect(third.status).toBe(429);
      const { status } = await ask("GET", "/v1/agents");
      if (status === 200) break;
    }
    expect(answered).toBe(false);
    held.release();
    expect((await waiting).status).toBe(201);
    expect(await streamed.text()).toEndWith("data: [DONE]\n\n");
    const open = () => ask("POST", sessions, { message: message("next") });
    const [first, second] = [await open(), await open()];
    expect([first.status, second.status, ...(await codeOf(await open()))]).toEqual([
      201,
      201,
      429,
      "rate_limited",
      "1",
    ]);
    await first.body?.cancel();
    expect((await open()).status).toBe(201);
  });
});
