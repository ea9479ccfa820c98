import { expect, setSystemTime, test } from "bun:test";
import { openDatabase } from "../../src/kernel/database/client.ts";
import { newId } from "../../src/kernel/ids.ts";
import { workerFrozenMs } from "../../src/kernel/limits.ts";
import { endReaperLease, takeReaperLease } from "../../src/kernel/queue/lease.ts";
import { startReaping } from "../../workers/reaping.ts";
import { eventually } from "../harness/eventually.ts";
import { useService } from "../harness/fixture.ts";
import { countRoundTrips } from "../harness/round-trips.ts";

const h = await useService();
const [a, b] = [newId("worker"), newId("worker")];
const lease = async () => {
  const [row] = await h.sql<{ workerId: string; place: string }[]>`
    select worker_id, ctid::text as place from reaper_lease where ends_at > now()`;
  return row;
};

test("one worker recovers for all; another one takes over when it is gone, frozen or done", async () => {
  expect(await takeReaperLease(h.sql, a)).toBe(true);
  const before = await lease();
  expect(await takeReaperLease(h.sql, b)).toBe(false);
  // Who asks in vain writes nothing.
  expect(await lease()).toEqual(before);
  expect(await takeReaperLease(h.sql, a)).toBe(true);
  await h.sql`update reaper_lease set ends_at = now() - interval '1 second'`;
  expect(await takeReaperLease(h.sql, b)).toBe(true);
  expect(await takeReaperLease(h.sql, a)).toBe(false);
  // One that has lost it ends nobody else's.
  await endReaperLease(h.sql, a);
  expect(await takeReaperLease(h.sql, a)).toBe(false);
  await endReaperLease(h.sql, b);
  expect(await takeReaperLease(h.sql, a)).toBe(true);
  await h.sql`delete from reaper_lease`;
});

test("of many that ask at once one gets it", async () => {
  const ids = Array.from({ length: 20 }, () => newId("worker"));
  const got = await Promise.all(ids.map((id) => takeReaperLease(h.sql, id)));
  expect(got.filter(Boolean)).toHaveLength(1);
  await h.sql`delete from reaper_lease`;
});

test("a worker that drains hands the recovery over", async () => {
  const first = await h.startWorkers();
  const leader = await eventually(async () => (await lease())?.workerId);
  const second = await h.startWorkers();
  await eventually(async () => (await h.sql`select 1 from workers`).length === 2);
  expect((await lease())?.workerId).toBe(leader);
  await first.drain(0);
  await eventually(async () => {
    const now = (await lease())?.workerId;
    return now !== undefined && now !== leader;
  });
  await second.drain(0);
});

test("a Postgres that replies late is no Postgres that was away", async () => {
  await h.sql`
    insert into workers (id, application_name, beat_at) values ('wk_gone', 'parley-wk_gone', now() - interval '1 minute')`;
  await using slow = await countRoundTrips(h.databaseUrl, "", 400);
  const sql = openDatabase({ url: slow.url, max: 2, applicationName: "parley-test" });
  const stop = startReaping({ ...h.ctx, sql }, a, workerFrozenMs);
  await eventually(async () => (await h.sql`select 1 from workers where id = 'wk_gone'`).length === 0, 60_000);
  await stop();
  await sql.end();
}, 90_000);

test("the worker that recovers for all writes down how the installation is, in each new minute", async () => {
  const stop = startReaping(h.ctx, a, workerFrozenMs);
  await eventually(async () => (await lease())?.workerId === a);
  await h.sql`delete from gauges`;
  setSystemTime(Date.now() + 60_000);
  try {
    await eventually(async () => (await h.sql`select 1 from gauges`).length === 1);
  } finally {
    setSystemTime();
    await stop();
  }
});

test("a worker finds its own jobs by index, however long the queue is", async () => {
  await h.sql`
    insert into graphile_worker._private_jobs (task_id, payload, run_at)
    select (select min(id) from graphile_worker._private_tasks), '{}', now() + interval '1 day' from generate_series(1, 20000)`;
  await h.sql`analyze graphile_worker._private_jobs`;
  const plan = await h.sql`explain select id from graphile_worker._private_jobs where locked_by = any(array['a', 'b'])`;
  expect(JSON.stringify(plan)).toContain("parley_locked_jobs");
  await h.sql`delete from graphile_worker._private_jobs`;
});
