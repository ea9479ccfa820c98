import { test } from "bun:test";
import { makeAgent } from "../harness/seed.ts";
import { play, script } from "../harness/turns.ts";
import { startLoopback } from "../servers/loopback.ts";
import { insertDeliveries, useWebhooks } from "../harness/webhook-fixture.ts";
const h = await useWebhooks();
test("rate", async () => {
  const t = await h.tenant();
  for (const delay of [0, 20, 100]) {
    let count = 0;
    const server = await startLoopback(async (request, response) => { request.resume(); await new Promise((r) => setTimeout(r, delay)); count++; response.writeHead(204).end(); });
    const hook = await h.hook(t, ["run.ended"], { url: server.origin });
    await insertDeliveries(h, t, hook, 1000);
    while (count === 0) await new Promise((r) => setTimeout(r, 1));
    const at = performance.now();
    while (count < 1000) await new Promise((r) => setTimeout(r, 1));
    console.log(`delay ${delay}: ${(1000 / ((performance.now() - at) / 1000)).toFixed(0)} a second`);
    server.stop();
    await t.parley.webhooks.delete(hook.id);
  }
  const agentId = await makeAgent(h, t);
  const hook = await h.hook(t, ["turn.ended"]);
  const lags: number[] = [];
  for (let n = 0; n < 30; n++) {
    const before = h.receiver.asked(hook.path).length;
    await play(t, agentId, null, { message: script("text=hi") });
    const at = performance.now();
    while (h.receiver.asked(hook.path).length === before) await new Promise((r) => setTimeout(r, 1));
    lags.push(performance.now() - at);
  }
  lags.sort((a, b) => a - b);
  console.log(`lag after the turn's stream ended: median ${lags[15]!.toFixed(0)} p95 ${lags[28]!.toFixed(0)} max ${lags[29]!.toFixed(0)} ms`);
  // steady load
  const runs = Array.from({ length: 200 }, async (_, n) => { await new Promise((r) => setTimeout(r, n * 20)); await play(t, agentId, null, { message: script("text=hi") }); });
  await Promise.all(runs);
  const end = performance.now();
  while (h.receiver.asked(hook.path).length < 230) await new Promise((r) => setTimeout(r, 1));
  console.log(`200 turns at 50 a second: the last event ${(performance.now() - end).toFixed(0)} ms after the last turn`);
  const [lag] = await h.sql`select percentile_cont(0.5) within group (order by extract(epoch from finished_at - occurred_at)) as p50, percentile_cont(0.99) within group (order by extract(epoch from finished_at - occurred_at)) as p99, max(extract(epoch from finished_at - occurred_at)) as max from webhook_deliveries where webhook_id = ${hook.id}`;
  console.log(JSON.stringify(lag));
}, 120000);
