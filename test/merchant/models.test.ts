import { expect, test } from "bun:test";
import { useMerchants } from "../harness/merchant-fixture.ts";
import { makeAgent, makeProvider, userMessage } from "../harness/seed.ts";
import { play } from "../harness/turns.ts";
import { startVendor } from "../servers/vendor.ts";

const h = await useMerchants();

const chunk = (delta: object, finish_reason: string | null) => ({
  id: "c",
  choices: [{ index: 0, delta, finish_reason }],
  usage: { prompt_tokens: 11, completion_tokens: 2 },
});

/** A model that calls a tool, and then is overloaded. */
function startFailing() {
  const vendor = startVendor(() => {
    if (vendor.requests.length > 1) return new Response("{}", { status: 503 });
    const made = { name: "write_todos", arguments: '{"todos":[]}' };
    const tool_calls = [{ index: 0, id: "call-1", type: "function", function: made }];
    const events = [JSON.stringify(chunk({ tool_calls }, "tool_calls")), "[DONE]"];
    const headers = { "content-type": "text/event-stream" };
    return new Response(events.map((event) => `data: ${event}\n\n`).join(""), { headers });
  });
  return vendor;
}

test("a turn of two models has an event for each, and each is delivered once", async () => {
  const m = await h.merchant();
  await m.connect("polar");
  await m.bind("anna");
  const vendor = startFailing();
  const own = await makeProvider(h, m, { baseUrl: `${vendor.url}/v1` });
  const fallback = await makeProvider(h, m);
  const agentId = await makeAgent(h, m, {
    providerId: own.id,
    model: "own/model",
    tools: ["write_todos"],
    fallbackModels: [{ providerId: fallback.id, model: "simulated/model" }],
  });
  const played = await play(m, agentId, null, { message: userMessage("x"), userId: "anna", stream: false });
  await vendor.stop();
  expect(played.status).toBe(201);
  await m.event(played.turnId, "accepted");
  const { events } = await m.parley.merchantEvents.list({ limit: 200 });
  const mine = events.filter(({ turnId }) => turnId === played.turnId);
  expect(new Set(mine.map(({ id }) => id)).size).toBe(2);
  expect(mine.map(({ model }) => model).sort()).toEqual(["own/model", "simulated/model"]);
  expect(mine.find(({ model }) => model === "own/model")).toMatchObject({ inputTokens: 11, outputTokens: 2 });
  const [turn] = await h.sql`select input_tokens + output_tokens as tokens from turns where id = ${played.turnId}`;
  expect(mine.reduce((sum, { totalTokens }) => sum + totalTokens, 0)).toBe(turn?.tokens);
});
