import { afterAll, describe, expect, test } from "bun:test";
import { lockWaitMs } from "../../../src/kernel/limits.ts";
import { eventually } from "../../harness/eventually.ts";
import { useAgent, useService } from "../../harness/fixture.ts";
import { startHarness } from "../../harness/harness.ts";
import { holdModel } from "../../harness/held-model.ts";
import { Neighbour } from "../../harness/neighbour.ts";
import { type LiveStream, open, script, sessionPath } from "../../harness/turns.ts";

describe("one worker with 5 slots", async () => {
  const h = await useService({ worker: true, env: { WORKER_CONCURRENCY: "5" } });
  const model = holdModel(h.model);
  afterAll(() => model[Symbol.asyncDispose]());
  const a = await Neighbour.moveIn(h, model);
  const b = await Neighbour.moveIn(h, model);

  test("20 turns of a tenant that hang take four, and another tenant's turn runs at once", async () => {
    // Who comes later finds these at work: which of 20 that come at once run first is not what this is about.
    await a.hold(4);
    await a.settled(4, 0);
    await a.hold(16);
    await a.settled(4, 16);
    expect(await b.answer()).toBe("answered");
    expect(await b.answer()).toBe("answered");
    await a.settled(4, 16);
    expect(await a.places("running")).toEqual([0, 1, 2, 3]);
  });

  test("parked turns have no job, and those accepted meanwhile wait behind them", async () => {
    const running: string[] = a.turns.slice(0, 4).map(({ turnId }) => turnId);
    // The turns that run have been claimed with their jobs, or without.
    await eventually(async () => {
      const rows = await h.sql<{ key: string }[]>`select key from graphile_worker._private_jobs where task_id = (
        select id from graphile_worker._private_tasks where identifier = 'turn')`;
      return rows.every(({ key }) => running.includes(key));
    });
  });

  test("a freed slot goes to the oldest parked turn of the tenant", async () => {
    for (const running of [
      [1, 2, 3, 4],
      [2, 3, 4, 5],
      [3, 4, 5, 6],
    ]) {
      await a.freeOne();
      await eventually(async () => (await a.places("running")).join() === running.join());
    }
  });

  test("a parked turn can be cancelled", async () => {
    const parked = a.turns[10] as LiveStream;
    await a.cancel(parked);
    expect((await parked.rest()).at(-2)?.data).toEqual({ type: "abort" });
    expect(await a.places("parked")).toEqual([7, 8, 9, 11, 12, 13, 14, 15, 16, 17, 18, 19]);
  });

  test("what is parked runs when what hung has ended", async () => {
    model.release();
    await a.settled(0, 0);
    const rows = await h.sql<{ status: string; count: number }[]>`
      select status, count(*)::int from turns where tenant_id = ${a.t.id} group by 1 order by 1`;
    expect(rows.map(({ status, count }) => [status, count])).toEqual([
      ["canceled", 4],
      ["succeeded", 16],
    ]);
  });
});

describe("one worker with one slot", async () => {
  const { h, t, agentId } = await useAgent({ worker: true, env: { WORKER_CONCURRENCY: "1" } });

  test("a turn whose session stays locked does not keep the slot from another turn", async () => {
    const ask = (sessionId: string | null) =>
      open(h, t, "POST", sessionPath(agentId, sessionId), { body: { message: script("text=hi") } });
    const first = await ask(null);
    await first.rest();
    // As while the worker of its last turn is frozen.
    await h.sql.begin(async (inner) => {
      await inner`select pg_advisory_xact_lock(hashtextextended(${first.sessionId}, 0))`;
      const locked = await ask(first.sessionId);
      const other = await ask(null);
      await other.rest();
      const [row] = await h.sql`
        select extract(epoch from claimed_at - accepted_at)::float8 as waited from turns where id = ${other.turnId}`;
      // Not for as long as the lock may stay.
      expect(row?.waited).toBeLessThan(lockWaitMs / 1000);
      const [still] = await h.sql`select status from turns where id = ${locked.turnId}`;
      expect(still?.status).toBe("queued");
    });
  });
});

describe("two tenants that want all slots", () => {
  test.each([
    { weight: 1, shares: [4, 4] },
    { weight: 4, shares: [2, 7] },
  ])("share them by weight, 1 to $weight", async ({ weight, shares }) => {
    await using used = new AsyncDisposableStack();
    const h = await startHarness({ worker: true, env: { WORKER_CONCURRENCY: "10" } });
    used.defer(() => h.stop());
    const model = used.use(holdModel(h.model));
    const a = await Neighbour.moveIn(h, model);
    const b = await Neighbour.moveIn(h, model, weight);
    await a.hold(30);
    await a.settled(8, 22);
    await b.hold(20);
    await b.settled(1, 19);
    const [least, most] = shares as [number, number];
    for (let freed = 1; freed <= 8; freed++) {
      await a.freeOne();
      await a.settled(Math.max(least, 8 - freed), 22 - Math.max(0, freed - (8 - least)));
      await b.settled(Math.min(most, 1 + freed), 19 - Math.min(most - 1, freed));
    }
  });
});

test("three tenants whose turns hang hold up no fourth, on a worker with 4 slots", async () => {
  await using used = new AsyncDisposableStack();
  const h = await startHarness({ worker: true, env: { WORKER_CONCURRENCY: "4" } });
  used.defer(() => h.stop());
  const model = used.use(holdModel(h.model));
  for (const [running, parked] of [
    [3, 2],
    [1, 4],
    [1, 4],
  ] as const) {
    const hog = await Neighbour.moveIn(h, model);
    await hog.hold(5);
    await hog.settled(running, parked);
  }
  const b = await Neighbour.moveIn(h, model);
  for (let n = 0; n < 5; n++) expect(await b.answer()).toBe("answered");
});

test("two workers with one slot each: a turn that lasts holds up no other", async () => {
  await using used = new AsyncDisposableStack();
  const h = await startHarness({ worker: true, env: { WORKER_CONCURRENCY: "1" } });
  used.defer(() => h.stop());
  await h.startWorkers();
  const model = used.use(holdModel(h.model));
  const a = await Neighbour.moveIn(h, model);
  const b = await Neighbour.moveIn(h, model);
  await a.hold(1);
  await a.settled(1, 0);
  for (let n = 0; n < 12; n++) expect(await b.answer()).toBe("answered");
  const [row] = await h.sql<{ longest: number }[]>`
    select max(extract(epoch from claimed_at - accepted_at))::float8 as longest from turns where tenant_id = ${b.t.id}`;
  // A busy worker that keeps jobs to itself gives them back after 5 s.
  expect(row?.longest).toBeLessThan(3);
  await a.settled(1, 0);
});
