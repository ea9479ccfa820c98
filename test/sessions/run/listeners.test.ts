import { afterAll, expect, test } from "bun:test";
import { listenersMax } from "../../../src/kernel/queue/lot.ts";
import { createLogger } from "../../../src/kernel/telemetry/log.ts";
import { Actor, cancelChannel } from "../../../src/sessions/run/actor.ts";
import { useAgent } from "../../harness/fixture.ts";
import { eventually } from "../../harness/harness.ts";
import { writeQueuedTurn } from "../../harness/queued-turn.ts";

// No worker runs beside those of the test.
const { h, t, agentId } = await useAgent();
const actors: Actor[] = [];
afterAll(() => Promise.all(actors.map((actor) => actor.close())));

async function start(): Promise<Actor> {
  const actor = new Actor({ databaseUrl: h.databaseUrl, slots: 1, pool: h.sql, log: createLogger("error") });
  actors.push(actor);
  await actor.start();
  return actor;
}

const listening = () => actors.map((actor) => actor.listens);

/** How many connections of the workers are told of an announcement. */
async function told(): Promise<number> {
  const [row] = await h.sql`
    select count(*)::int as n from pg_stat_activity
    where datname = current_database() and application_name like 'parley-wk_%' and query ilike 'listen%'`;
  return row?.n;
}

test("of many workers that have room the oldest listen, and others take the place of those that have gone", async () => {
  for (let n = 0; n < listenersMax + 2; n++) await start();
  const oldest = [...Array.from({ length: listenersMax }, () => true), false, false];
  await eventually(() => JSON.stringify(listening()) === JSON.stringify(oldest));
  await eventually(async () => (await told()) === listenersMax);
  const [first, ...others] = actors.splice(0);
  actors.push(...others);
  await first?.close();
  const next = actors.map((_, index) => index < listenersMax);
  await eventually(() => JSON.stringify(listening()) === JSON.stringify(next));
});

test("a worker that does not listen for jobs hears at once that its turn is to stop", async () => {
  const last = actors.at(-1) as Actor;
  expect(last.listens).toBe(false);
  const queued = await writeQueuedTurn(h, t, agentId);
  const running = await last.claim({ ...queued, way: "job" });
  if (typeof running === "string") throw new Error(running);
  // Only announced: its row, which a beat would read, says nothing.
  await eventually(async () => {
    await h.sql.notify(cancelChannel, queued.turnId);
    return running.stop.signal.aborted;
  });
  expect(running.stop.signal.reason).toBe("canceled");
});
