import { afterAll, expect, test } from "bun:test";
import { sumUsage } from "../../src/usage/sums.ts";
import { useTenant } from "../harness/fixture.ts";
import { makeAgent, makeProvider, userMessage } from "../harness/seed.ts";
import { play, script } from "../harness/turns.ts";
import { startVendor } from "../servers/vendor.ts";

/** What turns cost, from the price of a model call up to the sums. */

const { h } = await useTenant({ worker: true });
const usage = { prompt_tokens: 100, completion_tokens: 50, prompt_tokens_details: { cached_tokens: 40 } };
const vendor = startVendor(({ body }) => {
  if (body === null) return new Response("no", { status: 404 });
  const events = [
    { id: "c", choices: [{ index: 0, delta: { content: "Yes." }, finish_reason: "stop" }] },
    { id: "c", choices: [], usage },
  ];
  return new Response(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(""), {
    headers: { "content-type": "text/event-stream" },
  });
});
afterAll(() => vendor.stop());

/** Of 100 input tokens 40 are cached: 60 at 2.50, 40 at 1.25, and 50 at 10 dollars for a million. */
const costUsd = "0.0007";

test("a turn, a bucket and the totals say what was paid, before and after they are summed", async () => {
  const t = await h.tenant();
  const provider = await makeProvider(h, t, { providerType: "openai", baseUrl: `${vendor.url}/v1` });
  const priced = await makeAgent(h, t, { providerId: provider.id, model: "gpt-4o" });
  const unpriced = await makeAgent(h, t, { providerId: provider.id, model: "no-such-model" });
  const read = async (query: string) => (await t.call("GET", `/v1/usage?${query}`)).body;
  expect((await read("")).totals).toMatchObject({ costUsd: "0", costIsComplete: true });
  const { turnId, sessionId } = await play(t, priced, null, { message: userMessage("x") });
  expect((await t.call("GET", `/v1/turns/${turnId}`)).body).toMatchObject({ costUsd, costIsComplete: true });
  expect((await read("")).totals).toMatchObject({ costUsd, costIsComplete: true });
  const other = await play(t, unpriced, null, { message: userMessage("x") });
  const unknown = { costUsd: null, costIsComplete: false };
  expect((await t.call("GET", `/v1/turns/${other.turnId}`)).body).toMatchObject(unknown);
  for (const sums of [() => 0, () => sumUsage(h.sql)]) {
    await sums();
    const { buckets, totals } = await read("groupBy=model");
    expect(totals).toMatchObject({ costUsd, costIsComplete: false });
    const of = (model: string) => buckets.find((bucket: { model: string }) => bucket.model === model);
    expect(of("gpt-4o")).toMatchObject({ costUsd, costIsComplete: true });
    expect(of("no-such-model")).toMatchObject(unknown);
    for (const groupBy of ["session", "user", "day"])
      expect((await read(`groupBy=${groupBy}&agentId=${priced}`)).buckets).toMatchObject([
        { costUsd, costIsComplete: true },
      ]);
    expect((await read(`sessionId=${sessionId}`)).totals).toMatchObject({ costUsd, costIsComplete: true });
  }
});

test("a model that fails and the one that answers in its place are paid apart", async () => {
  const t = await h.tenant();
  const provider = await makeProvider(h, t, { providerType: "openai", baseUrl: `${vendor.url}/v1` });
  const agentId = await makeAgent(h, t, { fallbackModels: [{ providerId: provider.id, model: "gpt-4o" }] });
  // The agent's own model has no price. It says one text and calls a tool, and fails when it is asked again.
  const partly = script("tool=nothing inputTokens=1000 outputTokens=500; fail=500");
  const { turnId } = await play(t, agentId, null, { message: partly });
  expect((await t.call("GET", `/v1/turns/${turnId}`)).body).toMatchObject({ costUsd, costIsComplete: false });
  const { buckets } = (await t.call("GET", "/v1/usage?groupBy=model")).body;
  expect(buckets).toMatchObject([
    { costUsd: null, costIsComplete: false },
    { model: "gpt-4o", costUsd, costIsComplete: true },
  ]);
  const whole = await play(t, agentId, null, { message: script("fail=500") });
  expect((await t.call("GET", `/v1/turns/${whole.turnId}`)).body).toMatchObject({ costUsd, costIsComplete: true });
});

test("a turn that has used nothing cost nothing", async () => {
  const t = await h.tenant();
  const agentId = await makeAgent(h, t);
  const { turnId } = await play(t, agentId, null, { message: script("fail=400") });
  expect((await t.call("GET", `/v1/turns/${turnId}`)).body).toMatchObject({ costUsd: "0", costIsComplete: true });
});
