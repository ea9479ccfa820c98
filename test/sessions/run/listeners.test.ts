import { afterAll, expect, test } from "bun:test";
import { listenersMax } from "../../../src/kernel/queue/lot.ts";
import { createLogger } from "../../../src/kernel/telemetry/log.ts";
import { cancelChannel } from "../../../src/sessions/state/cancel-request.ts";
import { type BareWorker, startBareWorker } from "../../harness/bare-worker.ts";
import { useAgent } from "../../harness/fixture.ts";
import { eventually, withoutConnections } from "../../harness/harness.ts";
import { writeQueuedTurn } from "../../harness/queued-turn.ts";

// No worker runs beside those of the test.
const { h, t, agentId } = await useAgent();
const workers: BareWorker[] = [];
afterAll(() => Promise.all(workers.map(({ connection }) => connection.close())));

const listening = () => workers.map(({ connection }) => connection.listens);

/** How many connections of the workers are told of an announcement. */
async function told(): Promise<number> {
  const heard = await Promise.all(
    workers.map(({ connection: { sql } }) => sql`select 1 from pg_listening_channels() limit 1`),
  );
  return heard.flat().length;
}

test("of many workers that have room the oldest listen, and others take the place of those that have gone", async () => {
  for (let n = 0; n < listenersMax + 2; n++) workers.push(await startBareWorker(h, { slots: 1 }));
  const oldest = [...Array.from({ length: listenersMax }, () => true), false, false];
  await eventually(() => JSON.stringify(listening()) === JSON.stringify(oldest));
  await eventually(async () => (await told()) === listenersMax);
  const [first, ...others] = workers.splice(0);
  workers.push(...others);
  await first?.connection.close();
  const next = workers.map((_, index) => index < listenersMax);
  await eventually(() => JSON.stringify(listening()) === JSON.stringify(next));
});

test("a worker that does not listen for jobs hears at once that its turn is to stop", async () => {
  const { connection, turns } = workers.at(-1) as BareWorker;
  expect(connection.listens).toBe(false);
  const queued = await writeQueuedTurn(h, t, agentId);
  const running = await turns.claim({ ...queued, way: "job" });
  if (typeof running === "string") throw new Error(running);
  // Only announced: its row, which a beat would read, says nothing.
  await eventually(async () => {
    await h.sql.notify(cancelChannel, queued.turnId);
    return running.stop.signal.aborted;
  });
  expect(running.stop.signal.reason).toBe("canceled");
});

test("a worker whose connection breaks while Postgres refuses a new one listens again", async () => {
  const lines: string[] = [];
  const log = createLogger("warn", { write: (line) => void lines.push(line) });
  const worker = await startBareWorker(h, { slots: 1, log });
  workers.push(worker);
  const queued = await writeQueuedTurn(h, t, agentId);
  const running = await worker.turns.claim({ ...queued, way: "job" });
  if (typeof running === "string") throw new Error(running);
  await withoutConnections(h.databaseUrl, worker.connection.applicationName, () =>
    eventually(() => lines.some((line) => line.includes("could not beat"))),
  );
  // Only announced: its row, which a beat would read, says nothing.
  await eventually(async () => {
    await h.sql.notify(cancelChannel, queued.turnId);
    return running.stop.signal.aborted;
  });
  expect(running.stop.signal.reason).toBe("canceled");
});

test("a worker's connection asks Postgres to close it soon when its host has vanished", async () => {
  const [{ connection }] = workers as [BareWorker];
  const setting = async (name: string) => (await connection.sql`select current_setting(${name}) as value`)[0]?.value;
  await eventually(async () => (await setting("tcp_user_timeout")) === "5000");
  expect(await Promise.all(["idle", "interval", "count"].map((each) => setting(`tcp_keepalives_${each}`)))).toEqual([
    "3",
    "1",
    "3",
  ]);
});
