import { afterAll, expect, test } from "bun:test";
import { startBareWorker } from "../../harness/bare-worker.ts";
import { useAgent } from "../../harness/fixture.ts";
import { writeQueuedTurn } from "../../harness/queued-turn.ts";

// No worker runs, so a turn waits until the test has it claimed.
const { h, t, agentId } = await useAgent();
const { connection, turns } = await startBareWorker(h, { slots: 10 });
afterAll(() => connection.close());

/** How many locks of sessions the worker's connection holds. */
async function held(): Promise<number> {
  const rows = await h.sql`
    select 1 from pg_locks join pg_stat_activity using (pid)
    where locktype = 'advisory' and objsubid = 1 and application_name = ${connection.applicationName}`;
  return rows.length;
}

/** A turn that waits, as it is announced. */
const queuedTurn = async () => ({ ...(await writeQueuedTurn(h, t, agentId)), way: "job" as const });

test("a claim waits while the lock of its session is reserved, and keeps its own", async () => {
  const asked = await queuedTurn();
  expect(turns.reserve(asked.lockKey)).toBe(true);
  const claiming = turns.claim(asked);
  for (let trips = 0; trips < 3; trips++) await connection.sql`select`;
  // As after a statement that failed, which may have taken the lock.
  turns.unreserve(asked.lockKey, true);
  const running = await claiming;
  expect(typeof running).toBe("object");
  // Behind all that was sent before.
  await connection.sql`select`;
  expect(await held()).toBe(1);
});

test("a lock that a claim may take, or that a running turn has, cannot be reserved", async () => {
  const asked = await queuedTurn();
  const claiming = turns.claim(asked);
  expect(turns.reserve(asked.lockKey)).toBe(false);
  const running = await claiming;
  expect(turns.reserve(asked.lockKey)).toBe(false);
  if (typeof running !== "string") await turns.run(running, async () => {});
  expect(turns.reserve(asked.lockKey)).toBe(true);
  expect(turns.reserve(asked.lockKey)).toBe(false);
  turns.unreserve(asked.lockKey, false);
  expect(turns.reserve(asked.lockKey)).toBe(true);
});
