import { describe, expect, test } from "bun:test";
import { eventually } from "../harness/harness.ts";
import { type Client, sharedRedisUrl, startInstallation } from "../harness/processes.ts";
import type { WorkProcess } from "../harness/service-process.ts";
import { hasShown } from "../harness/turn-checks.ts";
import { PolarServer } from "../servers/polar.ts";

/** A dead worker's sends have been given up within this, like its turns (docs/workers.md, "Dead and frozen workers"). */
const limitMs = 10_000;
const ingest = "/v1/events/ingest";

/** An installation beside a stand-in for Polar, with a tenant whose user `anna` is a customer there. */
interface Shop extends AsyncDisposable {
  readonly polar: PolarServer;
  readonly c: Client;
  /** The id of the worker that sends a turn's event just now. */
  senderOf(turnId: string): Promise<string>;
  work(): Promise<WorkProcess>;
  /** The ledger's event of a turn, once its event has this status. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into responses freely.
  event(turnId: string, status: string, withinMs?: number): Promise<any>;
  /** Runs a turn of anna's to its end and returns its id. */
  turn(text: string): Promise<string>;
}

async function openShop(): Promise<Shop> {
  const polar = new PolarServer();
  await polar.start();
  polar.tokens.set("polar_oat_shop", ["org-shop"]);
  const env = { BILLING_A_API_URL: polar.url };
  const installation = await startInstallation();
  const c = await installation.client((await installation.serve(env)).url);
  await installation.sql`update tenants set monetization = true where id = ${c.tenantId}`;
  const ask = async (method: string, path: string, body?: unknown) => {
    const response = await c.request(method, path, body);
    const saved = await response.json();
    if (!response.ok) throw new Error(JSON.stringify(saved));
    return saved;
  };
  const credential = "polar_oat_shop";
  await ask("POST", "/v1/merchant-connection", { provider: "polar", environment: "live", credential });
  await ask("PUT", "/v1/merchant-connection/bindings/anna", { customerId: polar.customer("org-shop") });
  return {
    polar,
    c,
    work: () => installation.work(env),
    senderOf: async (turnId) => {
      const [row] = await installation.sql`select sending_by from merchant_events where turn_id = ${turnId}`;
      return row?.sendingBy;
    },
    event: (turnId, status, withinMs) =>
      eventually(async () => {
        const { events } = await ask("GET", `/v1/merchant-usage-events?status=${status}`);
        return events.find((event: { turnId: string }) => event.turnId === turnId);
      }, withinMs),
    turn: async (text) => {
      const message = { id: crypto.randomUUID(), role: "user", parts: [{ type: "text", text }] };
      const path = `/v1/agents/${c.agentId}/sessions`;
      const response = await c.request("POST", path, { message, userId: "anna", stream: false });
      await response.text();
      return response.headers.get("x-turn-id") ?? "";
    },
    [Symbol.asyncDispose]: async () => {
      await installation[Symbol.asyncDispose]();
      await polar.stop();
    },
  };
}

describe.skipIf(sharedRedisUrl === null)("kill -9 of a worker and its usage events", () => {
  test.concurrent("between send and receipt: uncertain within 10 s, never sent again by itself, counted once", async () => {
    await using shop = await openShop();
    const { polar, c } = shop;
    // Both before the send: a request is given up after 10 s, and a process may take as long to start.
    const workers = [await shop.work(), await shop.work()];
    const held = Promise.withResolvers<void>();
    polar.injectFault(ingest, held.promise);
    const turnId = await shop.turn("one");
    await eventually(() => polar.asked(ingest).length === 1);
    expect((await shop.event(turnId, "pending")).attemptCount).toBe(1);
    const sender = await shop.senderOf(turnId);
    const killedAt = Date.now();
    await workers.find(({ workerId }) => workerId === sender)?.kill();
    held.resolve();
    const event = await shop.event(turnId, "uncertain", limitMs);
    report("between send and receipt", killedAt);
    expect(event).toMatchObject({ lastErrorCode: "worker_lost", attemptCount: 1, nextAction: "investigate" });
    await shop.event(await shop.turn("two"), "accepted");
    expect(polar.asked(ingest).filter(({ text }) => text.includes(event.id))).toHaveLength(1);
    expect((await c.request("POST", `/v1/merchant-usage-events/${event.id}/retry`)).status).toBe(200);
    expect((await shop.event(turnId, "accepted")).attemptCount).toBe(2);
    expect(polar.events.size).toBe(2);
  }, 120_000);

  test.concurrent("between ledger and send: another worker sends it, once", async () => {
    await using shop = await openShop();
    const { polar } = shop;
    const doomed = await shop.work();
    await polar.stop();
    const turnId = await shop.turn("one");
    await eventually(async () => (await shop.event(turnId, "pending")).lastErrorCode === "provider_unreachable");
    await doomed.kill();
    await polar.start();
    await shop.work();
    await shop.event(turnId, "accepted");
    expect(polar.events.size).toBe(1);
  }, 120_000);

  test.concurrent("in a turn that had shown chunks: its event is incomplete, nothing is sent", async () => {
    await using shop = await openShop();
    const { polar, c } = shop;
    const doomed = await shop.work();
    const turn = await c.turn("talking [[sim: chunks=2000 delayMs=20]]");
    await hasShown(turn);
    await shop.work();
    const killedAt = Date.now();
    await doomed.kill();
    const event = await shop.event(turn.turnId, "incomplete", limitMs);
    report("in a turn", killedAt);
    expect(event).toMatchObject({ turnStatus: "failed", payload: null, model: "simulated/model" });
    // An estimate: only the dead worker knew.
    expect(event.inputTokens).toBeGreaterThan(0);
    expect(event.outputTokens).toBeGreaterThan(0);
    expect(polar.asked(ingest)).toEqual([]);
  }, 120_000);

  test.concurrent("SIGTERM while a receipt is awaited: it is written before the process ends", async () => {
    await using shop = await openShop();
    const { polar } = shop;
    const leaving = await shop.work();
    const held = Promise.withResolvers<void>();
    polar.injectFault(ingest, held.promise);
    const turnId = await shop.turn("one");
    await eventually(() => polar.asked(ingest).length === 1);
    leaving.signal("SIGTERM");
    await eventually(() => leaving.log.some(({ msg }) => msg === "stopping"));
    held.resolve();
    expect((await leaving.exited).code).toBe(0);
    expect((await shop.event(turnId, "accepted")).attemptCount).toBe(1);
  }, 120_000);
});

function report(what: string, killedAt: number): void {
  process.stderr.write(`  ${what}: settled ${Date.now() - killedAt} ms after the kill\n`);
}
