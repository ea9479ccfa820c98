import { describe, expect, test } from "bun:test";
import { eventually } from "./harness.ts";
import { aftermathOf, callsOf, type Installation, logged, sharedRedisUrl, startInstallation } from "./processes.ts";
import { expectFree, expectWhole, hasShown } from "./turn-checks.ts";

const ranOnce = { status: "succeeded", attempt: 1, metered: 1, messages: 2 };

describe.skipIf(sharedRedisUrl === null)("a running turn", () => {
  test.concurrent("whose worker loses the lock connection goes on as if nothing had been, beside other workers", async () => {
    await using house = await startInstallation();
    const c = await house.client((await house.serve()).url);
    const worker = await house.work();
    const turn = await c.turn("cut [[sim: chunks=60 delayMs=100]]");
    const silent = await c.turn('cut-silent [[sim: firstDelayMs=6000 text="kept"]]');
    await hasShown(turn);
    await house.work();
    await cutLockConnection(house, worker.workerId);
    await logged(worker, "the lock connection was made anew");
    expect(await heldLocks(house, worker.workerId)).toBe(2);
    await cutLockConnection(house, worker.workerId);
    await Promise.all([turn, silent].map(({ stream }) => stream.closed));
    expectWhole(turn);
    expectWhole(silent, "kept");
    for (const { turnId } of [turn, silent]) expect(await aftermathOf(house.sql, turnId)).toEqual(ranOnce);
    expect(callsOf(house.model, "cut [[")).toBe(1);
    expect(callsOf(house.model, "cut-silent [[")).toBe(1);
    for (const { sessionId } of [turn, silent]) await expectFree(c, sessionId);
    await eventually(async () => (await heldLocks(house, worker.workerId)) === 0);
  }, 60_000);

  test.concurrent("that is quiet for longer than any limit of the reaper calls its model once", async () => {
    await using house = await startInstallation();
    const c = await house.client((await house.serve()).url);
    await house.work();
    await house.work();
    const quiet = await c.turn('long-quiet [[sim: firstDelayMs=12000 text="at last"]]');
    const pausing = await c.turn("long-pause [[sim: chunks=3 delayMs=6000]]");
    const json = await c.json('long-json [[sim: firstDelayMs=12000 text="at last"]]');
    await Promise.all([quiet, pausing].map(({ stream }) => stream.closed));
    expectWhole(quiet, "at last");
    expectWhole(pausing);
    expect(json.status).toBe(201);
    for (const { turnId } of [quiet, pausing]) expect(await aftermathOf(house.sql, turnId)).toEqual(ranOnce);
    for (const mark of ["long-quiet [[", "long-pause [[", "long-json [["]) expect(callsOf(house.model, mark)).toBe(1);
  }, 60_000);
});

/** Ends the connection that holds a worker's locks, and no other. */
async function cutLockConnection({ sql }: Installation, workerId: string): Promise<void> {
  const [cut] = await sql<{ n: number }[]>`
    select count(pg_terminate_backend(pid))::int as n from (
      select distinct l.pid from pg_locks l join pg_stat_activity a using (pid)
      where l.locktype = 'advisory' and a.application_name = ${`parley-${workerId}`}
    ) holders`;
  expect(cut?.n).toBe(1);
}

async function heldLocks({ sql }: Installation, workerId: string): Promise<number> {
  const [held] = await sql<{ n: number }[]>`
    select count(*)::int as n from pg_locks l join pg_stat_activity a using (pid)
    where l.locktype = 'advisory' and a.application_name = ${`parley-${workerId}`}`;
  return held?.n ?? 0;
}
