import { describe, expect, test } from "bun:test";
import { useTenant } from "../harness/fixture.ts";
import { eventually } from "../harness/harness.ts";
import { makeAgent, makeProvider } from "../harness/seed.ts";
import { statusAndCode } from "../harness/status-and-code.ts";
import { play, script, sessionPath } from "../harness/turns.ts";

const { h } = await useTenant({ worker: true });
const path = "/v1/model-prices";
type Tenant = Awaited<ReturnType<typeof h.tenant>>;
const put = (t: Tenant, prices: unknown, form: "a" | "b" = "b") => t.call("PUT", path, { body: { prices }, form });
const tokens = script("text=hi inputTokens=1000 outputTokens=500");

/** What a turn of an agent costs now. */
async function costOf(t: Tenant, agentId: string) {
  const { turnId } = await play(t, agentId, null, { message: { ...tokens, id: crypto.randomUUID() } });
  const { costUsd, costIsComplete } = (await t.call("GET", `/v1/turns/${turnId}`)).body;
  return [costUsd, costIsComplete];
}

const price = { model: "m", inputUsd: "1", outputUsd: "2" };

describe("a tenant's own prices", () => {
  test.each(["a", "b"] as const)("are replaced as a whole, and shown as decimal text, form %s", async (form) => {
    const t = await h.tenant();
    expect((await t.call("GET", path, { form })).body).toEqual({ prices: [] });
    const prices = [
      { model: "a", inputUsd: "2.50", outputUsd: 10, cachedInputUsd: 0.125, cacheWriteUsd: "0.000000000001" },
      { model: "b", inputUsd: 0.000001, outputUsd: 999999.999999999 },
    ];
    const shown = [
      { model: "a", inputUsd: "2.50", outputUsd: "10", cachedInputUsd: "0.125", cacheWriteUsd: "0.000000000001" },
      { model: "b", inputUsd: "0.000001", outputUsd: "999999.999999999" },
    ];
    expect(await put(t, prices, form)).toMatchObject({ status: 200, body: { prices: shown } });
    expect((await t.call("GET", path, { form })).body).toEqual({ prices: shown });
    expect((await put(t, [price], form)).body).toEqual({ prices: [price] });
    expect((await put(t, [], form)).body).toEqual({ prices: [] });
    const events = (await t.call("GET", "/v1/audit-events?action=model_prices.update")).body.data;
    expect(events.map(({ changes }: { changes: string[] }) => changes)).toEqual([["prices"], ["prices"], ["prices"]]);
    // What leaves all as it was is no event.
    await put(t, []);
    expect((await t.call("GET", "/v1/audit-events?action=model_prices.update")).body.data).toHaveLength(3);
  });

  test("decide what a turn costs, by the price of the moment, and those of its provider first", async () => {
    const t = await h.tenant();
    const agentId = await makeAgent(h, t);
    const { model, providerId } = (await t.call("GET", `/v1/agents/${agentId}`)).body;
    expect(await costOf(t, agentId)).toEqual([null, false]);
    await put(t, [{ model, inputUsd: "3", outputUsd: "0.1" }]);
    expect(await costOf(t, agentId)).toEqual(["0.00305", true]);
    await put(t, [
      { model, inputUsd: "1", outputUsd: "1" },
      { model, providerId, inputUsd: "0.0000001", outputUsd: "0" },
    ]);
    // A thousand tokens at a tenth of a picodollar.
    expect(await costOf(t, agentId)).toEqual(["0.0000000001", true]);
    await put(t, [{ model: `${model}-other`, inputUsd: "1", outputUsd: "1" }]);
    expect(await costOf(t, agentId)).toEqual([null, false]);
    await put(t, [{ model, inputUsd: "0", outputUsd: "0" }]);
    expect(await costOf(t, agentId)).toEqual(["0", true]);
    const { buckets } = (await t.call("GET", "/v1/usage?groupBy=model")).body;
    expect(buckets).toMatchObject([{ costUsd: "0.0030500001", costIsComplete: false }]);
  });

  test("that are replaced while a turn waits are those of its further calls", async () => {
    const t = await h.tenant();
    const agentId = await makeAgent(h, t, { tools: ["memory"], approvalInChat: { default: "manual" } });
    const { model } = (await t.call("GET", `/v1/agents/${agentId}`)).body;
    await put(t, [{ model, inputUsd: "1", outputUsd: "0" }]);
    const saves = 'tool=memory_save args={"text":"a"} inputTokens=1000000 outputTokens=1';
    const { turnId, sessionId } = await play(t, agentId, null, {
      message: script(`${saves} ; text=hi inputTokens=1000000 outputTokens=1`),
    });
    const turn = async () => (await t.call("GET", `/v1/turns/${turnId}`)).body;
    expect(await turn()).toMatchObject({ status: "waiting", costUsd: "1" });
    await put(t, [{ model, inputUsd: "0.5", outputUsd: "0" }]);
    const approvals = sessionPath(agentId, sessionId, "/tool-approvals");
    const [{ id }] = (await t.call("GET", approvals)).body.approvals;
    await t.call("POST", `${approvals}/${id}`, { body: { approved: true } });
    await eventually(async () => (await turn()).status === "succeeded");
    expect(await turn()).toMatchObject({ costUsd: "1.5", costIsComplete: true });
  });

  test("with an absurd answer cost no more than a turn's sums hold", async () => {
    const t = await h.tenant();
    const agentId = await makeAgent(h, t);
    const { model } = (await t.call("GET", `/v1/agents/${agentId}`)).body;
    await put(t, [{ model, inputUsd: 1_000_000, outputUsd: 1_000_000 }]);
    const { turnId } = await play(t, agentId, null, {
      message: script("text=hi inputTokens=1000000000 outputTokens=1"),
    });
    expect((await t.call("GET", `/v1/turns/${turnId}`)).body).toMatchObject({ status: "succeeded", costUsd: "9000" });
  });

  test.each([
    [[price, price], "/prices/1"],
    [[{ ...price, inputUsd: "1e3" }], "/prices/0/inputUsd"],
    [[{ ...price, inputUsd: "-1" }], "/prices/0/inputUsd"],
    [[{ ...price, inputUsd: -1 }], "/prices/0/inputUsd"],
    [[{ ...price, outputUsd: "0.0000000000001" }], "/prices/0/outputUsd"],
    [[{ ...price, outputUsd: 1e-13 }], "/prices/0/outputUsd"],
    [[{ ...price, outputUsd: 123456.1234567891 }], "/prices/0/outputUsd"],
    [[{ ...price, cachedInputUsd: 1_000_001 }], "/prices/0/cachedInputUsd"],
    [[{ ...price, cachedInputUsd: "1000000.5" }], "/prices/0/cachedInputUsd"],
    [[price, { ...price, model: "" }], "/prices/1/model"],
    [[{ ...price, providerId: `prv_${"0".repeat(24)}` }], "/prices/0/providerId"],
    [[{ ...price, more: 1 }], "/prices/0/more"],
    [Array.from({ length: 501 }, (_, n) => ({ ...price, model: `m${n}` })), "/prices"],
  ])("400 validation_failed: %#", async (prices, field) => {
    const t = await h.tenant();
    const refused = await put(t, prices);
    expect(statusAndCode(refused)).toEqual([400, "validation_failed"]);
    expect(refused.body.error.details.issues.map(({ path: at }: { path: string }) => at)).toEqual([field]);
    expect((await t.call("GET", path)).body).toEqual({ prices: [] });
  });

  test("another tenant's provider is refused like a missing one; two providers may have a price each", async () => {
    const [t, other] = [await h.tenant(), await h.tenant()];
    const [one, two, foreign] = [
      await makeProvider(h, t),
      await makeProvider(h, t, { name: "two" }),
      await makeProvider(h, other),
    ];
    expect((await put(t, [{ ...price, providerId: foreign.id }])).status).toBe(400);
    const both = [one, two].map(({ id }) => ({ providerId: id, ...price }));
    expect((await put(t, [...both, price])).body).toEqual({ prices: [...both, price] });
  });
});
